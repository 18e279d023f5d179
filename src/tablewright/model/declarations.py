"""What a declaration says beyond names and types: markers on fields, keys, and upgrades.

Markers on fields, in ``Annotated``:

    call_id:  Annotated[str, Unique()]                                 no two items have the same
    user_id:  Annotated[str, AttributeName("uid")]                              the attribute it is stored in
    number:   Annotated[int, Numbered("ticket_id")] = 0                1, 2, 3, ... for each ticket, without gaps
    body:     Annotated[str, Large()] = ""                             in a blob once the item is large
    version:  Version = 0                                              optimistic lock
    created_at: CreatedAt = None      updated_at: UpdatedAt = None     set by the store
    ttl:      Annotated[ExpiresAt, Expiry(timedelta(hours=24))] = None when the item expires; by default, in a day

Key attributes: ``keys = Keys(PK="TICKET#{ticket_id}", GSI4PK=when("QUEUE", status="ESCALATED"))``, and
``sharded("STATUS#{status}", 8)`` for a partition that would get too hot; ``sharded("STATUS#{status}", 16, was=8)``
while its items are resharded.

Schema versions: ``upgrades = Upgrades(one_to_two, two_to_three)``; each step takes the values of a stored item, by
attribute, and returns those of the next version. Items carry their schema version; one that does not has the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any

from pydantic import Field

from tablewright.dynamo import AttributeValue
from tablewright.dynamo.limits import MAX_ITEM_SIZE
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.keys.key_template import SEPARATOR, Segments, Template, can_overlap
from tablewright.model.values.attribute_codec import EpochSeconds, encode

# What other packages use.
__all__ = [
    "BLOB_REFERENCES",
    "KeyRule",
    "VersionMarker",
]

# -- markers on fields ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttributeName:
    """The attribute that a field is stored in, instead of the one that the naming rule gives.

        user_id: Annotated[str, AttributeName("GSI1-uid")]

    All other places (keys, patterns, updates) use the name of the field.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Unique:
    """No two items of the entity may have the same value.

    Each value has a guard item, which is written in the same transaction and names the item that has the value.

        email: Annotated[str, Unique()]
    """


@dataclass(frozen=True, slots=True)
class VersionMarker:
    """The optimistic lock: every write checks and increments it."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time that the store sets: when the item was ``created``, or last ``updated``."""

    event: str

    def __post_init__(self) -> None:
        if self.event not in ("created", "updated"):
            raise ModelError(f"Stamp({self.event!r}): use 'created' or 'updated'")


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time to live; ``after`` is its default, counted from the write."""

    after: timedelta | None = None

    def __post_init__(self) -> None:
        if self.after is not None and self.after < timedelta(seconds=1):
            raise ModelError(f"Expiry({self.after!r}): the item would expire at once; use at least one second")


@dataclass(frozen=True, slots=True)
class Numbered:
    """A number that the store assigns at creation: 1, 2, 3, ... among items with the same values of the fields ``per``.

    The sequence is an item of its own, updated in the same transaction, so there are neither gaps nor duplicates.

        number: Annotated[int, Numbered("ticket_id")] = 0
    """

    per: tuple[str, ...]

    def __init__(self, *per: str) -> None:
        object.__setattr__(self, "per", per)


# The attribute with the references to an item's large values that are in blobs.
BLOB_REFERENCES = "~outside"


@dataclass(frozen=True, slots=True)
class Large:
    """A value that is stored as a blob when the item would otherwise be larger than ``threshold`` bytes."""

    threshold: int = 350 * 1024

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= MAX_ITEM_SIZE:
            raise ModelError(
                f"Large({self.threshold}): the threshold must be from 1 byte to "
                f"{MAX_ITEM_SIZE // 1024} KB, the largest item"
            )


Version = Annotated[int, VersionMarker(), Field(default=0)]
"""``version: Version = 0``: of two concurrent writes, the second gets a conflict instead of overwriting the first."""

CreatedAt = Annotated[datetime | None, Stamp("created"), Field(default=None)]
"""``created_at: CreatedAt = None``: set by the store when the item is created."""

UpdatedAt = Annotated[datetime | None, Stamp("updated"), Field(default=None)]
"""``updated_at: UpdatedAt = None``: set by the store at every write."""


ExpiresAt = Annotated[EpochSeconds | None, Expiry(), Field(default=None)]
"""``ttl: ExpiresAt = None``: when the item expires; it is never returned once it has."""


# -- key attributes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyRule:
    """How a key attribute is made of an item: by a template, perhaps only in some states, perhaps with a shard."""

    template: Template
    # By field: the stored values of which it must have one.
    when: Mapping[str, tuple[AttributeValue, ...]] = field(default_factory=dict)
    shards: int = 1
    # The previous number of shards, while items are moving from those to the present ones.
    was: int | None = None

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
        return None if text is None else self.template.parse(text)

    def matches(self, key: str) -> bool:
        """Whether a key matches this rule."""
        text = self._without_shard(key)
        return text is not None and self.template.matches(text) is not None

    def overlaps(self, other: KeyRule) -> bool:
        """Whether a key can match both; may say so of rules where none can, as templates do."""
        return can_overlap(self._segments(), other._segments())

    def _segments(self) -> list[Segments]:
        """The segments of the template, and the shard."""
        shard = () if self.shards == 1 else (("", str(len(str(self.shards - 1)))),)
        return [(*segments, *shard) for segments in self.template.segments]

    def _without_shard(self, key: str) -> str | None:
        if self.shards == 1:
            return key
        text, separator, shard = key.rpartition(SEPARATOR)
        known = shard.isdecimal() and int(shard) < self.shards and separator + shard == self.shard_suffix(int(shard))
        return text if known else None


def when(rule: str | KeyRule, **states: Any) -> KeyRule:
    """A key attribute that items have only in a given state, for a sparse index.

        GSI4PK=when("QUEUE", status="ESCALATED")        GSI4PK=when("QUEUE", status=["NEW", "OPEN"])

    The values are those of the field; an item in another state is not in the index.
    """
    if not states:
        raise ModelError("when(...) needs a condition, such as status='ESCALATED'")
    allowed = {}
    for name, values in states.items():
        choices = values if isinstance(values, list | tuple | set | frozenset) else (values,)
        encoded = tuple(value for value in map(encode, choices) if value is not None)
        if not encoded:
            raise ModelError(f"when({name}=...) needs a value")
        allowed[name] = encoded
    return replace(_rule(rule), when=allowed)


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

    ``when`` and ``sharded`` wrap a template; a dictionary is for names that are not Python names.
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


# -- schema versions ------------------------------------------------------------------------------------------------

Values = dict[str, Any]
Step = Callable[[Values], Values]


class Upgrades:
    """The steps from the first schema version of an entity's items to the newest.

    Each step is a function that gets plain Python values by attribute name and returns those of the next version. Items
    carry their version in ``attribute``. With ``write_back`` a store stores the items that its reads had to upgrade.

        upgrades = Upgrades(split_name, cents_to_decimal, write_back=True)
    """

    def __init__(self, *steps: Step, attribute: str = "shape", write_back: bool = False) -> None:
        if not steps:
            raise ModelError(
                "Upgrades() needs at least one step: a function from the values of one schema version to "
                "those of the next"
            )
        self.steps = steps
        self.attribute = attribute
        self.write_back = write_back

    @property
    def schema_version(self) -> int:
        """The newest schema version; the first is 1."""
        return len(self.steps) + 1
