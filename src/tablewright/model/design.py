"""A whole design: tables, what is written to them and how often, who may do what, and what a write causes.

    design = Design(
        "Calls",
        tables=[calls],
        writes=[
            Write("book", ItemWrite(Call, "create")),
            Write("reschedule", ItemWrite(Call, "delete"), ItemWrite(Call, "create")),
            Write("complete", ItemWrite(Call, "update", sets=[Call.status])),
        ],
        roles={"api": ["Call.by_id", "Call.upcoming", "book", "reschedule", "complete"]},
        volume={Call: Volume(items=1_000_000, size=400)},
        traffic={"Call.upcoming": Traffic(per_second=40, peak=200), "book": Traffic(per_second=2)},
    )

Entities and patterns declare how data is stored and read; a design adds the rest of a design document. Nothing here
changes what a store does. Lint checks it, documents print it, policies and costs are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, get_args

from tablewright.dynamo import Item
from tablewright.model.collection import Collection, CollectionQuery
from tablewright.model.entity import Entity
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import FieldPath, path_of
from tablewright.model.keys.key_template import Template
from tablewright.model.patterns import Get, Lookup, Query, Selection
from tablewright.model.schema import Schema, schemas_of
from tablewright.model.table import Table

# Far beyond what anybody has; a larger figure is a mistake, and would make all that is computed from it useless.
_MAX_PER_SECOND = 10**9
_MAX_ITEMS = 10**15
_MAX_BYTES = 10**9

Action = Literal["create", "put", "update", "delete"]
Event = Literal["INSERT", "MODIFY", "REMOVE"]
Effect = Literal["count", "publish", "notify", "export", "index"]
Source = Literal["stream", "writer"]

# Fields of a class, such as [Ticket.status, Ticket.address.city]: to a type checker, values of any type.
Fields = list[Any] | tuple[Any, ...]

# An access pattern, and what it is of.
Pattern = tuple[Schema | type[Collection], Get | Query | CollectionQuery]


def _paths(fields: Fields, entity: type[Entity], place: str) -> tuple[str, ...]:
    if not isinstance(fields, list | tuple):
        raise ModelError(f"{place} takes a list of fields, such as [{entity.__name__}.some_field]")
    paths = tuple(path_of(field, entity, place) for field in fields)
    for path in paths:
        entity.schema_.locate(path, place)
    return paths


def _check_figure(place: str, figure: object, most: int, *, whole: bool = False) -> None:
    """Check a figure: a number that is not negative and not absurdly large."""
    kinds = (int,) if whole else (int, float)
    if isinstance(figure, bool) or not isinstance(figure, kinds) or not 0 <= figure <= most:
        number = "a whole number" if whole else "a number"
        raise ModelError(f"{place} is {number} from 0 to {most:,}, not {figure!r}")


@dataclass(frozen=True, slots=True, init=False)
class ItemWrite:
    """What a write does to one item, or to several items of the same entity.

        ItemWrite(Call, "update", sets=[Call.status])     ItemWrite(Event, "put", count=25, conditional=False)

    ``sets``, ``adds`` and ``appends`` are the fields that an update changes; of a create or a put, ``sets`` are those
    that a new item has although their default is None.
    """

    entity: type[Entity]
    action: Action
    # The paths of fields that an update sets, of numbers and sets that it adds to, and of lists that it appends to.
    sets: tuple[str, ...]
    adds: tuple[str, ...]
    appends: tuple[str, ...]
    # Whether the item has to exist (update, delete) or must not (create); a store's writes always have that condition.
    conditional: bool
    # The largest number of such items.
    count: int
    # Key attributes that a writer composes by hand, as templates; a store derives them instead.
    keys: Mapping[str, str]

    def __init__(
        self,
        entity: type[Entity],
        action: Action,
        sets: Fields = (),
        adds: Fields = (),
        appends: Fields = (),
        *,
        conditional: bool = True,
        count: int = 1,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        place = f"ItemWrite({entity.__name__}, {action!r})"
        if action not in get_args(Action):
            raise ModelError(f"{place}: an action is one of {', '.join(get_args(Action))}")
        values: dict[str, Any] = {
            "entity": entity,
            "action": action,
            "sets": _paths(sets, entity, f"{place}: sets"),
            "adds": _paths(adds, entity, f"{place}: adds"),
            "appends": _paths(appends, entity, f"{place}: appends"),
            "conditional": conditional,
            "count": count,
            "keys": dict(keys or {}),
        }
        for member, value in values.items():
            object.__setattr__(self, member, value)

    @property
    def changed(self) -> tuple[str, ...]:
        """All fields that an update changes."""
        return (*self.sets, *self.adds, *self.appends)


@dataclass(frozen=True, slots=True, init=False)
class Write:
    """A named write: of one item, of several in one transaction, or of many in batches.

        Write("reschedule", ItemWrite(Call, "delete"), ItemWrite(Call, "create"), reads=[Call.by_id])

    It is named in roles and in traffic, and ``store.transact`` or ``store.write_many`` runs it. ``reads`` are the
    patterns that its caller reads to make it, consistently where the key allows that: what it is based on, and what is
    read again after it. What the store itself has to read is known, and not listed.
    """

    name: str
    item_writes: tuple[ItemWrite, ...]
    # Entities whose items it has conditions on, and does not change (``Check``, ``Absent``).
    checks: tuple[type[Entity], ...]
    # The access patterns that are read with it, by name; one that is read twice is there twice.
    reads: tuple[str, ...]
    # The largest number of retries; None is for writers without a limit, which a store never is.
    retries: int | None
    about: str

    def __init__(
        self,
        name: str,
        *item_writes: ItemWrite,
        checks: Sequence[type[Entity]] = (),
        reads: Sequence[Callable[..., Lookup[Any] | Selection[Any]]] = (),
        retries: int | None = 5,
        about: str = "",
    ) -> None:
        if not item_writes:
            raise ModelError(f"write {name!r} writes no items; list what it does, such as ItemWrite(Call, 'create')")
        values = {
            "name": name,
            "item_writes": item_writes,
            "checks": tuple(checks),
            "reads": tuple(read.__qualname__ for read in reads),
            "retries": retries,
            "about": about,
        }
        for member, value in values.items():
            object.__setattr__(self, member, value)

    @property
    def is_batch(self) -> bool:
        """Whether it is many puts and deletes without conditions, each on its own: ``store.write_many``."""
        return (
            not self.checks
            and all(
                item_write.action in ("put", "delete") and not item_write.conditional for item_write in self.item_writes
            )
            and any(item_write.count > 1 for item_write in self.item_writes)
            and all(item_write.entity.schema_.batch_obstacle() is None for item_write in self.item_writes)
        )


@dataclass(frozen=True, slots=True, init=False)
class RequiredRead:
    """A read that the application needs, and the fields that are known then; lint looks for a key that serves it.

        RequiredRead("calls of a day", Call, by=[Call.scheduled_for])

    It is documented and checked by lint, but never executed.
    """

    name: str
    entity: type[Entity]
    by: tuple[str, ...]

    def __init__(self, name: str, entity: type[Entity], by: Fields) -> None:
        paths = _paths(by, entity, f"RequiredRead({name!r}): by")
        for member, value in (("name", name), ("entity", entity), ("by", paths)):
            object.__setattr__(self, member, value)


@dataclass(frozen=True, slots=True)
class Reaction:
    """What happens because of a write: a counter, an event, a mail, an export.

        Reaction("call_booked", Call, events=frozenset(["INSERT"]), effect="notify")

    ``events`` are those of the stream record: INSERT, MODIFY, REMOVE; by default all of them.
    """

    name: str
    entity: type[Entity]
    events: frozenset[Event] = frozenset(["INSERT", "MODIFY", "REMOVE"])
    effect: Effect = "publish"
    # Whether the table's stream causes it, or the writer itself.
    source: Source = "stream"
    # Whether a stream record that is delivered twice has its effect once.
    once: bool = True
    # The consumer that it belongs to: all its reactions have one policy. Without it, all reactions to a table do.
    consumer: str | None = None
    # The write that it makes, by name: one for each change, in a transaction with the consumer's checkpoint.
    write: str | None = None

    def __post_init__(self) -> None:
        place = f"reaction {self.name!r}"
        if self.write is not None and self.source != "stream":
            raise ModelError(f"{place}: only a reaction to the stream has a write of its own; omit write")
        if not self.events:
            raise ModelError(f"{place} has no events; name at least one, or omit events to react to all of them")
        events = [("an event", event, Event) for event in sorted(self.events)]
        for what, value, choice in (*events, ("an effect", self.effect, Effect), ("a source", self.source, Source)):
            if value not in get_args(choice):
                raise ModelError(f"{place}: {what} is one of {', '.join(get_args(choice))}, not {value!r}")


@dataclass(frozen=True, slots=True)
class Traffic:
    """How often a pattern or a write is used: a second on average, and at the peak."""

    per_second: float
    peak: float | None = None
    # The share of the traffic that the busiest partition key gets.
    hottest: float | None = None

    def __post_init__(self) -> None:
        _check_figure("Traffic(per_second=...)", self.per_second, _MAX_PER_SECOND)
        if self.peak is not None:
            _check_figure("Traffic(peak=...)", self.peak, _MAX_PER_SECOND)
            if self.peak < self.per_second:
                raise ModelError(
                    f"the peak cannot be less than the average: {self.peak} is less than {self.per_second}"
                )
        if self.hottest is not None:
            _check_figure("Traffic(hottest=...)", self.hottest, 1)


@dataclass(frozen=True, slots=True)
class Volume:
    """How many items of an entity there are, and their average size in bytes."""

    items: int
    size: int
    # The number of distinct values of a partition key, by attribute ("PK", "GSI1PK"); by default, many.
    distinct: Mapping[str, int] = field(default_factory=dict)
    # How many of the items an index has, by its name; by default all, or the share of the states that it is for.
    indexed: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, number in self.indexed.items():
            _check_figure(f"Volume(indexed={{{name!r}: ...}})", number, self.items, whole=True)
        _check_figure("Volume(items=...)", self.items, _MAX_ITEMS, whole=True)
        _check_figure("Volume(size=...)", self.size, _MAX_BYTES, whole=True)
        for attribute, number in self.distinct.items():
            place = f"Volume(distinct={{{attribute!r}: ...}})"
            _check_figure(place, number, _MAX_ITEMS, whole=True)
            if number == 0:
                raise ModelError(f"{place} must be at least 1; omit it if it is not known")


@dataclass(frozen=True, slots=True)
class CostClaim:
    """A cost figure that a document states, to be checked against the design."""

    about: str
    # The pattern or write that it is about, and the read or write units that the document states.
    subject: str | None = None
    units: float | None = None
    # The prices that it uses, in dollars: for a million on-demand requests, and for a provisioned unit and hour.
    write_price: float | None = None
    read_price: float | None = None
    write_hour_price: float | None = None
    read_hour_price: float | None = None
    # When those prices were read.
    as_of: date | None = None

    def __post_init__(self) -> None:
        for name in ("units", "write_price", "read_price", "write_hour_price", "read_hour_price"):
            figure = getattr(self, name)
            if figure is not None:
                _check_figure(f"CostClaim({name}=...)", figure, _MAX_PER_SECOND)


@dataclass(frozen=True, slots=True)
class AcceptedFinding:
    """A finding of lint that is accepted, and the reason."""

    rule: str
    place: str
    reason: str


class Design:
    """A whole design: what ``tablewright lint``, ``docs``, ``iam``, ``infra`` and ``plan`` work on."""

    def __init__(
        self,
        name: str,
        *,
        tables: Sequence[Table],
        internal_tables: Sequence[Table] = (),
        collections: Sequence[type[Collection]] = (),
        writes: Sequence[Write] = (),
        required_reads: Sequence[RequiredRead] = (),
        reactions: Sequence[Reaction] = (),
        roles: Mapping[str, Sequence[str]] | None = None,
        tenants: Mapping[str, object] | None = None,
        volume: Mapping[type[Entity], Volume] | None = None,
        traffic: Mapping[str, Traffic] | None = None,
        claims: Sequence[CostClaim] = (),
        accepted: Sequence[AcceptedFinding] = (),
        about: str = "",
        author: str = "",
        sample_items: Mapping[Table, Sequence[Item]] | None = None,
    ) -> None:
        self.name = name
        self.tables = tuple(tables)
        # What the runtime needs beside them: created and granted with the others, and perhaps shared by designs.
        self.internal_tables = tuple(internal_tables)
        self.collections = tuple(collections)
        self.writes = {write.name: write for write in writes}
        self.required_reads = tuple(required_reads)
        self.reactions = tuple(reactions)
        self.roles = dict(roles or {})
        # The roles that are limited to the items of their own tenant, each with the field that identifies it.
        self.tenants = {role: _tenant_field(name, role, field) for role, field in (tenants or {}).items()}
        self.volume = dict(volume or {})
        self.traffic = dict(traffic or {})
        self.claims = tuple(claims)
        self.accepted = tuple(accepted)
        self.about = about
        self.author = author
        # Items that documents for other tools show, instead of made-up ones.
        self.sample_items = {whose: list(items) for whose, items in (sample_items or {}).items()}
        for whose in self.sample_items:
            if whose not in self.tables:
                raise ModelError(f"{name}: sample items are given for {whose.name!r}, which is not one of its tables")
        kept = [table.name for table in self.all_tables]
        for table in kept:
            if kept.count(table) > 1:
                raise ModelError(
                    f"{name} has two tables named {table!r}, and names must be unique; declare their entities with one "
                    "Table, or rename one of them"
                )
        for write in writes:
            if write is not self.writes[write.name]:
                raise ModelError(f"{name} has two writes named {write.name!r}; rename one")
        for role, names in self.roles.items():
            if isinstance(names, str):
                raise ModelError(f"{name}, role {role!r} takes a list of names: [{names!r}]")
        self._check()

    @property
    def all_tables(self) -> tuple[Table, ...]:
        """Its own tables and the internal ones."""
        return (*self.tables, *self.internal_tables)

    @property
    def schemas(self) -> Iterator[Schema]:
        """Every entity of every table, compiled, in the order of declaration."""
        for table in self.tables:
            yield from schemas_of(table)

    @property
    def patterns(self) -> dict[str, Pattern]:
        """Every access pattern, by its name ``Entity.pattern``, with its entity or collection."""
        found = _patterns(self.tables)
        for collection in self.collections:
            for name, gather in collection.patterns_.items():
                found[f"{collection.__name__}.{name}"] = collection, gather
        return found

    @property
    def granted_patterns(self) -> dict[str, Pattern]:
        """What a role may name: its patterns, and those of internal tables."""
        return {**_patterns(self.internal_tables), **self.patterns}

    def _check(self) -> None:
        known = {*self.patterns, *self.writes}
        granted = {*self.granted_patterns, *self.writes}
        for role in self.tenants:
            if role not in self.roles:
                raise ModelError(f"{self.name}, tenants: there is no role {role!r}; declare it in roles")
        for reaction in self.reactions:
            if reaction.write is not None and reaction.write not in self.writes:
                raise ModelError(
                    f"{self.name}, reaction {reaction.name!r}: unknown write {reaction.write!r}; it must be one "
                    f"of {', '.join(sorted(self.writes))}"
                )
        used = [(f"role {role!r}", name) for role, names in self.roles.items() for name in names]
        used += [("traffic", name) for name in self.traffic]
        used += [("a claim", claim.subject) for claim in self.claims if claim.subject is not None]
        used += [(f"reads of {write.name!r}", name) for write in self.writes.values() for name in write.reads]
        for place, name in used:
            if name not in (granted if place.startswith(("role ", "reads ")) else known):
                raise ModelError(
                    f"{self.name}, {place}: unknown pattern or write {name!r}; it must be one of "
                    + ", ".join(sorted(known))
                )
        declared = {schema.entity for table in self.all_tables for schema in schemas_of(table)}
        touched = [
            (write.name, item_write.entity) for write in self.writes.values() for item_write in write.item_writes
        ]
        touched += [(write.name, entity) for write in self.writes.values() for entity in write.checks]
        touched += [(read.name, read.entity) for read in self.required_reads]
        touched += [(reaction.name, reaction.entity) for reaction in self.reactions]
        touched += [("volume", entity) for entity in self.volume]
        for place, entity in touched:
            if entity not in declared:
                raise ModelError(
                    f"{self.name}, {place}: {entity.__name__} is in none of the tables of the design; add its table"
                )
        for entity, volume in self.volume.items():
            table = entity.schema_.table
            names = [index.name for index in table.indexes]
            for index in volume.indexed:
                if index not in names:
                    raise ModelError(
                        f"{self.name}, volume of {entity.__name__}: table {table.name!r} has no index {index!r}; "
                        f"it has {', '.join(names) or 'none'}"
                    )
            partitions = [table.partition, *(part for index in table.indexes for part in index.partition)]
            for attribute in volume.distinct:
                if attribute not in partitions:
                    raise ModelError(
                        f"{self.name}, volume of {entity.__name__}: {attribute} is not a partition key of table "
                        f"{table.name!r}; partition keys are {', '.join(dict.fromkeys(partitions))}"
                    )
        for write in self.writes.values():
            for item_write in write.item_writes:
                _check_item_write(f"{self.name}, {write.name}", item_write)


def _patterns(tables: Sequence[Table]) -> dict[str, Pattern]:
    return {
        pattern.place(schema.entity): (schema, pattern)
        for table in tables
        for schema in schemas_of(table)
        for pattern in schema.patterns.values()
    }


def _tenant_field(design: str, role: str, field: object) -> str:
    """The name of the field that identifies tenants; that of one entity stands for those of all."""
    if not isinstance(field, FieldPath):
        raise ModelError(f"{design}, tenants: {role!r} takes a field of an entity, such as Order.tenant, not {field!r}")
    return path_of(field, field._entity, f"{design}, tenants: {role!r}")


def _check_item_write(place: str, item_write: ItemWrite) -> None:
    schema = item_write.entity.schema_
    for attribute, template in item_write.keys.items():
        if attribute not in schema.table.key_attributes:
            raise ModelError(
                f"{place}: {attribute} is not a key attribute of table {schema.table.name!r}; "
                f"key attributes are {', '.join(schema.table.key_attributes)}"
            )
        Template(template)
    _check_figure(f"{place}: count", item_write.count, _MAX_ITEMS, whole=True)
    if item_write.count == 0:
        raise ModelError(f"{place}: count is the largest number of items that are written, so it must be at least 1")
