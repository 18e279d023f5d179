"""Times in keys: thirteen digits of milliseconds since 1970, so until the year 2286.

Times outside of that range, which another program may have stored, cannot be read, as they have no valid key.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field

from tablewright.model import EpochMillis

__all__ = ["EPOCH", "LAST_MILLIS", "KeyMillis", "millis", "moment_of"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MILLIS = 9_999_999_999_999
_MILLISECOND = timedelta(milliseconds=1)

KeyMillis = Annotated[EpochMillis, Field(ge=EPOCH, le=EPOCH + timedelta(milliseconds=LAST_MILLIS))]
"""A time stored as whole milliseconds since 1970, for which a key has thirteen digits."""


def millis(moment: datetime) -> int:
    """The whole milliseconds since 1970."""
    return (moment - EPOCH) // _MILLISECOND


def moment_of(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * _MILLISECOND
