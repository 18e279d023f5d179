"""Tokens of a text, and what they look like: a word, a number, a serial, or a mixture that is no word ("Kestrel_19").

A token is a word or one sign. A *piece* is what stands between two gaps: the signs in it may be part of a secret.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from tablewright.systems.servicedesk.masking.folded_text import FoldedText
from tablewright.systems.servicedesk.masking.vocabulary import DIGITS

__all__ = ["MASK", "Shape", "Tokens", "is_serial", "shape_of"]

MASK: Final = "[removed]"

# Longer pieces are judged by their beginning.
_JUDGED = 200
_QUOTE_REACH = 40
_NUMBER_REACH = 64
_TOKEN = re.compile(r"\[removed\](?!\w)|\w+|[^\w\s]")
_TRAILING = frozenset(".,;:)]}\"'?>")
_LEADING = frozenset("([{\"'<")
# What stands between two quotations, and in none: password": "Marigold77
_BETWEEN = frozenset(":=,;{}[]()\\")


class Shape(IntEnum):
    NOTHING = 0
    WORD = 1
    # Digits, or letters with digits, that mean something else: a date, a version, a size, the name of a machine.
    KNOWN = 2
    NUMBER = 3
    ODD = 4


_KNOWN = re.compile(
    r"\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?|\d{1,2}[:h.]\d{2}(?::\d{2})?(?:am|pm|uhr)?|\d+(?:\.\d+)+[a-z]?\d*|v\d{1,4}(?:\.\d+)+|v\d{1,2}"
    r"|\d+(?:[.,]\d+)?(?:st|nd|rd|th|x|h|m|s|min|mins|sec|ms|tb|gb|mb|kb|ghz|mhz|hz|mm|cm|kg|px|k|am|pm|eur|usd|er|eme|gg|d"
    r"|bit|v|w|°|%|o|a|€|\$|-?\w{3,9}(?:s|day|days|hour|hours|mal|ma|fach))|[€$£]\d[\d.,]*|0x[0-9a-f]+"
    r"|(?:office|o|m|ms|windows|win|outlook|exchange|word|excel|server|sharepoint|teams)-?(?:365|1[01]|7|8|20\d\d)(?:h\d)?"
    r"|[fx]\d{1,2}|h26[45]"
    r"|(?:pc|srv|ws|nb|db|vm|dc|host|hp|com|usb|kb|inc|req|chg|prb|tkt|rs|ipv|wpa|sha|md|base|mp|hdmi|printer|room|rm)"
    r"(?:[-_][a-z]{1,4})?[-_]?\d{1,8}"
    r"|\d\dh\d|2fa|802\.\w+|log4j|[a-z]{1,12}-?(?:mail|fi|i)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}\.[a-z]{2,10}", re.IGNORECASE)
_SERIAL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9/_-]){3,60}")


class Tokens:
    """The tokens of a text. All lists are by the number of a token."""

    def __init__(self, folded: FoldedText) -> None:
        self.folded = folded
        text = folded.text
        found = [match.span() for match in _TOKEN.finditer(text)]
        self.begins = [begin for begin, _ in found]
        self.ends = [end for _, end in found]
        lowered = text.lower()
        if len(lowered) != len(text):
            lowered = text
        self.words = [self._word(lowered, begin, end) for begin, end in found]
        self.count = count = len(found)
        # Whether there is a gap before a token, and at the end.
        self.gaps = [not at or self.ends[at - 1] < self.begins[at] for at in range(count)] + [True]
        self.piece_begins = [0] * count
        self.piece_ends = [count] * count
        for at in range(count):
            self.piece_begins[at] = at if self.gaps[at] else self.piece_begins[at - 1]
        for at in reversed(range(count)):
            self.piece_ends[at] = at + 1 if self.gaps[at + 1] else self.piece_ends[at + 1]
        self.quotes = self._pairs_of_quotes()

    def _word(self, lowered: str, begin: int, end: int) -> str:
        if end == begin + 1 and lowered[begin] == "e" and self.folded.original[self.folded.origins[begin]] not in "eE":
            return "è"
        return lowered[begin:end]

    def _pairs_of_quotes(self) -> dict[int, int]:
        """The tokens that open a quotation with those that close it, and vice versa."""
        pairs: dict[int, int] = {}
        opened: dict[str, int] = {}
        for at, word in enumerate(self.words):
            if word not in ('"', "'"):
                continue
            before = opened.get(word)
            if before is not None and (at - before > _QUOTE_REACH or self.lines_between(before, at)):
                before = None
            inside = not self.gaps[at] and not self.gaps[at + 1] and self._letter(at - 1) and self._letter(at + 1)
            if word == "'" and inside:
                continue
            if before is not None and at > before + 1 and not _BETWEEN.issuperset(self.words[before + 1 : at]):
                pairs[before] = at
                pairs[at] = before
                opened.pop(word)
            elif word == '"' or (not self.gaps[at + 1] and (self.gaps[at] or not self._letter(at - 1))):
                opened[word] = at
        return pairs

    def _letter(self, at: int) -> bool:
        return 0 <= at < self.count and self.words[at][0].isalnum()

    def lines_between(self, first: int, last: int) -> bool:
        return "\n" in self.folded.text[self.ends[first] : self.begins[last]]

    def line_before(self, at: int) -> bool:
        return at > 0 and "\n" in self.folded.text[self.ends[at - 1] : self.begins[at]]

    def text(self, begin: int, end: int) -> str:
        """The tokens as they are written, or the beginning of them."""
        first = self.begins[begin]
        return self.folded.text[first : min(self.ends[end - 1], first + _JUDGED)]

    def is_masked(self, at: int) -> bool:
        return self.words[at] == MASK

    def sentence_ends(self, at: int) -> bool:
        if self.words[at] not in (".", "!", "?") or not self.gaps[at + 1]:
            return False
        # A password may end like a sentence.
        return self.words[at] == "." or at + 1 == self.count or not self.folded.text[self.begins[at + 1]].islower()

    def trimmed(self, begin: int, end: int) -> tuple[int, int]:
        """Without the signs that end a sentence or enclose a piece."""
        while end > begin and self.words[end - 1] in _TRAILING:
            end -= 1
        while begin < end and self.words[begin] in _LEADING:
            begin += 1
        return begin, end

    def number(self, at: int) -> tuple[int, int]:
        """The end of a number that begins at a token, in groups or spelled, and its number of digits."""
        digits, end, place = 0, at, at
        spelled = False
        while place < min(self.count, at + _NUMBER_REACH):
            word = self.words[place]
            if word.isdecimal() and (not digits or self.gaps[place] or self.words[place - 1] in "-."):
                if self.line_before(place) and digits:
                    break
                digits += len(word)
            elif word in DIGITS:
                digits += 1
                spelled = True
            elif not (digits and word in ",-" and place + 1 < self.count and (spelled or word == "-")):
                break
            else:
                place += 1
                continue
            place += 1
            end = place
        if end < self.count and not self.gaps[end] and self.words[end][0].isalnum():
            return at, 0
        return end, digits


def shape_of(text: str) -> Shape:
    """What a piece looks like."""
    letters = any(map(str.isalpha, text))
    digits = any(map(str.isdecimal, text))
    if not letters and not digits:
        return Shape.NOTHING
    if "://" in text or _ADDRESS.fullmatch(text) or _KNOWN.fullmatch(text):
        return Shape.KNOWN
    if not letters:
        return Shape.NUMBER if all(char.isdecimal() or char in "-." for char in text) else Shape.ODD
    if digits or any(char in "@#$%^&*_+=!?~|<>" for char in text.rstrip("!?")):
        return Shape.ODD
    parts = text.replace("'", "-").replace("/", "-").replace(".", "-").split("-")
    mixed = any(part[1:] != part[1:].lower() and part != part.upper() for part in parts)
    if "." in text.strip(".") or text.endswith("!") or (mixed and len(text) > 5 and text[0].islower()):
        return Shape.ODD if mixed or text.endswith("!") else Shape.WORD
    return Shape.WORD


def is_serial(text: str, least: int = 5) -> bool:
    """Letters with digits, or many digits; no date and no version."""
    if not _SERIAL.fullmatch(text) or (shape_of(text) is Shape.KNOWN and (least > 5 or text[0].isdecimal())):
        return False
    digits = sum(map(str.isdecimal, text))
    letters = sum(map(str.isalpha, text))
    return len(text) >= least and (digits >= 6 or bool(digits and letters))
