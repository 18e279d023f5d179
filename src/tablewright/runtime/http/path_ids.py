"""Ids that clients choose, such as those of customers: each must be a valid segment of a path.

A "/" ends a segment however it is encoded; "." and ".." are resolved by clients before they send a request. An id that
cannot be in a URL is rejected when it is created.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from tablewright.runtime.http.json_values import not_blank
from tablewright.runtime.parameter_texts import matching

# What other packages use.
__all__ = [
    "Id",
    "is_id",
    "not_dots",
]

MAX_ID_LENGTH = 200
# Without control characters, and not blank.
_STEP = matching(
    r"^[^\x00-\x1f\x7f-\x9f/]*[^\s\x00-\x1f\x7f-\x9f/][^\x00-\x1f\x7f-\x9f/]*$",
    "it is a segment of a URL: it must not be blank, nor contain / or control characters",
)
_WAYS = (".", "..")
_is_step = re.compile(_STEP).fullmatch


def not_dots(text: str) -> str:
    """The same text; ValueError if it is ``.`` or ``..``."""
    if text in _WAYS:
        raise ValueError("it is a segment of a URL, which cannot be . or ..")
    return text


# An id in a request, of any length: its field bounds that.
Step = Annotated[str, Field(pattern=_STEP), AfterValidator(not_dots), AfterValidator(not_blank)]
Id = Annotated[Step, Field(min_length=1, max_length=MAX_ID_LENGTH)]
"""An id in a request; one that cannot be a segment of a URL is rejected, with its field."""


def is_id(text: str, max_length: int = MAX_ID_LENGTH) -> bool:
    """Whether a text is a valid id."""
    if len(text) > max_length or text in _WAYS or _is_step(text) is None:
        return False
    try:
        return bool(not_blank(text))
    except ValueError:
        return False
