"""Names that no other test of the shared applications uses."""

from __future__ import annotations

from uuid import uuid4


def unique_text(text: str) -> str:
    return f"{text} {uuid4().hex[:6]}"


def unique_id(name: str) -> str:
    return f"{name}-{uuid4().hex[:6]}"
