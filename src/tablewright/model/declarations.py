"""What a declaration says beyond names and types.

Markers on fields, in ``Annotated``:

    call_id:  Annotated[str, Unique()]                                 no two items have the same
    user_id:  Annotated[str, AttributeName("uid")]                              the attribute it is stored in
    number:   Annotated[int, Numbered("ticket_id")] = 0                1, 2, 3, ... for each ticket, without gaps
    body:     Annotated[str, Large()] = ""                             kept elsewhere once the item is large
    version:  Version = 0                                              optimistic lock
    created_at: CreatedAt = None      updated_at: UpdatedAt = None     set by the store
    ttl:      Annotated[ExpiresAt, Expiry(timedelta(hours=24))] = None when the item is gone; by default, a day from now

Rules for key attributes: ``keys = Keys(PK="TICKET#{ticket_id}", GSI4PK=when("QUEUE", status="ESCALATED"))``, and
``sharded("STATUS#{status}", 8)`` for a partition that would get too hot; ``sharded("STATUS#{status}", 16, was=8)``
while its items are spread anew.

Older shapes: ``upgrades = Upgrades(one_to_two, two_to_three)``; each step takes the values of a stored item, by
attribute, and gives those of the next shape. Items say which shape they have; one that says nothing has the first.
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
from tablewright.model.errors import ModelError, TemplateError
from tablewright.model.keys.key_template import SEPARATOR, Segments, Template, meet
from tablewright.model.values.attribute_codec import EpochSeconds, encode

# -- markers on fields ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttributeName:
    """The attribute that a field is stored in, where the naming rule does not give it."""

    name: str


@dataclass(frozen=True, slots=True)
class Unique:
    """No two items of the entity may have the same value; held by a guard item in the same transaction."""


@dataclass(frozen=True, slots=True)
class VersionMarker:
    """The optimistic lock: counted up by every write, and checked by it."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time that the store sets: when the item was ``created``, or ``updated`` last."""

    event: str

    def __post_init__(self) -> None:
        if self.event not in ("created", "updated"):
            raise ModelError(f"Stamp({self.event!r}): an item is stamped when it is 'created' or 'updated'")


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time to live; ``after`` is its default, counted from the write."""

    after: timedelta | None = None

    def __post_init__(self) -> None:
        if self.after is not None and self.after < timedelta(seconds=1):
            raise ModelError(f"Expiry({self.after!r}): the item would be gone at once; give it a second or more")


@dataclass(frozen=True, slots=True)
class Numbered:
    """A number that the store gives at creation: 1, 2, 3, ... among the items that agree in the fields ``per``.

    Counted by an item of its own in the same transaction, so there are neither gaps nor two of one number.
    """

    per: tuple[str, ...]

    def __init__(self, *per: str) -> None:
        object.__setattr__(self, "per", per)


# The attribute in which the store keeps where an item's large values are, when they are not in it.
BLOB_REFERENCES = "~outside"


@dataclass(frozen=True, slots=True)
class Large:
    """A value that is kept outside of the table when the item would be larger than ``threshold`` bytes with it."""

    threshold: int = 350 * 1024

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 400 * 1024:
            raise ModelError(f"Large({self.threshold}): an item has at most 400 KB; choose a threshold below that")


Version = Annotated[int, VersionMarker(), Field(default=0)]
"""``version: Version = 0``: the loser of a race gets a conflict, and nothing is overwritten."""

CreatedAt = Annotated[datetime | None, Stamp("created"), Field(default=None)]
"""``created_at: CreatedAt = None``: set by the store when the item is created."""

UpdatedAt = Annotated[datetime | None, Stamp("updated"), Field(default=None)]
"""``updated_at: UpdatedAt = None``: set by the store at every write."""


ExpiresAt = Annotated[EpochSeconds | None, Expiry(), Field(default=None)]
"""``ttl: ExpiresAt = None``: when the item expires; it is never returned once it has."""


# -- rules for key attributes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyRule:
    """How a key attribute follows from an item: a template, perhaps in some states only, perhaps spread over shards."""

    template: Template
    # Field to the stored values that it must have one of.
    when: Mapping[str, tuple[AttributeValue, ...]] = field(default_factory=dict)
    shards: int = 1
    # The number of shards that there were before, while items are moving from those to the present ones.
    was: int | None = None

    @property
    def is_spread(self) -> bool:
        """Whether a partition is to be read from several."""
        return self.shards > 1 or self.was is not None

    def shard_suffix(self, shard: int) -> str:
        return _suffix(shard, self.shards)

    @property
    def suffixes(self) -> tuple[tuple[str, ...], ...]:
        """What keys end in: in the shards that items may still be in, then in those that they go to."""
        numbers = [self.shards] if self.was is None else [self.was, self.shards]
        return tuple(tuple(_suffix(shard, shards) for shard in range(shards)) for shards in numbers)

    def parse(self, key: str) -> dict[str, AttributeValue] | None:
        """The values in a key, whichever shard it is in; None when it is no key of this rule."""
        text = self._without_shard(key)
        return None if text is None else self.template.parse(text)

    def matches(self, key: str) -> bool:
        """Whether a key is one of this rule."""
        text = self._without_shard(key)
        return text is not None and self.template.matches(text) is not None

    def overlaps(self, other: KeyRule) -> bool:
        """Whether some text can be a key of both. Errs on the safe side, as templates do."""
        return meet(self._segments(), other._segments())

    def _segments(self) -> list[Segments]:
        """Those of the template, and the shard."""
        shard = () if self.shards == 1 else (("", str(len(str(self.shards - 1)))),)
        return [(*segments, *shard) for segments in self.template.segments]

    def _without_shard(self, key: str) -> str | None:
        if self.shards == 1:
            return key
        text, separator, shard = key.rpartition(SEPARATOR)
        known = shard.isdecimal() and int(shard) < self.shards and separator + shard == self.shard_suffix(int(shard))
        return text if known else None


def when(rule: str | KeyRule, **states: Any) -> KeyRule:
    """A key attribute that is there only in a given state: ``when("QUEUE", status="ESCALATED")``."""
    if not states:
        raise ModelError("when(...) needs a state, such as status='ESCALATED'")
    allowed = {}
    for name, values in states.items():
        choices = values if isinstance(values, list | tuple | set | frozenset) else (values,)
        encoded = tuple(value for value in map(encode, choices) if value is not None)
        if not encoded:
            raise ModelError(f"when({name}=...) needs a value")
        allowed[name] = encoded
    return replace(_rule(rule), when=allowed)


def sharded(rule: str | KeyRule, shards: int, *, was: int | None = None) -> KeyRule:
    """A partition key spread over so many partitions; reads merge them again.

    ``was`` is the number that there were before, 1 for a key that was not sharded: writes go by the new number, and
    reads look at the shards of both, until ``repair`` has moved everything.
    """
    if shards < (2 if was is None else 1):
        raise ModelError("a sharded key has at least 2 shards")
    if was is not None and (was < 1 or was == shards):
        raise ModelError(f"sharded(..., {shards}, was={was}): say how many shards there were before; 1 for none")
    return replace(_rule(rule), shards=shards, was=was)


@lru_cache(maxsize=4096)
def _suffix(shard: int, shards: int) -> str:
    return "" if shards == 1 else f"#{shard:0{len(str(shards - 1))}d}"


def stable_shard(identity: str, shards: int) -> int:
    """The shard of an item: the same in every process, on every machine, forever."""
    return int.from_bytes(sha256(identity.encode()).digest()[:8]) % shards


def _rule(rule: str | KeyRule) -> KeyRule:
    if isinstance(rule, KeyRule):
        return rule
    if not isinstance(rule, str):
        raise TemplateError(f"{rule!r} is no rule for a key; give a template as text, when(...) or sharded(...)")
    return KeyRule(Template(rule))


class Keys(Mapping[str, KeyRule]):
    """The key attributes of an entity, each with its rule; those that are fields themselves need none."""

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


# -- older shapes ---------------------------------------------------------------------------------------------------

Values = dict[str, Any]
Step = Callable[[Values], Values]


class Upgrades:
    """The steps from the first shape of an entity's items to the present one.

    A step gets plain Python values by attribute name. With ``write_back`` a store writes what it had to upgrade.
    """

    def __init__(self, *steps: Step, attribute: str = "shape", write_back: bool = False) -> None:
        if not steps:
            raise ModelError("Upgrades() needs a step: a function from the values of one shape to those of the next")
        self.steps = steps
        self.attribute = attribute
        self.write_back = write_back

    @property
    def schema_version(self) -> int:
        """The number of the present shape; the first one is 1."""
        return len(self.steps) + 1
