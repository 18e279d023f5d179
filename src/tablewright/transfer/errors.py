"""The error of a copy."""

from __future__ import annotations

__all__ = ["TransferError"]


class TransferError(Exception):
    """A problem that stops a copy; the message says what to do."""
