"""Keys of an entity: which template makes which key attribute, in which state.

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="METADATA",
        GSI1PK=sharded("STATUS#{status}", 8),                        spread over eight partitions
        GSI2PK=when("QUEUE", status="ESCALATED"),                    only in a state
        GSI3PK=first_of(when("UNASSIGNED", engineer=None), "ENGINEER#{engineer}"),
    )

``raw("user_{user_id}|{day}", "|")`` is for keys of tables that exist already: nothing in them is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

from tablewright.dynamo import AttributeValue, Item, non_null_at
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.keys.key_forms import SEPARATOR, Field, Literal, Token, can_overlap, tokens_of
from tablewright.model.keys.key_template import Template
from tablewright.model.values.attribute_codec import encode

# What other packages use.
__all__ = ["KeyRule"]


@dataclass(frozen=True, slots=True)
class KeyRule:
    """How a key attribute is made of an item: by a template, perhaps only in some states, perhaps with a shard.

    With ``others``, it is made by the first of several rules whose state holds.
    """

    template: Template
    # By field: the stored values of which it must have one; None stands for no value.
    when: Mapping[str, tuple[AttributeValue | None, ...]] = field(default_factory=dict)
    shards: int = 1
    # The previous number of shards, while items are moving from those to the present ones.
    was: int | None = None
    others: tuple[KeyRule, ...] = ()

    @property
    def cases(self) -> tuple[KeyRule, ...]:
        """The rules of which the first one whose state holds makes the key."""
        return (self, *self.others)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields in the key, in any state."""
        if not self.others:
            return self.template.fields
        return tuple({part.name: part for case in reversed(self.cases) for part in case.template.fields}.values())

    @property
    def required(self) -> frozenset[str]:
        """The fields without which there is no key in any state."""
        return self.template.required.intersection(*(case.template.required for case in self.others))

    @property
    def state_paths(self) -> tuple[str, ...]:
        """What the state consists of."""
        return tuple(dict.fromkeys(path for case in self.cases for path in case.when))

    @property
    def is_partial(self) -> bool:
        """Whether there are states without a key."""
        return all(case.when for case in self.cases)

    @property
    def text(self) -> str:
        """The template, or the templates, as they were declared."""
        return " or ".join(dict.fromkeys(case.template.text for case in self.cases))

    def holds(self, item: Mapping[str, AttributeValue]) -> bool:
        """Whether an item is in the state of this rule, regardless of others."""
        return all(non_null_at(item, path) in allowed for path, allowed in self.when.items())

    def case_of(self, item: Mapping[str, AttributeValue]) -> int | None:
        """Which of the cases makes the key of an item; None if there is no key in its state."""
        return next((number for number, case in enumerate(self.cases) if case.holds(item)), None)

    def possible(self, known: Mapping[str, AttributeValue | None]) -> tuple[KeyRule, ...]:
        """The cases that can make the key where some values are known, by path; None is known to be no value."""
        found: list[KeyRule] = []
        for case in self.cases:
            if any(path in known and known[path] not in allowed for path, allowed in case.when.items()):
                continue
            found.append(case)
            if case.when.keys() <= known.keys():
                break
        return tuple(found)

    def render(self, item: Item) -> str | None:
        """The key of an item without its shard, by the first case whose state holds."""
        number = self.case_of(item)
        return None if number is None else self.cases[number].template.render(item)

    @property
    def is_spread(self) -> bool:
        """Whether a read has to merge several partitions."""
        return self.shards > 1 or self.was is not None

    def shard_suffix(self, shard: int) -> str:
        return _suffix(shard, self.shards)

    @property
    def suffixes(self) -> tuple[tuple[str, ...], ...]:
        """The endings of keys: those of the previous shards, if items may still be there, then those of the present."""
        numbers = [self.shards] if self.was is None else [self.was, self.shards]
        return tuple(tuple(_suffix(shard, shards) for shard in range(shards)) for shards in numbers)

    def parse(self, key: str) -> dict[str, AttributeValue] | None:
        """The values in a key of any shard; None when the key does not match this rule."""
        text = self._without_shard(key)
        if text is None:
            return None
        parsed = (case.template.parse(text) for case in self.cases)
        return next((values for values in parsed if values is not None), None)

    def matches(self, key: str) -> bool:
        """Whether a key matches this rule."""
        text = self._without_shard(key)
        return text is not None and any(case.template.matches(text) is not None for case in self.cases)

    def overlaps(self, other: KeyRule) -> bool:
        """Whether a key can match both; may say so of rules where none can, as templates do."""
        return any(can_overlap(mine, theirs) for mine in self._tokens() for theirs in other._tokens())

    def _tokens(self) -> list[list[Token]]:
        """What keys consist of, with the shard."""
        shard: list[Token] = []
        if self.shards > 1:
            shard = tokens_of(Literal(SEPARATOR)) + tokens_of(Field("shard", str(len(str(self.shards - 1)))))
        return [tokens + shard for case in self.cases for tokens in case.template.tokens]

    def _without_shard(self, key: str) -> str | None:
        if self.shards == 1:
            return key
        text, separator, shard = key.rpartition(SEPARATOR)
        known = shard.isdecimal() and int(shard) < self.shards and separator + shard == self.shard_suffix(int(shard))
        return text if known else None


