"""Collections: several entities that share a partition, read by one query.

    class TaskWithAssignments(Collection):
        task: Task                                    required: without it there is no collection
        profile: Profile | None                       optional
        assignments: list[Assignment]                 all of them, in the order of the sort key

        @CollectionQuery()                                       the partition of the table
        def of_task(self, task_id: str) -> None: ...

        @CollectionQuery("GSI1", newest_first=True)              or that of an index
        def of_user(self, user_id: str) -> None: ...

    store.collect(TaskWithAssignments.of_task("t-1"))

A pattern is called with the fields of the partition key, as the first member names them. Items of other entities are
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from tablewright.dynamo import Item
from tablewright.model.entity import Entity
from tablewright.model.errors import ModelError
from tablewright.model.keys.key_forms import Field, Literal
from tablewright.model.pattern_parameters import undeclared
from tablewright.model.pattern_signature import PatternSignature
from tablewright.model.patterns import Pattern
from tablewright.model.schema import Schema, schema_of

P = ParamSpec("P")
C = TypeVar("C", bound="Collection")


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

    def __call__(self, declaration: Callable[Concatenate[Any, P], None]) -> DeclaredCollectionQuery[P]:
        """Declare the pattern with a function, whose parameters are the fields of the partition key."""
        return self._declared(DeclaredCollectionQuery(), declaration)


@dataclass(frozen=True, slots=True)
class DeclaredCollectionQuery(CollectionQuery, Generic[P]):
    """A ``CollectionQuery`` with declared parameters."""

    def __get__(self, instance: object, owner: type[C]) -> Callable[P, CollectionSelection[C]]:
        assert self.signature is not None
        return self.signature.bound(owner, self._bound)

    def _bound(self, owner: type[C], _: PatternSignature) -> Callable[[dict[str, Any]], CollectionSelection[C]]:
        def gather(values: dict[str, Any]) -> CollectionSelection[C]:
            return CollectionSelection(
                owner, self.name, self.index, values, self.newest_first, self.consistent, self.load_large
            )

        return gather


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a collection: its entity, and whether it is a list, or optional."""

    name: str
    schema: Schema
    many: bool
    optional: bool


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
        cls.patterns_ = {name: member for name, member in vars(cls).items() if isinstance(member, CollectionQuery)}
        by_entity: dict[type, str] = {}
        for member in cls.members_:
            other = by_entity.setdefault(member.schema.entity, member.name)
            if other != member.name:
                entity = member.schema.entity.__name__
                raise ModelError(
                    f"{cls.__name__}: {other} and {member.name} are both {entity}, and nothing says which item belongs "
                    "to which; declare one of them, and filter it"
                )
        tables = {member.schema.table.name for member in cls.members_}
        if len(tables) > 1:
            raise ModelError(
                f"{cls.__name__}: {' and '.join(sorted(tables))} are different tables; a query reads one table"
            )
        for pattern in cls.patterns_.values():
            _check(f"{cls.__name__}.{pattern.name}", cls.members_, pattern)
            if hasattr(Collection, pattern.name):
                place = f"{cls.__name__}.{pattern.name}"
                raise ModelError(f"{place}: collections have a method of that name; rename the pattern")

    @classmethod
    def of(cls, items: Iterable[Item], decode: Callable[[Schema, Item], Entity] = _decoded) -> Self | None:
        """The collection that items make up; None when a required member is missing."""
        found: dict[str, list[Entity]] = {member.name: [] for member in cls.members_}
        for item in items:
            member = next((member for member in cls.members_ if member.schema.matches(item)), None)
            if member is not None:
                found[member.name].append(decode(member.schema, item))
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
    if not (isinstance(annotation, type) and issubclass(annotation, Entity)):
        raise ModelError(f"{place} must be an entity, an entity or None, or a list of one type of entity")
    return Member(name, schema_of(annotation), many, optional)


def _check(place: str, members: tuple[Member, ...], pattern: CollectionQuery) -> None:
    """Check that all members have the same partition key."""
    table = members[0].schema.table
    try:
        index = None if pattern.index is None else table.index(pattern.index)
    except ModelError as error:
        raise ModelError(f"{place}: {error}") from None
    if index is not None and index.is_global and pattern.consistent:
        raise ModelError(
            f"{place}: a global index has no consistent reads; read the table's partition, or remove consistent=True"
        )
    partitions = {}
    for member in members:
        if index is not None and not member.schema.covers(index):
            raise ModelError(f"{place}: {member.schema.entity.__name__} is never in index {index.name!r}")
        partition: list[tuple[str | Literal, ...]] = []
        for attribute in (table.partition,) if index is None else index.partition:
            rule = member.schema.key_rules.get(attribute)
            if rule is not None and rule.is_spread:
                raise ModelError(
                    f"{place}: {attribute} is sharded, so no single partition has all members; use a key "
                    "that is not sharded"
                )
            if attribute == table.type_attribute:
                partition.append((Literal(member.schema.type_name),))
                continue
            if rule is not None and rule.others:
                raise ModelError(
                    f"{place}: {attribute} has several templates, so that members are in several partitions"
                )
            parts = () if rule is None else rule.template.parts + rule.template.optional
            partition.append(tuple(part.form if isinstance(part, Field) else part for part in parts))
        partitions[member.schema.entity.__name__] = tuple(partition)
    if len(set(partitions.values())) > 1:
        raise ModelError(
            f"{place}: {', '.join(partitions)} are in different partitions; give them the same template for the "
            "partition key"
        )
    _check_parameters(place, members[0].schema, pattern, table.key[:1] if index is None else index.partition)


def _check_parameters(place: str, schema: Schema, pattern: CollectionQuery, partition: tuple[str, ...]) -> None:
    """Check the declared parameters against the partition key, as the first member names its fields."""
    needed: list[str] = []
    for attribute in partition:
        rule = schema.key_rules.get(attribute)
        paths = [attribute] if rule is None else [field.name for field in rule.template.fields]
        needed += schema.parameters(path for path in paths if path != schema.table.type_attribute)
    taken, signature = ", ".join(["self", *needed]), pattern.signature
    if signature is None:
        raise undeclared(place, pattern, taken)
    if signature.required != frozenset(needed) or len(signature.names) > len(signature.required):
        raise ModelError(f"{place} takes the fields of the partition key; declare it as {place}({taken})")
