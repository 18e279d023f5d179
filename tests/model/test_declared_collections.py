"""Every wrong declaration of a collection is refused when it is made."""

import re
from enum import StrEnum
from types import new_class
from typing import Any, cast

import pytest

from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    EpochSeconds,
    Keys,
    ModelError,
    Table,
    sharded,
)
from tests.declared_patterns import taking
from tests.model.declaring import body_of, table


class Status(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


SHARED = table()


class Head(Entity, table=SHARED):
    id: str
    owner: str

    keys = Keys(PK="ROW#{id}", SK="HEAD", GSI1PK="OWNER#{owner}", GSI1SK="{id}")


class Part(Entity, table=SHARED):
    row_id: str
    n: EpochSeconds

    keys = Keys(PK="ROW#{row_id}", SK="PART#{n:012}")


class Stranger(Entity, table=SHARED):
    id: str

    keys = Keys(PK="STRANGER#{id}", SK="X")


class Spread(Entity, table=SHARED):
    id: str

    keys = Keys(PK=sharded("SPREAD#{id}", 2), SK="SPREAD")


class Elsewhere(Entity, table=Table("Others", "id")):
    id: str


def collection(members: dict[str, Any], **patterns: CollectionQuery) -> type[Collection]:
    body = {"__annotations__": members, "__module__": __name__, **patterns}
    return cast("type[Collection]", new_class("Whole", (Collection,), {}, body_of(body)))


def test_members_of_a_collection_may_name_the_partition_differently() -> None:
    whole = collection({"head": Head, "parts": list[Part]}, of_row=taking(CollectionQuery(), "id"))
    assert [(member.name, member.many, member.optional) for member in whole.members_] == [
        ("head", False, False),
        ("parts", True, False),
    ]
    loose = collection({"head": Head | None, "part": Part}, of_row=taking(CollectionQuery(), "id"))
    assert [(member.name, member.many, member.optional) for member in loose.members_] == [
        ("head", False, True),
        ("part", False, False),
    ]


@pytest.mark.parametrize(
    ("members", "pattern", "message"),
    [
        (
            {"head": Head},
            CollectionQuery(),
            "Whole.of has no parameters; declare it as `@CollectionQuery(...) def of(self, id) -> None`",
        ),
        ({}, taking(CollectionQuery(), "id"), "Whole has no members; declare at least one, such as `task: Task`"),
        (
            {"head": str},
            taking(CollectionQuery(), "id"),
            "Whole.head must be an entity, an entity or None, or a list of entities",
        ),
        (
            {"parts": list[str]},
            taking(CollectionQuery(), "id"),
            "Whole.parts must be an entity, an entity or None, or a list of entities",
        ),
        (
            {"head": Head, "x": Elsewhere},
            taking(CollectionQuery(), "id"),
            "Whole: Others and Rows are different tables; a query reads one table",
        ),
        (
            {"head": Head, "x": Stranger},
            taking(CollectionQuery(), "id"),
            "Whole.of: Head, Stranger are in different partitions",
        ),
        (
            {"head": Head, "parts": list[Part]},
            taking(CollectionQuery("GSI1"), "id"),
            "Whole.of: Part is never in index 'GSI1'",
        ),
        ({"head": Head}, taking(CollectionQuery("GSI9"), "id"), "Whole.of: table 'Rows' has no index 'GSI9'"),
        (
            {"head": Head},
            taking(CollectionQuery("GSI1", consistent=True), "id"),
            "Whole.of: a global index does not support consistent reads; read the table's partition, or remove "
            "consistent=True",
        ),
        (
            {"x": list[Spread]},
            taking(CollectionQuery(), "id"),
            "Whole.of: PK is sharded, so no single partition has all members; use a key that is not sharded",
        ),
    ],
)
def test_a_wrong_collection_is_refused(members: dict[str, Any], pattern: CollectionQuery, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        collection(members, of=pattern)
