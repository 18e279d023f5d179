"""Entities: what is kept in a table, as typed classes.

    class Call(Entity, table=calls, naming=camel_case):
        user_id: str
        call_id: Annotated[str, Unique()]
        status: CallStatus
        scheduled_for: EpochMillis
        version: Version = 0

        keys = Keys(sk="{scheduled_for:013}#{call_id}", userStatus="{user_id}#{status}")

        by_id = Get("byCallId")
        upcoming = Query("byUserStatus", fixed={"status": CallStatus.SCHEDULED}, range="scheduled_for")

Fields are pydantic's, validated when an entity is made and when one is read. Key attributes follow from fields and are
never written by hand. What another writer stored beside the fields is kept and written back.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from tablewright.dynamo import Item
from tablewright.model.declaration_checks import check_fields, check_schema
from tablewright.model.declarations import Keys, Upgrades
from tablewright.model.errors import ModelError
from tablewright.model.naming import Naming, snake_case
from tablewright.model.patterns import Get, Query
from tablewright.model.schema import Schema, schema_of
from tablewright.model.table import Table
from tablewright.model.values.pydantic_validators import take_stored_values


class Entity(BaseModel):
    """The base of all entities."""

    model_config = ConfigDict(ignored_types=(Keys, Get, Query, Upgrades), validate_assignment=True, extra="forbid")

    schema_: ClassVar[Schema]

    def __init_subclass__(cls, **_: Any) -> None:
        """The arguments are for the hook below, which runs once the fields are known."""
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(
        cls, table: Table | None = None, naming: Naming = snake_case, type_name: str | None = None, **kwargs: Any
    ) -> None:
        if kwargs:
            raise ModelError(
                f"class {cls.__name__}: unknown argument {', '.join(kwargs)}; known are table, naming, type_name"
            )
        super().__pydantic_init_subclass__()
        if cls.__pydantic_complete__:
            # Once all of it is known: models that are part of it are looked into as well.
            take_stored_values(cls)
        if table is not None:
            if not isinstance(table, Table):
                raise ModelError(f"class {cls.__name__}: table= takes a Table, not {table!r}")
            if not cls.__pydantic_complete__:
                raise ModelError(f"{cls.__name__} uses a type that is not defined yet; define it before the entity")
            check_fields(cls)
            schema = Schema(cls, table, naming, type_name or cls.__name__)
            check_schema(schema)
            cls.schema_ = schema
            schema.join_table()

    @classmethod
    def of(cls, item: Item) -> Self:
        """The entity that an item holds."""
        entity = schema_of(cls).decode(item)
        assert isinstance(entity, cls)
        return entity

    def item(self) -> Item:
        """The item that holds this entity."""
        return schema_of(type(self)).encode(self)
