"""Entities: typed classes that are stored as items of a table.

    class Call(Entity, table=calls, naming=camel_case):
        user_id: str
        call_id: Annotated[str, Unique()]
        status: CallStatus
        scheduled_for: EpochMillis
        version: Version = 0

        keys = Keys(sk="{scheduled_for:013}#{call_id}", userStatus="{user_id}#{status}")

        by_id = Get("byCallId")
        upcoming = Query("byUserStatus", fixed={"status": CallStatus.SCHEDULED}, range="scheduled_for")

Fields are pydantic's, validated when an entity is made and when an item is read. Key attributes are derived from fields
and never written by hand. Attributes of other writers are kept and written back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from tablewright.dynamo import Item
from tablewright.model.declaration_checks import check_fields, check_schema
from tablewright.model.declarations import Keys, Upgrades
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import FieldPath
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
                return FieldPath(cls, name)
            return super().__getattr__(name)

    class _WithFieldPaths(BaseModel, metaclass=_EntityClass):
        pass


class Entity(_WithFieldPaths):
    """The base class of entities.

        class Ticket(Entity, table=tickets, naming=camel_case, type_name="TICKET"):
            ticket_id: str
            keys = Keys(PK="TICKET#{ticket_id}", SK="METADATA")
            by_id = Get()

    ``table`` is where items are stored; a class without one is a base for others. ``naming`` makes the names of
    attributes from those of fields, ``type_name`` is the value of the table's type attribute.
    """

    model_config = ConfigDict(ignored_types=(Keys, Get, Query, Upgrades), validate_assignment=True, extra="forbid")

    schema_: ClassVar[Schema]

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
                f"class {cls.__name__}: unknown argument {', '.join(kwargs)}; known are table, naming, type_name"
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
            check_fields(cls)
            schema = Schema(cls, table, naming, type_name or cls.__name__)
            check_schema(schema)
            cls.schema_ = schema
            schema.filters = filters_of(schema)
            schema.join_table()

    @classmethod
    def of(cls, item: Item) -> Self:
        """The entity of an item: ``Ticket.of(ticket.item()) == ticket``."""
        entity = schema_of(cls).decode(item)
        assert isinstance(entity, cls)
        return entity

    def item(self) -> Item:
        """The item of this entity, with its key attributes."""
        return schema_of(type(self)).encode(self)
