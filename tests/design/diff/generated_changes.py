"""Changes of a design, for properties: what an entity is before and after, each in a version of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import new_class
from typing import Annotated, Any

from hypothesis import strategies as st

from tablewright.model import (
    AttributeName,
    Design,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    Query,
    RetiredEntity,
    Table,
    Unique,
    Version,
    sharded,
)

SHOPS = ["s1", "s2"]


@dataclass(frozen=True, slots=True)
class Shape:
    """One version of a design: an Order, and perhaps what was split off it."""

    typed: bool
    # The primary key, by number; and the key of the index.
    key: int = 0
    index_key: int = 0
    shards: int = 1
    # What the entity is called, and its type.
    name: str = "Order"
    type_name: str = "Order"
    # The note is called so, and stored so.
    note: str = "note"
    # The address is an entity of its own.
    split: bool = False
    unique: bool = False
    versioned: bool = False


KEYS = [
    {"PK": "ORDER#{order_id}", "SK": "ORDER"},
    {"PK": "SHOP#{shop}", "SK": "ORDER#{order_id}"},
    {"PK": "O#{order_id}#{shop}", "SK": "HEAD"},
]
INDEX_KEYS = ["SHOP#{shop}", "S#{shop}", "ALL"]

CHANGES = st.builds(
    lambda typed, **changed: (
        Shape(typed, unique=changed["unique"], versioned=changed["versioned"]),
        replace(Shape(typed), **changed),
    ),
    st.booleans(),
    key=st.sampled_from([0, 0, 1, 2]),
    index_key=st.sampled_from([0, 0, 1, 2]),
    shards=st.sampled_from([1, 1, 3]),
    name=st.sampled_from(["Order", "Order", "Purchase"]),
    note=st.sampled_from(["note", "note", "remark"]),
    split=st.booleans(),
    unique=st.booleans(),
    versioned=st.booleans(),
).map(lambda pair: (pair[0], replace(pair[1], type_name=pair[1].name)))


@dataclass(frozen=True, slots=True)
class Made:
    """The classes of one version."""

    design: Design
    table: Table
    order: type[Any]
    address: type[Any] | None

    @property
    def names(self) -> dict[str, Any]:
        """What a declaration, or a step, may name."""
        known = [self.order, *([] if self.address is None else [self.address])]
        return {
            **{each.__name__: each for each in known},
            "orders": self.table,
            **{
                each.__name__: each
                for each in (Annotated, AttributeName, Entity, Iterable, Keys, RetiredEntity)
                if hasattr(each, "__name__")
            },
            "Annotated": Annotated,
            "Any": Any,
            "sharded": sharded,
        }


def made(shape: Shape, *, kept_name: bool = False) -> Made:
    """A version of the design; with ``kept_name``, a field that has another name is stored under the old one."""
    table = Table(
        "Orders",
        "PK",
        "SK",
        indexes=[GlobalIndex("byShop", "GSI1PK", "GSI1SK")],
        type_attribute="type" if shape.typed else None,
    )
    note: Any = Annotated[str, AttributeName("note")] if kept_name else str
    annotations: dict[str, Any] = {"order_id": str, "shop": str, shape.note: note}
    if not shape.split:
        annotations["street"] = str
    if shape.unique:
        annotations["code"] = Annotated[str, Unique()]
    if shape.versioned:
        annotations["version"] = Version
    first = INDEX_KEYS[shape.index_key]
    keys = {
        **KEYS[shape.key],
        "GSI1PK": first if shape.shards == 1 else sharded(first, shape.shards),
        "GSI1SK": "{order_id}",
    }
    namespace: dict[str, Any] = {
        "__annotations__": annotations,
        **({"version": 0} if shape.versioned else {}),
        "keys": Keys(keys),
        "by_id": Get(),
        "of_shop": Query("byShop"),
    }
    order = _class(shape.name, table, namespace, shape.type_name)
    address = None
    if shape.split:
        namespace = {
            "__annotations__": {"order_id": str, "street": str},
            "keys": Keys(PK="ADDRESS#{order_id}", SK="ADDRESS"),
            "by_id": Get(),
        }
        address = _class("Address", table, namespace, "Address")
    return Made(Design("Shop", tables=[table]), table, order, address)


def _class(name: str, table: Table, namespace: dict[str, Any], type_name: str) -> type[Any]:
    arguments = {"table": table, "type_name": type_name}
    return new_class(name, (Entity,), arguments, lambda body: body.update({"__module__": __name__, **namespace}))
