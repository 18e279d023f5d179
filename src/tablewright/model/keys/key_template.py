"""Key templates: a composite key attribute as text, and back.

    Template("EVENT#{day}#{sequence:04}")      "EVENT#2025-11-18#0007"

A template is literal text and fields. ``{name}`` is a value as text, ``{name:013}`` a whole number padded with zeros,
``{name:number}`` any number as text that sorts as numbers do, ``{name:date}`` the day of a time (or its ``year``,
``month``, ``hour``): a bucket, which many times share. A part in square brackets at the end is left out when a field in
it is absent. Fields may be paths into maps (``{subject.id}``).

It works on stored values, so it can be applied to an item no matter who wrote it. Its laws, which the property tests
state one by one:

* **injective**: different values never give the same key, whatever characters they contain (a date: different days);
* **reversible**: ``parse`` returns the values, and rejects every key that ``render`` would not have made;
* **ordered**: keys sort as the tuples of their values do (text by code point, padded and ``number`` fields by value);
* **prefix-safe**: the keys that begin with ``prefix(a=..)`` are those whose first fields are exactly these;
* **plain**: text without space, ``!``, ``"``, ``#``, ``$`` or control characters is in the key as it is.

The separator ``#`` must sort before anything a value can contain, or ``("a", "z")`` would come after ``("a b", "a")``.
So the characters up to ``$`` are escaped, each as ``$`` and one letter, which keeps their order.

A value in a key is followed by the end or by ``#``; the same characters in a longer value are followed by ``$`` and a
letter, or by something above ``$``. A lone ``$`` sorts between the two, and is in no key: that is ``PAST``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import ClassVar

from tablewright.dynamo import AttributeValue, non_null_at
from tablewright.model.errors import TemplateError

# What other packages use.
__all__ = [
    "PAST",
    "TIME_PARTS",
    "Field",
    "Literal",
    "Part",
    "encode_number",
]

# What is between separators: literal text, and the format of the field after it, if there is one.
Segments = tuple[tuple[str, str | None], ...]

SEPARATOR = "#"
# ``prefix + value + PAST`` sorts after every key that continues after the value, and before the keys of the next value.
PAST = "$"

_ESCAPES = {code: f"${chr(code + 0x40)}" for code in range(0x25)}
_SPECIAL = re.compile(r"[\x00-\x24]").search
_ESCAPED = re.compile(r"\$([@-d])")
_PART = re.compile(r"\{([A-Za-z_][\w.]*)(?::(\w+))?\}")
# The parts of a time that a key may hold instead of all of it: how the text of a stored time begins.
TIME_PARTS: Mapping[str, re.Pattern[str]] = {
    "year": re.compile(r"[0-9]{4}"),
    "month": re.compile(r"[0-9]{4}-[0-9]{2}"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "hour": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}"),
}


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
    """A value in a key; ``form`` is ``text``, ``number``, one of ``TIME_PARTS``, or a width in digits."""

    name: str
    form: str

    @property
    def encoder(self) -> Callable[[AttributeValue], str]:
        return _encoder(self.name, self.form)

    def encode(self, value: AttributeValue) -> str:
        return self.encoder(value)

    def decode(self, text: str) -> AttributeValue:
        if self.form == "text" or self.form in TIME_PARTS:
            return {"S": unescape(text)}
        if self.form == "number":
            return {"N": f"{decode_number(text):f}"}
        return {"N": str(int(text))}

    def __str__(self) -> str:
        return f"{{{self.name}}}" if self.form == "text" else f"{{{self.name}:{self.form}}}"

    @property
    def reversible(self) -> bool:
        """Whether the key has all of the value, and not only a part of a time."""
        return self.form not in TIME_PARTS


Part = Literal | Field


@lru_cache(maxsize=4096)
def _encoder(name: str, form: str) -> Callable[[AttributeValue], str]:
    """How values of a format are written in a key; the name of the field is for messages."""

    def as_text(value: AttributeValue) -> str:
        content = value.get("S")
        if content is None:
            content = value.get("N")
            if content is None:
                raise TemplateError(f"{name} has the type {_tag(value)}; only text and numbers can be part of a key")
        return escape(content)

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

    def number_in(value: AttributeValue) -> str:
        content: str | None = value.get("N")
        if content is None:
            raise TemplateError(f"{name} has the type {_tag(value)}, and a number is needed")
        return content

    if form in TIME_PARTS:
        return as_part_of_time
    forms = {"text": as_text, "number": as_number}
    if form in forms:
        return forms[form]
    width = int(form)
    return padded


def _tag(value: AttributeValue) -> str:
    (tag,) = value
    return tag


# -- templates ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Template:
    """A key template: how a key attribute is made of fields, and back.

        template = Template("EVENT#{day}#{sequence:04}")
        template.render({"day": {"S": "2025-11-18"}, "sequence": {"N": "7"}})      "EVENT#2025-11-18#0007"
        template.parse("EVENT#2025-11-18#0007")                                    the values again

    The module's docstring has the syntax and the laws.
    """

    text: str

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts + self.optional if isinstance(part, Field)]
        if len(set(names)) != len(names):
            raise TemplateError(f"{self.text!r} has the same field twice")
        if not self.parts:
            raise TemplateError(f"{self.text!r} could be empty, which a key cannot be; begin with text or a field")
        for before, after in self._pairs():
            if isinstance(before, Field) and not (isinstance(after, Literal) and after.text.startswith(SEPARATOR)):
                raise TemplateError(f"{self.text!r}: what follows {{{before.name}}} must begin with {SEPARATOR!r}")
        if self.optional:
            first = self.optional[0]
            if not (isinstance(first, Literal) and first.text.startswith(SEPARATOR)):
                raise TemplateError(f"{self.text!r}: an optional part must begin with {SEPARATOR!r}")
            if len(self.optional) == 1:
                raise TemplateError(
                    f"{self.text!r}: an optional part needs a field; without one it would never be left out"
                )

    def _pairs(self) -> Iterator[tuple[Part, Part]]:
        parts = self.parts + self.optional
        return pairwise(parts)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return _parse(self._halves[0])

    @cached_property
    def optional(self) -> tuple[Part, ...]:
        return _parse(self._halves[1])

    @cached_property
    def _halves(self) -> tuple[str, str]:
        required, bracket, optional = self.text.partition("[")
        if bracket and not optional.endswith("]"):
            raise TemplateError(f"{self.text!r}: an optional part must be at the end and close with ']'")
        return required, optional[:-1]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(part for part in self.parts + self.optional if isinstance(part, Field))

    @cached_property
    def required(self) -> frozenset[str]:
        """The fields without which there is no key."""
        return frozenset(part.name for part in self.parts if isinstance(part, Field))

    def renamed(self, name_of: Callable[[str], str]) -> Template:
        """The same keys, made of fields with other names, which may have characters that a template could not."""

        def rename(parts: Sequence[Part]) -> tuple[Part, ...]:
            return tuple(Field(name_of(part.name), part.form) if isinstance(part, Field) else part for part in parts)

        renamed = object.__new__(Template)
        parts, optional = rename(self.parts), rename(self.optional)
        shown = "".join(map(str, parts)) + (f"[{''.join(map(str, optional))}]" if optional else "")
        # This is where a frozen dataclass and its cached properties keep their values.
        renamed.__dict__.update(text=shown, parts=parts, optional=optional)
        return renamed

    @cached_property
    def render(self) -> Callable[[Mapping[str, AttributeValue]], str | None]:
        """Returns the key of an item; None when a required field is absent."""
        required = _renderer(self.parts)
        if not self.optional and any(isinstance(part, Literal) for part in self.parts):
            return required
        optional = _renderer(self.optional)

        def render(item: Mapping[str, AttributeValue]) -> str | None:
            text = required(item)
            if text is None:
                return None
            rest = optional(item)
            if rest is None and self._complete_with is not None:
                self._check_complete(item, self._complete_with)
            text += rest or ""
            if not text:
                name = self.fields[0].name
                raise TemplateError(
                    f"{name} is empty, so the key would be empty; add literal text to the template {self.text!r}"
                )
            return text

        return render

    def require_complete(self, elsewhere: AbstractSet[str]) -> None:
        """From now on, reject an optional part with only some of its values, unless they are ``elsewhere`` as well."""
        object.__setattr__(self, "_complete_with", frozenset(elsewhere))

    # The argument of ``require_complete``; None if that was not called.
    _complete_with: ClassVar[frozenset[str] | None] = None

    def _check_complete(self, item: Mapping[str, AttributeValue], elsewhere: AbstractSet[str]) -> None:
        fields = [part.name for part in self.optional if isinstance(part, Field)]
        absent = [name for name in fields if non_null_at(item, name) is None]
        lost = [name for name in fields if name not in absent and name not in elsewhere]
        if lost:
            raise TemplateError(
                f"{' and '.join(lost)} would be left out of the primary key, as {' and '.join(absent)} has no value, "
                "and two items could have the same key; give values for all of them, or for none"
            )

    def prefix_renderer(self, until: Field | None = None) -> Callable[[Mapping[str, AttributeValue]], str | None]:
        """Returns the beginning of the key of an item, up to a field; None when a field before that is absent."""
        parts = self.parts + self.optional
        return _renderer(parts if until is None else parts[: parts.index(until)])

    def prefix(self, item: Mapping[str, AttributeValue]) -> tuple[str, Field | None]:
        """The common beginning of all keys with the given first fields, and the first field that is not given.

        If that field is in the optional part, one more key may have these fields: the one without the optional part.
        """
        text = ""
        for part in self.parts + self.optional:
            if isinstance(part, Literal):
                text += part.text
            else:
                value = non_null_at(item, part.name)
                if value is None:
                    return text, part
                text += part.encode(value)
        return text, None

    def parse(self, key: str) -> dict[str, AttributeValue] | None:
        """The values in a key, by field; None when the key does not match this template."""
        match = self._pattern.fullmatch(key)
        if match is None:
            return None
        groups = zip(self.fields, match.groups(), strict=True)
        return {field.name: field.decode(text) for field, text in groups if text is not None}

    @cached_property
    def matches(self) -> Callable[[str], object]:
        """Returns a match for a key of this template, and None for any other."""
        return self._pattern.fullmatch

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern = "".join(map(_regex, self.parts))
        if self.optional:
            pattern += f"(?:{''.join(map(_regex, self.optional))})?"
        return re.compile(pattern, re.DOTALL)

    @cached_property
    def segments(self) -> tuple[Segments, ...]:
        """What is between the separators, as text and a field's format; without and with the optional part."""
        halves = [self.parts, self.parts + self.optional] if self.optional else [self.parts]
        return tuple(map(_segments, halves))

    def overlaps(self, other: Template) -> bool:
        """Whether a key can match both; may say so where two fields of different formats meet, and none can."""
        return can_overlap(self.segments, other.segments)


