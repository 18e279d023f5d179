"""Key templates: a composite key attribute as text, and back.

    Template("EVENT#{day}#{sequence:04}")      "EVENT#2025-11-18#0007"

A template is literal text and fields, each in a form (see ``key_forms``). A part in square brackets at the end is left
out when a field in it is absent. Fields may be paths into maps (``{subject.id}``).

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

A **raw** template is for keys that others have made. It escapes nothing, and any text may stand between two fields. A
value must contain neither the separator nor what follows it, or it is refused: that keeps keys injective, reversible
and prefix-safe. They are ordered up to the first text that something follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import ClassVar

from tablewright.dynamo import AttributeValue, non_null_at
from tablewright.model.errors import TemplateError
from tablewright.model.keys.key_forms import (
    REST,
    SEPARATOR,
    Field,
    Literal,
    Part,
    Token,
    can_overlap,
    form_reason,
    form_regex,
    special_characters,
    tokens_of,
)

# What other packages use.
__all__ = ["PAST", "Template"]

# ``prefix + value + PAST`` sorts after every key that continues after the value, and before the keys of the next value.
PAST = "$"
# What no key begins with, as those of the store's own items do.
INTERNAL = PAST + SEPARATOR

_PART = re.compile(r"\{([A-Za-z_][\w.]*)(?::([^{}]+))?\}")


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
    # The separator of a raw template; None where values are escaped.
    raw: str | None = None

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts + self.optional if isinstance(part, Field)]
        if len(set(names)) != len(names):
            raise TemplateError(f"{self.text!r} has the same field twice")
        if not self.parts:
            raise TemplateError(f"{self.text!r} could be empty, which a key cannot be; begin with text or a field")
        if self.raw is not None:
            self._check_raw(self.raw)
            return
        for part in self.fields:
            if part.form == REST:
                raise TemplateError(f"{self.text!r}: rest is a format of raw templates; write raw(...) around it")
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

    def _check_raw(self, separator: str) -> None:
        if len(separator) != 1:
            raise TemplateError(f"{separator!r} cannot separate the parts of a raw key; use one character, such as '|'")
        if self.optional:
            raise TemplateError(
                f"{self.text!r}: a raw template has no optional part; use first_of(when(..., field=None), ...)"
            )
        if self.text.startswith(INTERNAL):
            raise TemplateError(f"{self.text!r} begins like the keys that the store reserves for itself")
        for before, after in self._pairs():
            if isinstance(before, Field) and isinstance(after, Field):
                raise TemplateError(
                    f"{self.text!r}: nothing is between {{{before.name}}} and {{{after.name}}}, so a key could not be "
                    "read back; write text between them"
                )
            if isinstance(before, Field) and before.form == REST:
                raise TemplateError(f"{self.text!r}: {before} takes the rest of the key, so it must be at its end")

    def _pairs(self) -> Iterator[tuple[Part, Part]]:
        parts = self.parts + self.optional
        return pairwise(parts)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return _parse(self._halves[0], self.raw)

    @cached_property
    def optional(self) -> tuple[Part, ...]:
        return _parse(self._halves[1], self.raw)

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

    def renamed(self, name_of: Callable[[str], str], *, begins_with_time: bool = False) -> Template:
        """The same keys, made of fields with other names, which may have characters that a template could not."""

        def rename(parts: Sequence[Part]) -> tuple[Part, ...]:
            return tuple(replace(part, name=name_of(part.name)) if isinstance(part, Field) else part for part in parts)

        renamed = object.__new__(Template)
        parts, optional = rename(self.parts), rename(self.optional)
        if begins_with_time and isinstance(parts[0], Field):
            parts = (replace(parts[0], is_time=True), *parts[1:])
        shown = "".join(map(str, parts)) + (f"[{''.join(map(str, optional))}]" if optional else "")
        # This is where a frozen dataclass and its cached properties keep their values.
        renamed.__dict__.update(text=shown, raw=self.raw, parts=parts, optional=optional)
        return renamed

    @cached_property
    def render(self) -> Callable[[Mapping[str, AttributeValue]], str | None]:
        """Returns the key of an item; None when a required field is absent."""
        required = _renderer(self.parts)
        begins_with_value = self.raw is not None and isinstance(self.parts[0], Field)
        if not self.optional and any(isinstance(part, Literal) for part in self.parts) and not begins_with_value:
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
            if begins_with_value and text.startswith(INTERNAL):
                raise TemplateError(
                    f"{text!r} begins like the keys that the store reserves for itself; choose another value"
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
        if self.raw is not None:
            pattern = rf"(?!{re.escape(INTERNAL)}){pattern}"
        return re.compile(pattern, re.DOTALL)

    @cached_property
    def tokens(self) -> tuple[list[Token], ...]:
        """What keys consist of, without and with the optional part."""
        halves = [self.parts, self.parts + self.optional] if self.optional else [self.parts]
        return tuple([token for part in parts for token in tokens_of(part)] for parts in halves)

    def overlaps(self, other: Template) -> bool:
        """Whether a key can match both; may say so where two fields of different forms meet, and none can."""
        return any(can_overlap(mine, theirs) for mine, theirs in product(self.tokens, other.tokens))


def _parse(text: str, raw: str | None) -> tuple[Part, ...]:
    parts: list[Part] = []
    position = 0
    for match in _PART.finditer(text):
        if match.start() > position:
            parts.append(_literal(text[position : match.start()], text, raw))
        form = match[2] or "text"
        reason = form_reason(form)
        if reason is not None:
            raise TemplateError(f"{text!r}: {reason}")
        refused = None if raw is None else "" if form == REST else raw
        if refused and text[match.end() : match.end() + 1] not in ("", raw):
            # What ends the value.
            refused += text[match.end()]
        parts.append(Field(match[1], form, refused))
        position = match.end()
    if position < len(text):
        parts.append(_literal(text[position:], text, raw))
    return tuple(parts)


def _literal(text: str, template: str, raw: str | None) -> Literal:
    if "{" in text or "}" in text or "[" in text or "]" in text:
        raise TemplateError(f"{template!r}: {text!r} is neither literal text nor a field")
    if raw is None and any(code < 0x23 or code == 0x24 for code in map(ord, text)):
        raise TemplateError(
            f"{template!r}: {text!r} contains a space, '!', '\"', '$' or a control character; in the keys of a table "
            "that exists already, write raw(...) around the template"
        )
    return Literal(text)


def _renderer(parts: Sequence[Part]) -> Callable[[Mapping[str, AttributeValue]], str | None]:
    """A function that renders parts for an item; it returns None when a field is absent."""
    pieces = []
    literal = ""
    for part in parts:
        if isinstance(part, Literal):
            literal += part.text
        else:
            pieces.append((literal, part.name, special_characters(part), part.encoder))
            literal = ""
    nested = any("." in name for _, name, _, _ in pieces)
    tail = literal

    def render(item: Mapping[str, AttributeValue]) -> str | None:
        text = ""
        for before, name, special, encode in pieces:
            value = non_null_at(item, name) if nested else item.get(name)
            if value is None or "NULL" in value:
                return None
            # Most fields are text, and most text has nothing to escape.
            content = value.get("S")
            text += before + (encode(value) if content is None or special(content) else content)
        return text + tail

    return render


def _regex(part: Part) -> str:
    return re.escape(part.text) if isinstance(part, Literal) else f"({form_regex(part)})"
