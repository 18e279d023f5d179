"""Integers in request bodies: only JSON's numbers are taken for one.

Pydantic reads ``true`` as 1 and ``"5"`` as 5. A rating, or the version that a change is based on, must not be guessed.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

__all__ = ["Whole"]


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


Whole = Annotated[int, BeforeValidator(_number)]
"""An integer: 1 and 1.0, but neither true nor "1"."""