def can_overlap(some: Iterable[Segments], others: Iterable[Segments]) -> bool:
    """Whether a key can consist of segments of both."""
    pairs = product(some, others)
    return any(len(mine) == len(theirs) and all(map(_segments_overlap, mine, theirs)) for mine, theirs in pairs)


def _segments(parts: Sequence[Part]) -> Segments:
    segments: list[tuple[str, str | None]] = [("", None)]
    for part in parts:
        if isinstance(part, Field):
            segments[-1] = (segments[-1][0], part.form)
        else:
            first, *rest = part.text.split(SEPARATOR)
            segments[-1] = (segments[-1][0] + first, segments[-1][1])
            segments.extend((text, None) for text in rest)
    return tuple(segments)


def _segments_overlap(one: tuple[str, str | None], other: tuple[str, str | None]) -> bool:
    (shorter, form), (longer, second_form) = sorted([one, other], key=lambda segment: len(segment[0]))
    if not longer.startswith(shorter):
        return False
    rest = longer[len(shorter) :]
    if form is None:
        # Only text: the other must be the same text, perhaps with an empty value after it.
        return not rest and second_form in (None, "text")
    if second_form is None:
        return re.fullmatch(_form_regex(form), rest) is not None
    if rest:
        return form == "text" or rest.isdigit()
    exact = {form, second_form} - {"text"}
    return (exact.isdisjoint(TIME_PARTS) and "number" in exact) or len(exact) < 2 or len(set(map(_width, exact))) == 1


