"""Changes of a design, for properties: an order and what belongs to it, before and after."""

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
    attr,
    camel_case,
    sharded,
    snake_case,
)
from tablewright.store import Update
from tests.declared_patterns import taking

SHOPS = ["s1", "s2"]


@dataclass(frozen=True, slots=True)
class Shape:
    """One version of a design."""

    # Whether the table has a type attribute, and attributes have names of their own.
    typed: bool
    camel: bool = False
    # The primary key, and that of the index, by number.
    key: int = 0
    index_key: int = 0
    shards: int = 1
    # What the entity is called, and its type.
    name: str = "Order"
    # What the note is called.
    note: str = "note"
    # The address is an entity of its own; the phone is the person's; coupons are gone.
    split: bool = False
    moved: bool = False
    coupons: bool = True
    unique: bool = False
    versioned: bool = False


KEYS = [
    {"PK": "ORDER#{order_id}", "SK": "ORDER"},
    {"PK": "SHOP#{shop}", "SK": "ORDER#{order_id}"},
    {"PK": "O#{order_id}#{shop}", "SK": "HEAD"},
]
INDEX_KEYS = ["SHOP#{shop}", "S#{shop}", "ALL"]


def _pair(fixed: dict[str, Any], changed: dict[str, Any]) -> tuple[Shape, Shape]:
    old = Shape(**fixed)
    return old, replace(old, **changed)


CHANGES = st.builds(
    _pair,
    st.fixed_dictionaries({name: st.booleans() for name in ("typed", "camel", "unique", "versioned")}),
    st.fixed_dictionaries(
        {},
        optional={
            "key": st.sampled_from([1, 2]),
            "index_key": st.sampled_from([1, 2]),
            "shards": st.just(3),
            "name": st.just("Purchase"),
            "note": st.just("remark"),
            "split": st.just(True),
            "moved": st.just(True),
            "coupons": st.just(False),
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Made:
    """The classes of one version, by name."""

    design: Design
    table: Table
    order: type[Any]
    classes: dict[str, type[Any]]

    @property
    def names(self) -> dict[str, Any]:
        """What a declaration, or a step, may name."""
        return {
            **self.classes,
            "orders": self.table,
            "Annotated": Annotated,
            "Any": Any,
            "AttributeName": AttributeName,
            "Iterable": Iterable,
            "Keys": Keys,
            "RetiredEntity": RetiredEntity,
            "Update": Update,
            "attr": attr,
            "sharded": sharded,
        }


def made(shape: Shape, *, kept_name: bool = False) -> Made:
    """A version of the design; with ``kept_name``, a field that has another name is stored under the old one."""
    indexes = [GlobalIndex("byShop", "GSI1PK", "GSI1SK")]
    table = Table("Orders", "PK", "SK", indexes=indexes, type_attribute="type" if shape.typed else None)
    arguments = {"table": table, "naming": camel_case if shape.camel else snake_case}
    classes: dict[str, type[Any]] = {}

    def declare(name: str, fields: dict[str, Any], by: list[str], **members: Any) -> type[Any]:
        defaults = {"version": 0} if "version" in fields else {}
        by_id = taking(Get(), *by)
        namespace = {"__module__": __name__, "__annotations__": fields, **defaults, "by_id": by_id, **members}
        classes[name] = new_class(name, (Entity,), arguments, lambda body: body.update(namespace))
        return classes[name]

    note: Any = Annotated[str, AttributeName("note")] if kept_name else str
    order_fields: dict[str, Any] = {"order_id": str, "shop": str, shape.note: note}
    if not shape.split:
        order_fields["street_name"] = str
    if not shape.moved:
        order_fields["phone"] = str
    if shape.unique:
        order_fields["code"] = Annotated[str, Unique()]
    if shape.versioned:
        order_fields["version"] = Version
    first = INDEX_KEYS[shape.index_key]
    keys = Keys(
        **KEYS[shape.key],
        GSI1PK=first if shape.shards == 1 else sharded(first, shape.shards),
        GSI1SK="{order_id}",
    )
    of_shop = taking(Query("byShop"), *([] if shape.index_key == 2 else ["shop"]))
    by = ["shop", "order_id"] if shape.key else ["order_id"]
    order = declare(shape.name, order_fields, by, keys=keys, of_shop=of_shop)
    if shape.split:
        declare(
            "Address",
            {"order_id": str, "street_name": str},
            ["order_id"],
            keys=Keys(PK="ADDRESS#{order_id}", SK="ADDRESS"),
        )
    phone = {"phone": str | None} if shape.moved else {}
    members = {"phone": None} if shape.moved else {}
    declare(
        "Person", {"order_id": str, **phone}, ["order_id"], keys=Keys(PK="PERSON#{order_id}", SK="PERSON"), **members
    )
    if shape.coupons:
        declare(
            "Coupon",
            {"coupon_code": str, "percent": int},
            ["coupon_code"],
            keys=Keys(PK="COUPON#{coupon_code}", SK="COUPON"),
        )
    return Made(Design("Shop", tables=[table]), table, order, classes)
