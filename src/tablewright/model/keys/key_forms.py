"""Forms: how one value is written in a key, and read back.

    {name}           the value as text; a boolean as ``true`` or ``false``
    {name:lower}     text in lower case, or ``upper``: not all of the value, which is stored as well
    {name:013}       a whole number padded with zeros           {name:-013}   the same, larger numbers first
    {name:number}    any number, as text that sorts as numbers do
    {name:date}      a part of a time; also year, month, hour, minute and second
    {name:Y|N}       a boolean, as one of two texts
    {name:rest}      text to the end of the key, whatever it contains; in raw templates

Text is escaped, unless the template is raw: there it is as it is, and a value that contains what would end it is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from tablewright.dynamo import AttributeValue
from tablewright.model.errors import TemplateError

__all__ = [
    "FOLDS",
    "REST",
    "SEPARATOR",
    "TIME_PARTS",
    "Charset",
    "Field",
    "Literal",
    "Part",
    "Token",
    "can_overlap",
    "decode_number",
    "encode_number",
    "escape",
    "form_reason",
    "form_regex",
    "special_characters",
    "tokens_of",
    "unescape",
]

SEPARATOR = "#"

_ESCAPES = {code: f"${chr(code + 0x40)}" for code in range(0x25)}
_SPECIAL = re.compile(r"[\x00-\x24]").search
_ESCAPED = re.compile(r"\$([@-d])")
# The parts of a time that a key may hold instead of all of it: how the text of a stored time begins.
TIME_PARTS: Mapping[str, re.Pattern[str]] = {
    "year": re.compile(r"[0-9]{4}"),
    "month": re.compile(r"[0-9]{4}-[0-9]{2}"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "hour": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}"),
    "minute": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}"),
    "second": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"),
}
_TIME = "0000-00-00T00:00:00"
_TIME_LENGTHS = {"year": 4, "month": 7, "date": 10, "hour": 13, "minute": 16, "second": 19}
# Forms that make texts of different cases equal.
FOLDS: Mapping[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}
_FOLDED_AWAY = {"lower": "A-Z", "upper": "a-z"}
REST = "rest"
_WIDTH = re.compile(r"(-?)0*([1-9][0-9]{0,2})")
_CHOICE = re.compile(r"([^|{}\x00-\x24]+)\|([^|{}\x00-\x24]+)")


def escape(text: str) -> str:
    """Text that contains no separator and still sorts as it did."""
    # Most text has nothing to escape.
    return text.translate(_ESCAPES) if _SPECIAL(text) else text


def unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(ord(match[1]) - 0x40), text)


# -- numbers --------------------------------------------------------------------------------------------------------

_ZERO_EXPONENT = 500


def encode_number(number: Decimal) -> str:
    """Any number that DynamoDB can store, as text that sorts as numbers do.

    Positive: ``6``, the exponent plus 500, the digits. Negative: ``4``, both complemented, and ``~`` at the end, so
    that the longer of two with the same beginning sorts first. Zero: ``5``.
    """
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    if not isinstance(exponent, int):
        raise TemplateError(f"{number} is not a finite number, so it cannot be part of a key")
    if not text:
        return "5"
    magnitude = _ZERO_EXPONENT + exponent + len(text)
    if not 0 < magnitude < 1000:
        raise TemplateError(f"{number} is out of the range of DynamoDB's numbers")
    text = text.rstrip("0")
    if not sign:
        return f"6{magnitude:03d}{text}"
    return f"4{999 - magnitude:03d}{text.translate(_COMPLEMENT)}~"


_COMPLEMENT = str.maketrans("0123456789", "9876543210")


def decode_number(text: str) -> Decimal:
    if text == "5":
        return Decimal(0)
    negative = text[0] == "4"
    digits = text[4:-1].translate(_COMPLEMENT) if negative else text[4:]
    magnitude = int(text[1:4])
    exponent = (999 - magnitude if negative else magnitude) - _ZERO_EXPONENT - len(digits)
    return Decimal((int(negative), tuple(map(int, digits)), exponent))


# -- parts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Field:
    """A value in a key, in a form; ``raw`` has the characters that it must not contain, None if text is escaped."""

    name: str
    form: str
    raw: str | None = None
    # Whether it is always the text of a time or a date, which begins with the year.
    is_time: bool = False

    @property
    def encoder(self) -> Callable[[AttributeValue], str]:
        return _encoder(self.name, self.form, self.raw)

    def encode(self, value: AttributeValue) -> str:
        return self.encoder(value)

    def decode(self, text: str) -> AttributeValue:
        if self.is_text or self.is_time_part:
            return {"S": text if self.raw is not None else unescape(text)}
        if self.form == "number":
            return {"N": f"{decode_number(text):f}"}
        if "|" in self.form:
            return {"BOOL": text == self.form.partition("|")[0]}
        return {"N": str(int(text.translate(_COMPLEMENT) if self.is_descending else text))}

    def __str__(self) -> str:
        return f"{{{self.name}}}" if self.form == "text" else f"{{{self.name}:{self.form}}}"

    @property
    def is_text(self) -> bool:
        return self.form in ("text", REST) or self.form in FOLDS

    @property
    def is_time_part(self) -> bool:
        """Whether the key has a part of a time, which many times share."""
        return self.form in TIME_PARTS

    @property
    def reversible(self) -> bool:
        """Whether the key has all of the value: not only a part of a time, or text in one case."""
        return self.form not in TIME_PARTS and self.form not in FOLDS

    @property
    def width(self) -> int | None:
        """The digits of a padded number."""
        found = _WIDTH.fullmatch(self.form)
        return None if found is None else int(found[2])

    @property
    def is_descending(self) -> bool:
        """Whether larger numbers come first."""
        return self.form.startswith("-")

    @property
    def is_sorted(self) -> bool:
        """Whether keys that go on behind the value sort by it first; raw text of any length does not see to that."""
        return self.raw is None or not self.is_text


Part = Literal | Field


def form_reason(form: str) -> str | None:
    """Why a form is none; None if it is one."""
    if form in ("text", "number", REST, *TIME_PARTS, *FOLDS) or _WIDTH.fullmatch(form):
        return None
    choice = _CHOICE.fullmatch(form)
    if choice is not None:
        return None if choice[1] != choice[2] else f"{form!r} has the same text for true and false"
    known = ", ".join(["number", *FOLDS, *TIME_PARTS])
    return f"{form!r} is not a format; use {known}, a width such as 013, or two texts for a boolean, such as Y|N"


@lru_cache(maxsize=4096)
def _encoder(name: str, form: str, raw: str | None) -> Callable[[AttributeValue], str]:
    """How values of a form are written in a key; the name of the field is for messages."""
    fold = FOLDS.get(form)

    def plain(value: AttributeValue) -> str:
        content = value.get("S")
        if content is None:
            content = value.get("N")
        if content is None:
            if "BOOL" not in value:
                raise TemplateError(
                    f"{name} has the type {_tag(value)}; only text, numbers and booleans can be part of a key"
                )
            content = "true" if value["BOOL"] else "false"
        return content if fold is None else fold(content)

    def as_text(value: AttributeValue) -> str:
        return escape(plain(value))

    def as_raw_text(value: AttributeValue) -> str:
        content = plain(value)
        for character in raw or "":
            if character in content:
                raise TemplateError(
                    f"{name} is {content!r}, and {character!r} ends a value in this raw key; choose another value"
                )
        return content

    def as_part_of_time(value: AttributeValue) -> str:
        part = TIME_PARTS[form].match(value.get("S", ""))
        if part is None:
            raise TemplateError(f"{name} is not a time, so no {form} can be taken from it")
        return part[0]

    def as_number(value: AttributeValue) -> str:
        return encode_number(Decimal(number_in(value)))

    def padded(value: AttributeValue) -> str:
        content = value.get("N") or number_in(value)
        plain = content.isdecimal() and content.isascii() and (content[0] != "0" or content == "0")
        if not plain or len(content) > width:
            raise TemplateError(f"{name} is {content}, which is not a whole number of up to {width} digits")
        return content.zfill(width)

    def descending(value: AttributeValue) -> str:
        return padded(value).translate(_COMPLEMENT)

    def number_in(value: AttributeValue) -> str:
        content: str | None = value.get("N")
        if content is None:
            raise TemplateError(f"{name} has the type {_tag(value)}, and a number is needed")
        return content

    def as_choice(value: AttributeValue) -> str:
        if "BOOL" not in value:
            raise TemplateError(f"{name} has the type {_tag(value)}, and a boolean is needed")
        yes, _, no = form.partition("|")
        return yes if value["BOOL"] else no

    if form in TIME_PARTS:
        return as_part_of_time
    if form == "number":
        return as_number
    if "|" in form:
        return as_choice
    found = _WIDTH.fullmatch(form)
    if found is not None:
        width = int(found[2])
        return descending if found[1] else padded
    return as_text if raw is None else as_raw_text


def _tag(value: AttributeValue) -> str:
    (tag,) = value
    return tag


def special_characters(part: Field) -> Callable[[str], object]:
    """Finds in a text what cannot be in a key as it is; something in every text, if the form changes all of them."""
    if part.form not in ("text", REST):
        return _always
    if part.raw is None:
        return _SPECIAL
    return re.compile(f"[{re.escape(part.raw)}]").search if part.raw else _never


def _always(_: str) -> bool:
    return True


def _never(_: str) -> bool:
    return False


def form_regex(part: Field) -> str:
    """Exactly the texts that a field can have in a key; of times, somewhat more."""
    text = _form_regex(part)
    return f"(?=[0-9]{{4}}-){text}" if part.is_time and part.is_text else text


def _form_regex(part: Field) -> str:
    form = part.form
    if form == "number":
        return r"5|6[0-9]{3}(?=[1-9])[0-9]*[1-9]|4[0-9]{3}(?=[0-8])[0-9]*[0-8]~"
    if form in TIME_PARTS:
        return TIME_PARTS[form].pattern
    if "|" in form:
        return "|".join(map(re.escape, form.split("|")))
    if part.width is not None:
        return rf"[0-9]{{{part.width}}}"
    folded = _FOLDED_AWAY.get(form, "")
    if part.raw is not None:
        refused = re.escape(part.raw) + folded
        return f"[^{refused}]*+" if refused else ".*+"
    # Possessive: what follows cannot be part of the value, so backtracking is useless.
    return rf"[^\x00-\x24{folded}]*+(?:\$[@-d][^\x00-\x24{folded}]*+)*+"


# -- what keys consist of -------------------------------------------------------------------------------------------

# Ranges of characters.
Charset = tuple[tuple[int, int], ...]
# Characters, and whether there may be any number of them, or exactly one.
Token = tuple[Charset, bool]

_LAST = 0x10FFFF
_DIGITS: Charset = ((0x30, 0x39),)
_HYPHEN: Charset = ((0x2D, 0x2D),)


def tokens_of(part: Part) -> list[Token]:
    """What a part of a key can consist of, or somewhat more."""
    if isinstance(part, Literal):
        return [(((ord(character), ord(character)),), False) for character in part.text]
    if part.width is not None:
        return [(_DIGITS, False)] * part.width
    if part.is_time_part:
        shape = _TIME[: _TIME_LENGTHS[part.form]]
        return [(_DIGITS if each == "0" else ((ord(each), ord(each)),), False) for each in shape]
    if part.form == "number":
        return [(_DIGITS, False), ((*_DIGITS, (0x7E, 0x7E)), True)]
    year = [*[(_DIGITS, False)] * 4, (_HYPHEN, False)] if part.is_time else []
    if part.raw is None:
        # Escapes begin with a dollar sign.
        return [*year, (((0x24, _LAST),), True)]
    refused = [-1, *sorted(map(ord, part.raw)), _LAST + 1]
    return [*year, (tuple((low + 1, high - 1) for low, high in pairwise(refused) if low + 1 < high), True)]


def can_overlap(one: list[Token], other: list[Token]) -> bool:
    """Whether a text can consist of both."""
    seen: set[tuple[int, int]] = set()
    following = [(0, 0)]
    while following:
        place = i, j = following.pop()
        if place in seen:
            continue
        seen.add(place)
        if i == len(one) and j == len(other):
            return True
        if i < len(one) and one[i][1]:
            following.append((i + 1, j))
        if j < len(other) and other[j][1]:
            following.append((i, j + 1))
        if i < len(one) and j < len(other) and _have_common(one[i][0], other[j][0]):
            following.append((i if one[i][1] else i + 1, j if other[j][1] else j + 1))
    return False


def _have_common(one: Charset, other: Charset) -> bool:
    return any(low <= last and first <= high for low, high in one for first, last in other)