def _width(form: str) -> int | str:
    return int(form) if form.isdigit() else form


def _parse(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    position = 0
    for match in _PART.finditer(text):
        if match.start() > position:
            parts.append(_literal(text[position : match.start()], text))
        form = match[2] or "text"
        is_width = form.isascii() and form.isdigit() and int(form) > 0
        if form not in ("text", "number", *TIME_PARTS) and not is_width:
            known = ", ".join(["number", *TIME_PARTS])
            raise TemplateError(f"{text!r}: {form!r} is not a format; use {known}, or a width such as 013")
        parts.append(Field(match[1], form))
        position = match.end()
    if position < len(text):
        parts.append(_literal(text[position:], text))
    return tuple(parts)


def _literal(text: str, template: str) -> Literal:
    if "{" in text or "}" in text or "[" in text or "]" in text:
        raise TemplateError(f"{template!r}: {text!r} is neither literal text nor a field")
    if any(code < 0x23 or code == 0x24 for code in map(ord, text)):
        raise TemplateError(f"{template!r}: {text!r} contains a space, '!', '\"', '$' or a control character")
    return Literal(text)


def _renderer(parts: Sequence[Part]) -> Callable[[Mapping[str, AttributeValue]], str | None]:
    """A function that renders parts for an item; it returns None when a field is absent."""
    pieces = []
    literal = ""
    for part in parts:
        if isinstance(part, Literal):
            literal += part.text
        else:
            pieces.append((literal, part.name, part.form == "text", part.encoder))
            literal = ""
    nested = any("." in name for _, name, _, _ in pieces)
    tail = literal

    def render(item: Mapping[str, AttributeValue]) -> str | None:
        text = ""
        for before, name, is_text, encode in pieces:
            value = non_null_at(item, name) if nested else item.get(name)
            if value is None or "NULL" in value:
                return None
            # Most fields are text, and most text has nothing to escape.
            content = value.get("S") if is_text else None
            text += before + (encode(value) if content is None or _SPECIAL(content) else content)
        return text + tail

    return render


def _regex(part: Part) -> str:
    return re.escape(part.text) if isinstance(part, Literal) else f"({_form_regex(part.form)})"


def _form_regex(form: str) -> str:
    """Exactly the texts that a field of the format can have in a key."""
    if form == "number":
        return r"5|6[0-9]{3}(?=[1-9])[0-9]*[1-9]|4[0-9]{3}(?=[0-8])[0-9]*[0-8]~"
    if form in TIME_PARTS:
        return TIME_PARTS[form].pattern
    if form == "text":
        # Possessive: what follows cannot be part of the value, so backtracking is useless.
        return r"[^\x00-\x24]*+(?:\$[@-d][^\x00-\x24]*+)*+"
    return rf"[0-9]{{{int(form)}}}"
