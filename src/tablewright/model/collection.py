"""Collections: several entities that share a partition, read by one query.

    class TaskWithAssignments(Collection):
        task: Task                                    required: without it there is no collection
        profile: Profile | None                       optional
        assignments: list[Assignment]                 all of them, in the order of the sort key
        history: list[Comment | Event]                a feed: of several entities, in one order

        @CollectionQuery()                                       the partition of the table
        def of_task(self, task_id: str) -> None: ...

        @CollectionQuery("GSI1", newest_first=True)              or that of an index
        def of_user(self, user_id: str) -> None: ...

    store.collect(TaskWithAssignments.of_task("t-1"))

A pattern is called with the fields of the partition key, as the first member names them. Items of other entities are
left out. A member may be read in part:

    orders: Annotated[list[Order], MemberRead(limit=5, newest_first=True)]

    @CollectionQuery()
    def of_customer(self, customer_id: str, *, orders_since: datetime | None = None) -> None: ...

Its parameters are called after it: its next sort key fields, bounds of the first one that it does not take,
``orders_limit`` and ``orders_cursor``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic.fields import FieldInfo

from tablewright.dynamo import Item
from tablewright.model.entity import Entity
from tablewright.model.errors import ModelError
from tablewright.model.keys.key_forms import Field, Literal
from tablewright.model.pattern_parameters import bounded_field, undeclared
from tablewright.model.pattern_signature import PatternSignature
from tablewright.model.patterns import BOUNDS, Pattern
from tablewright.model.schema import Schema, schema_of

# What other packages use.
__all__ = ["Member", "MemberRead"]

P = ParamSpec("P")
C = TypeVar("C", bound="Collection")


@dataclass(frozen=True, slots=True)
class MemberRead:
    """How a member of a collection is read: so many items at most, in its own order, in a range of its sort key.

    orders: Annotated[list[Order], MemberRead(limit=5, newest_first=True)]
    """

    limit: int | None = None
    newest_first: bool = False
    # The field of its sort key that the bounds are of, if the pattern takes some.
    range: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ModelError(f"MemberRead(limit={self.limit}): read at least one item")


@dataclass(frozen=True, slots=True)
class CollectionSelection(Generic[C]):
    """A collection to read: ``TaskWithAssignments.of_task("t-1")``."""

    collection: type[C]
    name: str
    index: str | None
    values: Mapping[str, Any]
    newest_first: bool
    consistent: bool
    load_large: bool = True
    # How members are read that are read in part, and what is given for them: bounds, fields, limit, cursor.
    reads: Mapping[str, MemberRead] = field(default_factory=dict)
    member_values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CollectionQuery(Pattern):
    """An access pattern that reads a collection: a partition of the table, or of an index.

        @CollectionQuery()
        def of_task(self, task_id: str) -> None: ...         store.collect(TaskWithAssignments.of_task("t-1"))

    ``expected`` is the usual number of items of a read, for estimates of cost.
    """

    index: str | None = None
    newest_first: bool = False
    consistent: bool = False
    # Whether large values that are in blobs are read as well; otherwise ``store.load`` fetches them.
    load_large: bool = True
    expected: int | None = None
    # How members are read of which not all items are; known once the members are.
    reads: Mapping[str, MemberRead] = field(default_factory=dict, init=False)

    def __call__(self, declaration: Callable[Concatenate[Any, P], None]) -> DeclaredCollectionQuery[P]:
        """Declare the pattern with a function, whose parameters are the fields of the partition key."""
        return self._declared(DeclaredCollectionQuery(), declaration)

    def _selection(self, owner: type[C], values: dict[str, Any]) -> CollectionSelection[C]:
        of_members: dict[str, dict[str, Any]] = {member: {} for member in self.reads}
        assert self.signature is not None
        for name, (member, meaning) in self.signature.of_members.items():
            if name in values:
                of_members[member][meaning] = values.pop(name)
        return CollectionSelection(
            owner,
            self.name,
            self.index,
            values,
            self.newest_first,
            self.consistent,
            self.load_large,
            self.reads,
            of_members,
        )


@dataclass(frozen=True, slots=True)
class DeclaredCollectionQuery(CollectionQuery, Generic[P]):
    """A ``CollectionQuery`` with declared parameters."""

    def __get__(self, instance: object, owner: type[C]) -> Callable[P, CollectionSelection[C]]:
        assert self.signature is not None
        return self.signature.bound(owner, CollectionSelection, self._bound)

    def _bound(self, owner: type[C], _: PatternSignature) -> Callable[[dict[str, Any]], CollectionSelection[C]]:
        pattern = owner.patterns_.get(self.name, self)

        def gather(values: dict[str, Any]) -> CollectionSelection[C]:
            return pattern._selection(owner, values)

        return gather


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a collection: its entity, and whether it is a list, or optional."""

    name: str
    schema: Schema
    many: bool
    optional: bool
    # Of a list of several entities, the others.
    others: tuple[Schema, ...] = ()
    # How it is read, if not all of its items are.
    read: MemberRead | None = None

    @property
    def schemas(self) -> tuple[Schema, ...]:
        return (self.schema, *self.others)

    def kind_of(self, item: Item) -> Schema | None:
        """The schema of an item that belongs to this member."""
        return next((kind for schema in self.schemas if (kind := schema.kind_of(item)) is not None), None)


