"""Entities: typed classes that are stored as items of a table.

    class Call(Entity, table=calls, naming=camel_case):
        user_id: str
        call_id: Annotated[str, Unique()]
        status: CallStatus
        scheduled_for: EpochMillis
        version: Version = 0

        keys = Keys(sk="{scheduled_for:013}#{call_id}", userStatus="{user_id}#{status}")

        @Get("byCallId")
        def by_id(self, call_id: str) -> None: ...

        @Query("byUserStatus")
        def upcoming(self, user_id: str, *, since: datetime | None = None) -> FieldCondition:
            return attr(self.status) == CallStatus.SCHEDULED

Fields are pydantic's, validated when an entity is made and when an item is read. Key attributes are derived from fields
and never written by hand. Attributes of other writers are kept and written back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from tablewright.dynamo import Item
from tablewright.model.declaration_checks import check_fields, check_schema
from tablewright.model.declarations import Computed, GroupRule, Upgrades
from tablewright.model.derived.counters import attach_counters, counters_of
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import FieldPath
from tablewright.model.keys.key_rules import Keys
from tablewright.model.naming import Naming, snake_case
from tablewright.model.pattern_filters import filters_of
from tablewright.model.patterns import Get, Query
from tablewright.model.schema import Schema, schema_of
from tablewright.model.table import Table
from tablewright.model.values.pydantic_validators import accept_stored_values

# Entities that a class is being derived from: to pydantic, a path would be an attribute that a field shadows.
_extended: set[type] = set()

if TYPE_CHECKING:
    # To a type checker, Ticket.status is what its annotation says.
    _WithFieldPaths = BaseModel
else:

    class _EntityClass(type(BaseModel)):
        """The class of entity classes: ``Ticket.status`` is the path of a field, for ``attr``."""

        def __getattr__(cls, name: str) -> Any:
            schema = cls.__dict__.get("schema_")
            if schema is not None and name in schema.fields and cls not in _extended:
                path = schema.field_paths.get(name)
                if path is None:
                    path = schema.field_paths[name] = FieldPath(cls, name)
                return path
            return super().__getattr__(name)

    class _WithFieldPaths(BaseModel, metaclass=_EntityClass):
        pass


class Entity(_WithFieldPaths):
    """The base class of entities.

        class Ticket(Entity, table=tickets, naming=camel_case, type_name="TICKET"):
            ticket_id: str
            keys = Keys(PK="TICKET#{ticket_id}", SK="METADATA")

            @Get()
            def by_id(self, ticket_id: str) -> None: ...

    ``table`` is where items are stored; a class without one is a base for others. ``naming`` makes the names of
    attributes from those of fields, ``type_name`` is the value of the table's type attribute.
    """

    model_config = ConfigDict(
        ignored_types=(Keys, Get, Query, Upgrades, Computed, GroupRule), validate_assignment=True, extra="forbid"
    )

    schema_: ClassVar[Schema]
    is_retired_: ClassVar[bool] = False

    def __init_subclass__(cls, **_: Any) -> None:
        """Accepts the arguments of the class statement, which the hook below uses once the fields are known."""
        super().__init_subclass__()
        _extended.update(base for base in cls.__mro__ if "schema_" in base.__dict__)

    @classmethod
    def __pydantic_init_subclass__(
        cls, table: Table | None = None, naming: Naming = snake_case, type_name: str | None = None, **kwargs: Any
    ) -> None:
        if kwargs:
            raise ModelError(
                f"class {cls.__name__}: unknown argument {', '.join(kwargs)}; use table, naming or type_name"
            )
        super().__pydantic_init_subclass__()
        _extended.clear()
        if cls.__pydantic_complete__:
            # Only of a complete class, as nested models are adapted as well.
            accept_stored_values(cls)
        if table is not None:
            if not isinstance(table, Table):
                raise ModelError(f"class {cls.__name__}: table= takes a Table, not {table!r}")
            if not cls.__pydantic_complete__:
                raise ModelError(f"{cls.__name__} uses a type that is not defined yet; define it before the entity")
            check_fields(cls, Entity)
            schema = Schema(cls, table, naming, type_name or cls.__name__)
            # The functions of patterns use its fields.
            cls.schema_ = schema
            schema.settle_groups()
            check_schema(schema, Entity)
            counters = counters_of(schema)
            schema.filters = filters_of(schema)
            schema.join_table()
            attach_counters(schema, counters)

    @classmethod
    def of(cls, item: Item) -> Self:
        """The entity of an item: ``Ticket.of(ticket.item()) == ticket``."""
        schema: Schema[Any] = schema_of(cls)
        if schema.subtypes:
            schema = schema.kind_of(item) or schema
        entity = schema.decode(item)
        assert isinstance(entity, cls)
        return entity

    def item(self) -> Item:
        """The item of this entity, with its key attributes."""
        return schema_of(type(self)).encode(self)


class RetiredEntity(Entity):
    """The form in which an earlier version stored items; a repair turns each of them into what it ``becomes``.

        class CustomerWithAddress(RetiredEntity, table=shop, type_name="Customer"):
            customer_id: str
            name: str
            street: str

            keys = Keys(PK="CUSTOMER#{customer_id}", SK="CUSTOMER")

            def becomes(self) -> Iterable[Entity]:
                yield Customer(customer_id=self.customer_id, name=self.name)
                yield Address(customer_id=self.customer_id, street=self.street)

    A class that extends a declared entity has its table, names and fields, and becomes that entity with the same
    values, unless it says otherwise: ``class OrderBefore(RetiredEntity, Order): keys = Keys(...)`` takes items from
    old keys to new ones. Nothing is written as a retired entity, and no pattern reads it.
    """

    is_retired_: ClassVar[bool] = True

    @classmethod
    def __pydantic_init_subclass__(
        cls, table: Table | None = None, naming: Naming | None = None, type_name: str | None = None, **kwargs: Any
    ) -> None:
        successor = cls._successor()
        if successor is not None:
            # What the class statement does not say is as it is declared for the entity.
            schema = successor.schema_
            table, naming, type_name = table or schema.table, naming or schema.naming, type_name or schema.type_name
        elif table is not None and cls.becomes is RetiredEntity.becomes:
            raise ModelError(
                f"{cls.__name__} does not say what its items become; declare the method becomes, or extend the entity "
                f"that they become: class {cls.__name__}(RetiredEntity, Order)"
            )
        super().__pydantic_init_subclass__(table=table, naming=naming or snake_case, type_name=type_name, **kwargs)

    @classmethod
    def _successor(cls) -> type[Entity] | None:
        """The declared entity that the class extends."""
        return next((base for base in cls.__mro__[1:] if "schema_" in base.__dict__), None)

    def becomes(self) -> Iterable[object]:
        """The entities that replace the item; or operations of the store on others, such as an ``Update``."""
        successor = self._successor()
        assert successor is not None
        yield successor(**{name: value for name, value in self.__dict__.items() if name in successor.model_fields})
