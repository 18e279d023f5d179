"""Projections: some fields of an entity, as a type of their own.

    class OrderSummary(Projection[Order]):
        number: int
        status: Status

    store.query(OrderSummary.of(Order.of_customer("c-1")))      Page[OrderSummary]

    @Query("byShop", newest_first=True)
    def of_shop(self, shop: str) -> None: ...

    store.query(OrderSummary.of_shop("s-1"))                    the same; the design knows that no more is read

A projection is read wherever its entity is: of a lookup, of a selection, or by a scan. Its fields are those of the
entity, by name and type; what an item does not have is the entity's default. It cannot be written. Less is sent, but
DynamoDB charges for whole items.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

from pydantic import BaseModel, ConfigDict

from tablewright.model.declaration_checks import check_name, check_pattern
from tablewright.model.entity import Entity
from tablewright.model.errors import ModelError, no_field
from tablewright.model.pattern_filters import filter_of
from tablewright.model.patterns import Get, Lookup, Query, Selection
from tablewright.model.schema import schema_of

__all__ = ["Projection"]

E = TypeVar("E", bound=Entity)


class Projection(BaseModel, Generic[E]):
    """The base class of projections: ``class OrderSummary(Projection[Order])``, with some fields of ``Order``."""

    model_config = ConfigDict(ignored_types=(Get, Query), extra="forbid", frozen=True)

    entity_: ClassVar[type[Entity]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if not hasattr(cls, "entity_"):
            raise ModelError(f"{cls.__name__} is a projection of no entity; declare it as Projection[Order]")
        if "entity_" not in cls.__dict__:
            _check(cls)
            _declare_patterns(cls)

    # Not pydantic's own, which has to find the module that it is called in.
    if not TYPE_CHECKING:

        def __class_getitem__(cls, entity: Any) -> type[Projection]:
            if not isinstance(entity, type) or not issubclass(entity, Entity):
                raise ModelError(f"a projection is of an entity class, such as Projection[Order], not of {entity!r}")
            return type(cls)(f"Projection[{entity.__name__}]", (cls,), {"entity_": entity, "__module__": __name__})

    @overload
    @classmethod
    def of(cls, read: Lookup[E]) -> Lookup[Self]: ...
    @overload
    @classmethod
    def of(cls, read: Selection[E]) -> Selection[Self]: ...
    @classmethod
    def of(cls, read: Any) -> Any:
        """The same read, of these fields only."""
        if not isinstance(read, Lookup | Selection) or not issubclass(read.entity, cls.entity_):
            name = cls.entity_.__name__
            raise ModelError(f"{cls.__name__} is a projection of {name}: it takes a lookup or a selection of {name}")
        return replace(read, projection=cls)


def _check(projection: type[Projection[Any]]) -> None:
    """Check that a projection has fields of its entity, with their types."""
    entity, name = projection.entity_, projection.__name__
    known = schema_of(entity).fields
    if not projection.model_fields:
        raise ModelError(f"{name} has no fields; declare some of those of {entity.__name__}: {', '.join(known)}")
    for field, info in projection.model_fields.items():
        if field not in known:
            raise ModelError(f"{name}.{field}: {no_field(entity.__name__, field, known)}")
        if info.annotation != entity.model_fields[field].annotation:
            raise ModelError(
                f"{name}.{field} has another type than {entity.__name__}.{field}; declare it with the same"
            )
        # A marker such as ExpiresAt brings its own.
        if not info.is_required() and info.default != entity.model_fields[field].default:
            raise ModelError(f"{name}.{field} has a default; it is that of {entity.__name__}.{field}, so remove it")


def _declare_patterns(projection: type[Projection[Any]]) -> None:
    """Make the patterns of a projection known to the entity, by its own name and theirs."""
    schema = schema_of(projection.entity_)
    members = {name: member for base in reversed(projection.__mro__) for name, member in vars(base).items()}
    for name, member in members.items():
        place = f"{projection.__name__}.{name}"
        if isinstance(member, Get):
            entity = projection.entity_.__name__
            raise ModelError(
                f"{place}: a projection has patterns for many items only; declare it for {entity}, and read "
                f"{projection.__name__}.of({entity}.{name}(...))"
            )
        if not isinstance(member, Query):
            continue
        check_name(place, name, Projection)
        pattern = member.for_owner()
        # Only whole items can be upgraded to a newer schema version.
        fields = () if schema.upgrades is not None else tuple(projection.model_fields)
        pattern.settle(name=place, projection=projection, project=fields)
        check_pattern(schema, pattern)
        condition = filter_of(schema, pattern)
        schema.patterns[place] = pattern
        if condition is not None:
            schema.filters[place] = condition
