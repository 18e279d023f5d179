"""Ticket numbers that can be spoken: six characters and a check character, such as TK-4F7-K9Q-2.

A number is derived from the id of its ticket, so every ticket has one. The alphabet leaves out letters that are easily
confused on the phone (I, L, O, U, V), and has 31 characters, a prime: as all weights differ, one misheard character or
two swapped ones never give another valid number.
"""

from __future__ import annotations

from uuid import UUID

__all__ = ["number_of", "parse_number"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTWXYZ"
_LENGTH = 6
_BASE = len(_ALPHABET)
# Letters that people say and write for others.
_MEANT = str.maketrans({"O": "0", "I": "1", "L": "1"})


def number_of(ticket_id: UUID) -> str:
    """The number of a ticket."""
    rest = (ticket_id.int >> 98) % _BASE**_LENGTH
    digits = []
    for _ in range(_LENGTH):
        rest, digit = divmod(rest, _BASE)
        digits.append(digit)
    return _formatted("".join(_ALPHABET[digit] for digit in digits))


def parse_number(text: str) -> str | None:
    """The number that was typed or said, in its written form; None if it is not valid."""
    typed = "".join(char for char in text.upper() if char.isalnum())
    # Some numbers begin with these letters themselves, and people leave the prefix out.
    characters = (typed.removeprefix("TK") if len(typed) > _LENGTH + 1 else typed).translate(_MEANT)
    if len(characters) != _LENGTH + 1 or not set(characters) <= set(_ALPHABET):
        return None
    number = _formatted(characters[:_LENGTH])
    return number if number[-1] == characters[-1] else None


def _formatted(characters: str) -> str:
    total = sum(weight * _ALPHABET.index(char) for weight, char in enumerate(characters, 1))
    return f"TK-{characters[:3]}-{characters[3:]}-{_ALPHABET[total % _BASE]}"
