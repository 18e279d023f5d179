r"""A text as it is searched: plain Latin letters, without invisible characters, and the origin of each letter.

``P\u0430ss\u200bwort`` with a Cyrillic letter and a zero-width space in it is ``Passwort``. What is found is
masked in the original, by the origins of its letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["FoldedText", "fold"]

# ruff: noqa: RUF001 (look-alikes are what this is about)
# Letters of other scripts that look like Latin ones, and signs with several shapes.
_LOOK_ALIKES = {
    **dict(zip("авсеѕіјкмнорԛгтухүԝѵьԁɡһӏ", "abcesijkmhopqrtyxywvbdghl", strict=True)),
    **dict(zip("АВСЕЅІЈКМНОРԚТУХҮԜѴԌҺӀ", "ABCESIJKMHOPQTYXYWVGHI", strict=True)),
    **dict(zip("αβγεικνορτυχωϲϳ", "abyeikvoptuxwcj", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEZHIKMNOPTYXC", strict=True)),
    **dict(zip("ıłŁøØđĐꜱɑɩʀոսօցԼ", "ilLoOdDsairnuogL", strict=True)),
    **dict(zip("‘’‚‛′`´“”„‟″«»‹›", "'''''''\"\"\"\"\"\"\"''", strict=True)),
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "œ": "oe",
    "→": ">",
    "\u3164": "",
    "\u115f": "",
    "\u2212": "-",
}


@dataclass(frozen=True, slots=True)
class FoldedText:
    """``origins[i]`` is where letter ``i`` of the folded text is in the original."""

    original: str
    text: str
    origins: Sequence[int]

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """A span of the folded text in the original."""
        return self.origins[begin], self.origins[end - 1] + 1


def fold(text: str) -> FoldedText:
    if text.isascii():
        return FoldedText(text, text.replace("`", "'"), range(len(text)))
    folded: list[str] = []
    origins: list[int] = []
    for place, char in enumerate(text):
        plain = char if char.isascii() else _plain(char)
        folded.append(plain)
        origins.extend([place] * len(plain))
    return FoldedText(text, "".join(folded).replace("`", "'"), origins)


@lru_cache(4096)
def _plain(char: str) -> str:
    if char in _LOOK_ALIKES:
        return _LOOK_ALIKES[char]
    plain = []
    for part in unicodedata.normalize("NFKD", char):
        category = unicodedata.category(part)
        if category == "Nd":
            plain.append(str(unicodedata.decimal(part)))
        elif category == "Pd":
            plain.append("-")
        elif part.isspace():
            plain.append(" " if part not in "\u2028\u2029\x85" else "\n")
        elif category not in ("Mn", "Me", "Cf"):
            plain.append(_LOOK_ALIKES.get(part, part))
    return "".join(plain)
