"""Numbers in bodies: what is no number in JSON is not taken for one.

Pydantic reads ``true`` as 1 and ``"5"`` as 5. A rating, or the version that a change is based on, must not be guessed.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

__all__ = ["Whole"]


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("it has to be an integer")
    return value


Whole = Annotated[int, BeforeValidator(_number)]