def _decoded(schema: Schema[Entity], item: Item) -> Entity:
    return schema.decode(item)


class Collection(BaseModel):
    """The base class of collections; the type of each member says how many items of its entity there are.

        class Case(Collection):
            ticket: Ticket                     required
            feedback: Feedback | None          optional
            events: list[Event]                all of them, in the order of the sort key

            @CollectionQuery()
            def of_ticket(self, ticket_id: str) -> None: ...

    ``store.collect(Case.of_ticket("t-1"))`` reads one, or None if a required member is missing.
    """

    model_config = ConfigDict(ignored_types=(CollectionQuery,), extra="forbid", revalidate_instances="never")

    members_: ClassVar[tuple[Member, ...]]
    # What the store compiles from the access patterns; kept here, so that it lives as long as the collection.
    query_templates_: ClassVar[dict[Any, Any]]
    patterns_: ClassVar[Mapping[str, CollectionQuery]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if not cls.model_fields:
            raise ModelError(f"{cls.__name__} has no members; declare at least one, such as `task: Task`")
        cls.query_templates_ = {}
        cls.members_ = tuple(_member(f"{cls.__name__}.{name}", name, info) for name, info in cls.model_fields.items())
        declared = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
        cls.patterns_ = {
            name: member.for_owner() for name, member in declared.items() if isinstance(member, CollectionQuery)
        }
        by_entity: dict[type, str] = {}
        for member, schema in [(each, schema) for each in cls.members_ for schema in each.schemas]:
            other = by_entity.setdefault(schema.entity, member.name)
            if other != member.name:
                entity = schema.entity.__name__
                raise ModelError(
                    f"{cls.__name__}: {other} and {member.name} are both {entity}, and nothing says which item belongs "
                    "to which; declare one of them, and filter it"
                )
        tables = {schema.table.name for member in cls.members_ for schema in member.schemas}
        if len(tables) > 1:
            raise ModelError(
                f"{cls.__name__}: {' and '.join(sorted(tables))} are different tables; a query reads one table"
            )
        for pattern in cls.patterns_.values():
            _check(f"{cls.__name__}.{pattern.name}", cls.members_, pattern)
            if hasattr(Collection, pattern.name):
                place = f"{cls.__name__}.{pattern.name}"
                raise ModelError(f"{place}: collections have a method of that name; rename the pattern")

    # Where members that are read in part go on.
    _cursors: dict[str, str | None] = PrivateAttr(default_factory=dict)

    def cursor_of(self, member: str) -> str | None:
        """The cursor for the next items of a member that was read in part; None at the end."""
        return self._cursors.get(member)

    @classmethod
    def of(cls, items: Iterable[Item], decode: Callable[[Schema, Item], Entity] = _decoded) -> Self | None:
        """The collection that items make up; None when a required member is missing."""
        found: dict[str, list[Entity]] = {member.name: [] for member in cls.members_}
        for item in items:
            for member in cls.members_:
                kind = member.kind_of(item)
                if kind is not None:
                    found[member.name].append(decode(kind, item))
                    break
        values: dict[str, Any] = {}
        for member in cls.members_:
            entities = found[member.name]
            if not (member.many or member.optional or entities):
                return None
            values[member.name] = entities if member.many else next(iter(entities), None)
        return cls(**values)


def _member(place: str, name: str, info: FieldInfo) -> Member:
    annotation: Any = info.annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    many = origin is list
    optional = origin in (Union, UnionType) and type(None) in arguments
    if many or optional:
        annotation = next((argument for argument in arguments if argument is not type(None)), None)
    kinds = get_args(annotation) if many and get_origin(annotation) in (Union, UnionType) else (annotation,)
    if not all(isinstance(kind, type) and issubclass(kind, Entity) for kind in kinds):
        raise ModelError(f"{place} must be an entity, an entity or None, or a list of entities")
    schema, *others = map(schema_of, kinds)
    read = next((marker for marker in info.metadata if isinstance(marker, MemberRead)), None)
    if MemberRead in info.metadata:
        raise ModelError(f"{place} has the marker class MemberRead instead of an instance; write MemberRead(...)")
    if read is not None and not many:
        raise ModelError(f"{place}: MemberRead is for a list")
    return Member(name, schema, many, optional, tuple(others), read)


def _check(place: str, members: tuple[Member, ...], pattern: CollectionQuery) -> None:
    """Check that all members have the same partition key."""
    table = members[0].schema.table
    try:
        index = None if pattern.index is None else table.index(pattern.index)
    except ModelError as error:
        raise ModelError(f"{place}: {error}") from None
    if index is not None and index.is_global and pattern.consistent:
        raise ModelError(
            f"{place}: a global index does not support consistent reads; read the table's partition, or remove "
            "consistent=True"
        )
    partitions = {}
    for schema in [schema for member in members for schema in member.schemas]:
        if index is not None and not schema.covers(index):
            raise ModelError(f"{place}: {schema.entity.__name__} is never in index {index.name!r}")
        partition: list[tuple[str | Literal, ...]] = []
        for attribute in (table.partition,) if index is None else index.partition:
            rule = schema.key_rules.get(attribute)
            if rule is not None and rule.is_spread:
                raise ModelError(
                    f"{place}: {attribute} is sharded, so no single partition has all members; use a key "
                    "that is not sharded"
                )
            if attribute == table.type_attribute:
                partition.append((Literal(schema.type_name),))
                continue
            if rule is not None and rule.others:
                raise ModelError(
                    f"{place}: {attribute} has several templates, so that members are in several partitions"
                )
            parts = () if rule is None else rule.template.parts + rule.template.optional
            partition.append(tuple(part.form if isinstance(part, Field) else part for part in parts))
        partitions[schema.entity.__name__] = tuple(partition)
    if len(set(partitions.values())) > 1:
        raise ModelError(
            f"{place}: {', '.join(partitions)} are in different partitions; give them the same template for the "
            "partition key"
        )
    taken = _settle_reads(place, members, pattern, table.key[1:] if index is None else index.sort)
    _check_parameters(place, members[0].schema, pattern, table.key[:1] if index is None else index.partition, taken)


def _settle_reads(
    place: str, members: tuple[Member, ...], pattern: CollectionQuery, sort: tuple[str, ...]
) -> dict[str, tuple[str, str]]:
    """Check how members are read in part; returns the parameters that a pattern may take for them: what of which."""
    taken: dict[str, tuple[str, str]] = {}
    declared = () if pattern.signature is None else pattern.signature.names
    reads: dict[str, MemberRead] = {}
    # Of names that begin alike, the longest is meant.
    for member in sorted(members, key=lambda each: -len(each.name)):
        if member.read is None:
            continue
        name, schema = member.name, member.schema
        rules = [schema.key_rules.get(attribute) for attribute in sort]
        paths = [
            path
            for attribute, rule in zip(sort, rules, strict=True)
            for path in ([attribute] if rule is None else [part.name for part in rule.fields])
        ]
        of_one = () if member.others else (*schema.parameters(paths), *BOUNDS)
        possible = {f"{name}_{each}": (name, each) for each in (*of_one, "limit", "cursor")}
        for bound in (each for each in BOUNDS if member.others and f"{name}_{each}" in declared):
            raise ModelError(
                f"{place} takes {name}_{bound}, and {name} is a list of several entities, which is read from one end; "
                f"take {name}_limit and {name}_cursor, or declare a list of each entity"
            )
        own = [possible[each][1] for each in declared if each in possible and each not in taken]
        reads[name] = copy(member.read)
        bounded = bounded_field(f"{place}, {name}", own, (), [schema.field_path(path) for path in paths])
        object.__setattr__(reads[name], "range", bounded)
        taken = {**possible, **taken}
    pattern.settle(reads=reads)
    return taken


def _check_parameters(
    place: str,
    schema: Schema,
    pattern: CollectionQuery,
    partition: tuple[str, ...],
    of_members: dict[str, tuple[str, str]],
) -> None:
    """Check the declared parameters against the partition key, as the first member names its fields."""
    needed: list[str] = []
    for attribute in partition:
        rule = schema.key_rules.get(attribute)
        paths = [attribute] if rule is None else [field.name for field in rule.template.fields]
        needed += schema.parameters(path for path in paths if path != schema.table.type_attribute)
    taken, signature = ", ".join(["self", *needed]), pattern.signature
    if signature is None:
        raise undeclared(place, pattern, taken)
    signature.of_members = {
        name: of_members[name] for name in signature.names if name in of_members and name not in needed
    }
    further = frozenset(signature.of_members)
    names = frozenset(signature.names) - further
    if signature.required - further != frozenset(needed) or names != frozenset(needed):
        raise ModelError(f"{place} takes the fields of the partition key; declare it as {place}({taken})")