def when(rule: str | KeyRule, **states: Any) -> KeyRule:
    """A key attribute that items have only in a given state, for a sparse index.

        GSI4PK=when("QUEUE", status="ESCALATED")        GSI4PK=when("QUEUE", status=["NEW", "OPEN"])
        GSI4PK=when("UNASSIGNED", engineer=None)        while the field has no value

    The values are those of the field; an item in another state is not in the index.
    """
    if not states:
        raise ModelError("when(...) needs a condition, such as status='ESCALATED'")
    allowed: dict[str, tuple[AttributeValue | None, ...]] = {}
    for name, values in states.items():
        choices = values if isinstance(values, list | tuple | set | frozenset) else (values,)
        if not choices:
            raise ModelError(f"when({name}=...) needs a value")
        allowed[name] = tuple(None if value is None else encode(value) for value in choices)
    plain = _rule(rule)
    if plain.others:
        raise ModelError("when(first_of(...)): give each template its state: first_of(when(...), when(...))")
    return replace(plain, when={**plain.when, **allowed})


def first_of(*rules: str | KeyRule) -> KeyRule:
    """A key attribute with several templates: that of the first rule whose state holds makes the key.

        GSI1PK=first_of(when("DRAFT#{author}", state="draft"), when("LIVE", state="live"), "OTHER#{author}")

    The last one may be without a state. A pattern gives or fixes what the state consists of.
    """
    known = [_rule(rule) for rule in rules]
    if len(known) < 2:
        raise ModelError("first_of(...) needs at least two templates; one is a template by itself")
    for number, each in enumerate(known, 1):
        if each.is_spread or each.others:
            raise ModelError("first_of(...) takes templates and when(...); write sharded(first_of(...), n) around it")
        if not each.when and number < len(known):
            raise ModelError(
                f"first_of(...): {each.template.text!r} has no state, so nothing behind it is ever used; write "
                "when(...) around it, or put it last"
            )
    return replace(known[0], others=tuple(known[1:]))


def raw(template: str, separator: str = SEPARATOR) -> KeyRule:
    """A key of a table that exists already: values are in it as they are, and any text may be between them.

        SK=raw("user_{user_id}|{day}", "|")        PK=raw("$mall#city_{city}")

    No value may contain the separator, or the text that follows it, so that a key can be read back; one that does is
    refused. Only ``{name:rest}`` at the end may contain anything.
    """
    if not isinstance(template, str):
        raise ModelError("raw(...) takes a template as text; write when(raw(...), ...) and sharded(raw(...), n)")
    return KeyRule(Template(template, separator))


def sharded(rule: str | KeyRule, shards: int, *, was: int | None = None) -> KeyRule:
    """A partition key that is spread over several partitions, which reads merge again.

        GSI1PK=sharded("STATUS#{status}", 8)

    ``was`` is the previous number of shards, 1 for a key that was not sharded: writes use the new number, and reads
    look at both, until ``repair`` has moved all items.
    """
    if shards < (2 if was is None else 1):
        raise ModelError("a sharded key needs at least 2 shards")
    if was is not None and (was < 1 or was == shards):
        raise ModelError(
            f"sharded(..., {shards}, was={was}): was= is the previous number of shards, 1 if the key was not "
            "sharded; it must differ from the new number"
        )
    return replace(_rule(rule), shards=shards, was=was)


@lru_cache(maxsize=4096)
def _suffix(shard: int, shards: int) -> str:
    return "" if shards == 1 else f"#{shard:0{len(str(shards - 1))}d}"


def stable_shard(identity: str, shards: int) -> int:
    """The shard of an item: the same in every process, on every machine, in every version."""
    return int.from_bytes(sha256(identity.encode()).digest()[:8]) % shards


def _rule(rule: str | KeyRule) -> KeyRule:
    if isinstance(rule, KeyRule):
        return rule
    if not isinstance(rule, str):
        raise TemplateError(f"{rule!r} cannot define a key; use a template as text, when(...) or sharded(...)")
    return KeyRule(Template(rule))


class Keys(Mapping[str, KeyRule]):
    """The key attributes of an entity, each with a template; those that fields are stored in need none.

        keys = Keys(PK="TICKET#{ticket_id}", SK="METADATA", GSI1PK=sharded("STATUS#{status}", 8))
        keys = Keys({"GSI1-PK": "CUSTOMER#{customer_id}"})

    ``when``, ``first_of``, ``raw`` and ``sharded`` wrap templates; a dictionary is for names that are not Python names.
    """

    def __init__(self, rules: Mapping[str, str | KeyRule] | None = None, /, **more: str | KeyRule) -> None:
        self._rules = {}
        for attribute, rule in {**(rules or {}), **more}.items():
            try:
                self._rules[attribute] = _rule(rule)
            except TemplateError as error:
                raise ModelError(f"keys, {attribute}: {error}") from None

    def __getitem__(self, attribute: str) -> KeyRule:
        return self._rules[attribute]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)
