"""Damage to a chunk of a copy."""

from __future__ import annotations

from tablewright.engine.copies.copy_folder import CopyFolder
from tests.engine.storage.damage import flip


def spoil(copies: CopyFolder, chunk: str) -> None:
    place = copies.chunks.place(chunk)
    flip(copies.folder / "packs" / place.pack, place.offset + place.length // 2)
