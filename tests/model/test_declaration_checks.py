"""Every wrong declaration is refused when it is made, with its place, the reason, and what to do."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from tablewright.model import (
    AttributeName,
    CreatedAt,
    EpochMillis,
    ExpiresAt,
    Expiry,
    Get,
    GlobalIndex,
    Keys,
    Large,
    LocalIndex,
    ModelError,
    Numbered,
    Query,
    Stamp,
    Table,
    Unique,
    UpdatedAt,
    Upgrades,
    Version,
    attr,
    camel_case,
    schema_of,
    sharded,
    when,
)
from tablewright.model.declarations import VersionMarker
from tests.declared_patterns import grouped, taking
from tests.model.declaring import KEYS, declared, table


class Status(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class Inner(BaseModel):
    word: str
    flags: list[bool] = []


class Marked(BaseModel):
    word: Annotated[str, Unique()]


class Untold(BaseModel):
    length: timedelta


def test_a_right_declaration_is_taken() -> None:
    assert schema_of(declared({"n": int})).fields.keys() == {"id", "n"}


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    # fields
    "an alias": (
        lambda: declared({"name": (str, Field(alias="Name"))}),
        'Row.name has an alias; to store it under another name use Annotated[..., AttributeName("name")]',
    ),
    "a type without a place": (
        lambda: declared({"length": timedelta}),
        "Row.length: timedelta cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
    "one inside of a list": (
        lambda: declared({"lengths": list[timedelta]}),
        "Row.lengths: timedelta cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
    "one inside of a model": (
        lambda: declared({"inner": Untold | None}),
        "Row.inner: Untold.length: timedelta cannot be stored in an item; use a type that can, or a pydantic "
        "model of such types",
    ),
    "a marker inside of a model": (
        lambda: declared({"inner": Marked}),
        "Row.inner: Marked.word is marked Unique, a marker for fields of an entity only; remove it",
    ),
    "two fields in one attribute": (
        lambda: declared({"a_b": str, "aB": str}, naming=camel_case),
        "Row: a_b and aB are both stored in 'aB'; give one of them an AttributeName",
    ),
    "a field in an attribute with a rule": (
        lambda: declared({"SK": str}),
        "Row.SK is stored in 'SK', which is also defined in keys; remove it from keys, or give the field "
        "another AttributeName",
    ),
    "a field in the type attribute": (
        lambda: declared({"type": str}, table(type_attribute="type")),
        "Row.type is stored in 'type', the type attribute of the table; remove the field, and give "
        "type_name=... in the class statement if the name matters",
    ),
    "a field in the shape attribute": (
        lambda: declared({"shape": int}, upgrades=Upgrades(dict)),
        "Row.shape is stored in 'shape', which has the schema version; choose another attribute with "
        "Upgrades(..., attribute=...)",
    ),
    # keys
    "a template that breaks its promises": (
        lambda: Keys(PK="{a}{b}"),
        "keys, PK: '{a}{b}': what follows {a} must begin with '#'",
    ),
    "a rule that is none": (
        lambda: Keys(PK=7),  # type: ignore[arg-type]
        "keys, PK: 7 cannot define a key; use a template as text, when(...) or sharded(...)",
    ),
    "a key that the table does not have": (
        lambda: declared({}, keys=Keys(**KEYS, GSI9PK="X")),
        "Row.keys, GSI9PK is not a key attribute of table 'Rows'; key attributes are PK, SK, GSI1PK, GSI1SK, LSI1SK",
    ),
    "a key that is not text": (
        lambda: declared({}, table(types={"SK": "N"})),
        "Row.keys, SK is a number, and templates make text; store a field in it instead",
    ),
    "a field that is not there": (
        lambda: declared({}, keys=Keys(PK="ROW#{ident}", SK="ROW")),
        "Row.keys, PK: Row has no field 'ident'; it has id",
    ),
    "a part of a model that is not there": (
        lambda: declared({"inner": Inner}, keys=Keys(PK="ROW#{inner.wrod}", SK="ROW")),
        "Row.keys, PK: Inner has no field 'wrod'; did you mean 'word'? It has word, flags",
    ),
    "a part of what has none": (
        lambda: declared({}, keys=Keys(PK="ROW#{id.word}", SK="ROW")),
        "Row.keys, PK: 'id.word' goes into 'id', which is neither a model nor a map",
    ),
    "an attribute with a dot": (
        lambda: declared({"n": Annotated[str, AttributeName("a.b")]}, keys=Keys(PK="ROW#{n}", SK="ROW")),
        "Row.keys, PK: 'n' is stored in 'a.b'; a key can only be made of attributes without dots in their names",
    ),
    "a list in a key": (
        lambda: declared({"inner": Inner}, keys=Keys(PK="ROW#{inner.flags}", SK="ROW")),
        "Row.keys, PK: inner.flags has many values, and a key holds one; store an item for each value",
    ),
    "bytes in a key": (
        lambda: declared({"data": bytes}, keys=Keys(PK="ROW#{data}", SK="ROW")),
        "Row.keys, PK: {data} is neither text, a number nor a boolean; only those can be part of a key",
    ),
    "digits of a text": (
        lambda: declared({}, keys=Keys(PK="ROW#{id:04}", SK="ROW")),
        "Row.keys, PK: {id:04} is a format for numbers, and id is not a number",
    ),
    "the day of a number": (
        lambda: declared({"at": EpochMillis}, keys=Keys(PK="ROW#{at:date}", SK="ROW")),
        "Row.keys, PK: {at:date} needs a time that is stored as text; declare a datetime",
    ),
    "a primary key in some states only": (
        lambda: declared({"status": Status}, keys=Keys(PK=when("ROW#{id}", status="open"), SK="ROW")),
        "Row.keys, PK is part of the primary key, which every item must have; remove the when(...)",
    ),
    "a state that cannot be": (
        lambda: declared({"status": Status}, keys=Keys(**KEYS, GSI1PK=when("X", status="opne"))),
        "Row.keys, GSI1PK, when status: 'opne' is not valid: Input should be 'open' or 'closed'",
    ),
    "a state of a field that is not there": (
        lambda: declared({}, keys=Keys(**KEYS, GSI1PK=when("X", status="open"))),
        "Row.keys, GSI1PK: Row has no field 'status'; it has id",
    ),
    "no state": (lambda: when("X"), "when(...) needs a condition, such as status='ESCALATED'"),
    "a state of nothing": (lambda: when("X", status=[]), "when(status=...) needs a value"),
    "one shard": (lambda: sharded("X", 1), "a sharded key needs at least 2 shards"),
    "a sharded sort key": (
        lambda: declared({}, keys=Keys(**KEYS, GSI1SK=sharded("X", 2))),
        "Row.keys, GSI1SK is a sort key; only a partition key can be sharded",
    ),
    "no primary key": (
        lambda: declared({}, keys=Keys(PK="ROW#{id}")),
        "Row does not define the key attribute SK; add it to keys, or store a field in it",
    ),
    "a number in a key of text": (
        lambda: declared({"GSI1PK": int}),
        "Row.GSI1PK is stored in the key attribute 'GSI1PK', which is text; give the table types={'GSI1PK': 'N'}",
    ),
    "a list in a key attribute": (
        lambda: declared({"GSI1PK": list[str]}),
        "Row.GSI1PK is stored in the key attribute 'GSI1PK', which is text; give it another AttributeName",
    ),
    # markers
    "two versions": (
        lambda: declared({"one": (Version, 0), "two": (Version, 0)}),
        "Row: one and two have the same marker; only one field may have it",
    ),
    "two stamps": (
        lambda: declared({"one": (CreatedAt, None), "two": (CreatedAt, None), "three": (UpdatedAt, None)}),
        "Row: one and two have the same marker; only one field may have it",
    ),
    "a version of text": (
        lambda: declared({"version": Annotated[str, VersionMarker()]}),
        "Row.version is a version, so it must be an int: `version: Version = 0`",
    ),
    "a stamp on a flag": (
        lambda: declared({"made": Annotated[bool, Stamp("created")]}),
        "Row.made is a timestamp, so it must be a datetime",
    ),
    "a stamp of an unknown event": (
        lambda: Stamp("deleted"),
        "Stamp('deleted'): use 'created' or 'updated'",
    ),
    "expiry where nothing expires": (
        lambda: declared({"ttl": (ExpiresAt, None)}),
        "Row.ttl is the time to live, but table 'Rows' has none; give it ttl='ttl'",
    ),
    "expiry in another attribute": (
        lambda: declared({"gone": (ExpiresAt, None)}, table(ttl="ttl")),
        "Row.gone is stored in 'gone', but the time to live of table 'Rows' is in 'ttl'; "
        'give the field AttributeName("ttl")',
    ),
    "expiry as text": (
        lambda: declared({"ttl": (Annotated[datetime | None, Expiry()], None)}, table(ttl="ttl")),
        "Row.ttl is the time to live, which DynamoDB needs in seconds; use ExpiresAt",
    ),
    "expiry in milliseconds": (
        lambda: declared({"ttl": (Annotated[EpochMillis | None, Expiry()], None)}, table(ttl="ttl")),
        "Row.ttl is the time to live, which DynamoDB needs in seconds; use ExpiresAt",
    ),
    "a unique list": (
        lambda: declared({"names": Annotated[list[str], Unique()]}),
        "Row.names is unique, so it must be text, a number or bytes",
    ),
    "a unique field where no guard can be": (
        lambda: declared({"PK": int, "name": Annotated[str, Unique()]}, table(types={"PK": "N"}), keys=Keys(SK="ROW")),
        "table 'Rows': PK is a number, so the store cannot keep guards and sequences in the table; make the "
        "partition key text, or remove unique and numbered fields",
    ),
    "numbered text": (
        lambda: declared({"n": str}, numbered=grouped(Numbered(), "n", "id")),
        "Row.n is numbered, so it must be an int",
    ),
    "numbered per nothing known": (
        lambda: declared({"n": int}, numbered=grouped(Numbered(), "n", "ticket")),
        "Row.numbered: Row has no field 'ticket'; it has id, n",
    ),
    "numbered per itself": (
        lambda: declared({"n": int}, numbered=grouped(Numbered(), "n", "n")),
        "Row.n cannot be numbered per itself",
    ),
    "a large key": (
        lambda: declared({"body": Annotated[str, Large()]}, keys=Keys(PK="ROW#{body}", SK="ROW")),
        "Row.body is Large, so it cannot be unique or part of a key",
    ),
    "a threshold beyond an item": (
        lambda: Large(threshold=500_000),
        "Large(500000): the threshold must be from 1 byte to 400 KB, the largest item",
    ),
    "no upgrades": (
        lambda: Upgrades(),
        "Upgrades() needs at least one step: a function from the values of one schema version to those of the next",
    ),
    # patterns
    "an unknown index": (
        lambda: declared({}, by=taking(Query("GSI9"), "id")),
        "Row.by: table 'Rows' has no index 'GSI9'; it has GSI1, LSI1",
    ),
    "an index that it is never in": (
        lambda: declared({}, keys=Keys(**KEYS, GSI1PK="X"), by=taking(Query("GSI1"), "id")),
        "Row.by: Row is never in index 'GSI1', as it has no GSI1SK; add that to keys, or store a field in it",
    ),
    "a consistent read of a global index": (
        lambda: declared({}, keys=Keys(**KEYS, GSI1PK="X", GSI1SK="Y"), by=taking(Get("GSI1", consistent=True), "id")),
        "Row.by: a global index does not support consistent reads; read by the primary key, or remove consistent=True",
    ),
    "a query where there is one item": (
        lambda: declared({}, Table("Rows", "PK"), keys=Keys(PK="ROW#{id}"), by=taking(Query(), "id")),
        "Row.by: table 'Rows' has no sort key, so each key has one item; use Get",
    ),
    "a fixed field that is not there": (
        lambda: declared({}, by=taking(Query(), "id", where=lambda self: attr(self.status) == "x")),
        "Row.by, filter: Row has no field 'status'; it has id",
    ),
    "a parameter whose values share a key": (
        lambda: declared(
            {"status": str},
            keys=Keys(**KEYS, GSI1PK=when("LIVE", status=["new", "held"]), GSI1SK="{id}"),
            by=taking(Query("GSI1"), "status"),
        ),
        "Row.by takes status, and items have the same key for several values of it, so that a read of one would find "
        "the others; add status to the key, or compare it with a value: return attr(self.status) == ...",
    ),
    "a value of the key that is a parameter as well": (
        lambda: declared({}, by=taking(Query(), "id", where=lambda self: attr(self.id) == "x")),
        "Row.by: id is compared with a value of the key, so it cannot be a parameter; remove one of them",
    ),
    "two values of the key": (
        lambda: declared({}, by=taking(Query(), where=lambda self: (attr(self.id) == "x") & (attr(self.id) == "y"))),
        "id is compared with 'x' and 'y', and cannot have both",
    ),
    "one of two values of the key": (
        lambda: declared({}, by=taking(Query(), where=lambda self: (attr(self.id) == "x") | (attr(self.id) == "y"))),
        "Row.by needs id for the key, and does not take it; declare it as by(self, id)",
    ),
    "a parameter that nothing needs beside a value of the key": (
        lambda: declared({}, by=taking(Query(), "more", where=lambda self: attr(self.id) == "x")),
        "Row.by takes more, which the key that is read does not need",
    ),
    "a fixed value that cannot be": (
        lambda: declared(
            {"status": Status},
            keys=Keys(PK="ROW#{id}", SK="{status}"),
            by=taking(Query(), "id", where=lambda self: attr(self.status) == "x"),
        ),
        "Row.by, status: 'x' is not valid: Input should be 'open' or 'closed'",
    ),
    "bounds of nothing": (
        lambda: declared({}, keys=Keys(PK="ROW", SK="{id}"), by=taking(Query(), "id", optional="since")),
        "Row.by takes since, but no field of the sort key is left to bound: it has id; remove a parameter",
    ),
    "a range in the partition key": (
        lambda: declared({"at": str}, keys=Keys(PK="{at}", SK="{id}"), by=taking(Query(), optional="since until")),
        "Row.by: at is part of the partition key that is read, which needs one value and has no range; "
        "partition by something else and put it into the sort key, or take it as a parameter",
    ),
    "a range that is fixed": (
        lambda: declared(
            {},
            keys=Keys(PK="ROW", SK="{id}"),
            by=taking(Query(), optional="since until", where=lambda self: attr(self.id) == "1"),
        ),
        "Row.by takes since, but no field of the sort key is left to bound: it has id; remove a parameter",
    ),
    "a filter on the key": (
        lambda: declared(
            {"PK": str}, keys=Keys(SK="{id}"), by=taking(Query(), "PK", where=lambda self, **_: attr(self.PK) != "x")
        ),
        "Row.by: PK is part of the key that is read, so it cannot be filtered by; compare it with one value, or take",
    ),
    "a filter on nothing known": (
        lambda: declared({}, by=taking(Query(), "id", where=lambda self, **_: attr(self.status) == "x")),
        "Row.by, filter: Row has no field 'status'; it has id",
    ),
    "a pattern called as a method": (
        lambda: declared({}, of=taking(Query(), "id")),
        "Row.of: every entity has an attribute of that name; rename the pattern",
    ),
    "fewer than one expected": (
        lambda: declared({}, by=taking(Query(expected=0), "id")),
        "Row.by: expected is the usual number of items of a read, so it must be at least 1",
    ),
    "a pattern without parameters": (
        lambda: declared({}, by=Query()),
        "Row.by has no parameters; declare it as `@Query(...) def by(self, id) -> None`",
    ),
    # tables
    "two indexes of one name": (
        lambda: Table("Rows", "PK", indexes=[GlobalIndex("GSI1", "x"), GlobalIndex("GSI1", "y")]),
        "table 'Rows' has two indexes named 'GSI1'; rename one",
    ),
    "one attribute for both parts of a key": (
        lambda: Table("Rows", "PK", "PK"),
        "table 'Rows': 'PK' cannot be both partition and sort key",
    ),
    "a local index without a sort key": (
        lambda: Table("Rows", "PK", indexes=[LocalIndex("LSI1", "x")]),
        "table 'Rows' has no sort key, so it cannot have local indexes; use GlobalIndex",
    ),
    "a stream of an unknown kind": (
        lambda: Table("Rows", "PK", stream="ALL"),
        "table 'Rows': the view type of a stream is one of KEYS_ONLY, NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES",
    ),
    "a type of what is no key": (
        lambda: Table("Rows", "PK", types={"x": "N"}),
        "table 'Rows': 'x' is not a key attribute; a table declares the types of key attributes only",
    ),
    "an unknown type": (
        lambda: Table("Rows", "PK", types={"PK": "SS"}),
        "table 'Rows': the type of 'PK' is one of S, N, B, not 'SS'",
    ),
    "a table of too short a name": (
        lambda: Table("T", "PK"),
        "table 'T': DynamoDB allows names of 3 to 255 characters: letters, digits, '_', '.' and '-'; rename it",
    ),
    "a table of too long a name": (
        lambda: Table("t" * 256, "PK"),
        f"table '{'t' * 256}': DynamoDB allows names of 3 to 255 characters: letters, digits, '_', '.' and '-'",
    ),
    "a table of a name with a space": (
        lambda: Table("my table", "PK"),
        "table 'my table': DynamoDB allows names of 3 to 255 characters: letters, digits, '_', '.' and '-'; rename it",
    ),
    "a table of a name with an accent": (
        lambda: Table("café", "PK"),
        "table 'café': DynamoDB allows names of 3 to 255 characters: letters, digits, '_', '.' and '-'; rename it",
    ),
    "an index of a name with a slash": (
        lambda: GlobalIndex("by/shop", "shop"),
        "index 'by/shop': DynamoDB allows names of 3 to 255 characters: letters, digits, '_', '.' and '-'; rename it",
    ),
    "a local index of a short name": (
        lambda: LocalIndex("by", "shop"),
        "index 'by': DynamoDB allows names of 3 to 255 characters: letters, digits, '_', '.' and '-'; rename it",
    ),
    "an index without a key": (lambda: GlobalIndex("GSI1", []), "index 'GSI1' needs a partition key"),
    "an index with five attributes": (
        lambda: GlobalIndex("GSI1", list("abcde")),
        "index 'GSI1': a partition key and a sort key have at most 4 attributes each",
    ),
    "an index with an attribute twice": (
        lambda: GlobalIndex("GSI1", ["a", "b"], "a"),
        "index 'GSI1' has the same attribute twice in its key",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_declaration_is_refused(case: str) -> None:
    declaration, message = WRONG[case]
    with pytest.raises(ModelError, match=re.escape(message)):
        declaration()


def test_a_refused_entity_is_not_part_of_its_table() -> None:
    where = table()
    with pytest.raises(ModelError):
        declared({"length": timedelta}, where)
    assert where.entities == []
