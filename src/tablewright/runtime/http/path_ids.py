"""Ids that others choose, such as those of customers: each is a step of an address, so it has to be one.

However "/" is written in an address, steps end there; "." and ".." are ways to go, and clients go them before they ask.
What cannot be asked for is not taken in the first place.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

LONGEST = 200
# Without characters that control something.
_STEP = r"^[^\x00-\x1f\x7f-\x9f/]+$"
_WAYS = (".", "..")
_is_step = re.compile(_STEP).fullmatch


def no_way(text: str) -> str:
    """The same text; ValueError if it leads somewhere else in an address."""
    if text in _WAYS:
        raise ValueError("it is part of an address, where . and .. mean something else")
    return text


# An id in a request, of any length: whoever takes it gives it one.
Step = Annotated[str, Field(pattern=_STEP), AfterValidator(no_way)]
Id = Annotated[Step, Field(min_length=1, max_length=LONGEST)]
"""An id in a request; one that is no step of an address is refused, by its field."""


def is_id(text: str, longest: int = LONGEST) -> bool:
    """Whether a text that comes from elsewhere can be an id."""
    return len(text) <= longest and text not in _WAYS and _is_step(text) is not None
