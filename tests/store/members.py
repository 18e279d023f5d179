"""A design to write to, with all that writes have to keep in order; and the check that they did."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field

from tablewright.dynamo import Item
from tablewright.model import (
    CreatedAt,
    Entity,
    EpochMillis,
    EpochSeconds,
    FieldGroup,
    Get,
    GlobalIndex,
    Keys,
    Query,
    Schema,
    Table,
    Unique,
    UpdatedAt,
    Version,
    attr,
    schemas_of,
    sharded,
    when,
)
from tablewright.model.declarations import Expiry, Numbered, Upgrades
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request
from tablewright.store.write.idempotent_write import IdempotencyRecord
from tablewright.store.write.sequence import COUNT
from tablewright.store.write.unique_values import OWNER, expected_guards
from tests.store.bench import Bench

people = Table(
    "people",
    "PK",
    "SK",
    indexes=[GlobalIndex("byTeam", "GSI1PK", "GSI1SK"), GlobalIndex("byState", "GSI2PK", "GSI2SK")],
    type_attribute="kind",
    ttl="ttl",
)


class Address(BaseModel):
    city: str
    postal_code: str = Field(default="", validation_alias=AliasChoices("zip", "postal_code"), serialization_alias="zip")
    since: EpochMillis | None = None


class Player(Entity, table=people):
    """No version and nothing unique: most writes are single requests."""

    player_id: str
    team: str
    score: int = 0
    active: bool = True
    name: str = ""
    address: Address | None = None
    tags: set[str] = Field(default_factory=set)
    log: list[str] = Field(default_factory=list)
    stats: dict[str, int] = Field(default_factory=dict)
    created_at: CreatedAt = None
    updated_at: UpdatedAt = None

    keys = Keys(
        PK="PLAYER#{player_id}",
        SK="META",
        GSI1PK="TEAM#{team}",
        GSI1SK="{score:06}#{player_id}",
        GSI2PK=sharded(when("ACTIVE", active=True), 3),
        GSI2SK="{name}#{address.city}",
    )

    @Get()
    def by_id(self, player_id: str) -> None: ...

    @Query("byTeam", newest_first=True)
    def of_team(self, team: str) -> None: ...


class Account(Entity, table=people):
    """Two unique fields, and it may expire."""

    account_id: str
    email: Annotated[str | None, Unique()] = None
    handle: Annotated[str | None, Unique()] = None
    team: str = "none"
    ttl: Annotated[EpochSeconds | None, Expiry()] = None

    keys = Keys(PK="ACCOUNT#{account_id}", SK="META", GSI1PK="TEAM#{team}", GSI1SK="{account_id}")

    @Get()
    def by_id(self, account_id: str) -> None: ...

    @Get("byTeam")
    def of_team(self, team: str) -> None: ...


class Document(Entity, table=people):
    """A version, and nothing else."""

    document_id: str
    text: str = ""
    version: Version = 0

    keys = Keys(PK="DOCUMENT#{document_id}", SK="META")

    @Get()
    def by_id(self, document_id: str) -> None: ...


class Token(Entity, table=people):
    """Versioned, and expires after an hour."""

    token_id: str
    uses: int = 0
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=1))] = None
    version: Version = 0

    keys = Keys(PK="TOKEN#{token_id}", SK="META")

    @Get()
    def by_id(self, token_id: str) -> None: ...


class Slot(Entity, table=people):
    """Moves when its day changes, and has no version."""

    day: date
    slot_id: str
    hour: int = 9
    guest: Annotated[str | None, Unique()] = None

    keys = Keys(PK="DAY#{day}", SK="SLOT#{slot_id}", GSI1PK="HOUR#{hour:02}", GSI1SK="{day}#{slot_id}")

    @Get()
    def itself(self, day: date, slot_id: str) -> None: ...


class Visit(Entity, table=people):
    """Its primary key has the day of a time, an index all of it."""

    at: datetime
    visitor: str
    room: str = ""

    keys = Keys(PK="VISITS#{at:date}", SK="VISITOR#{visitor}", GSI1PK="VISITOR#{visitor}", GSI1SK="{at}#{room}")

    @Get()
    def itself(self, at: datetime, visitor: str) -> None: ...


class Line(Entity, table=people):
    """Numbered within its order."""

    order_id: str
    number: int = 0
    text: str = ""

    keys = Keys(PK="ORDER#{order_id}", SK="LINE#{number:06}")

    @Numbered()
    def number_per_order(self) -> FieldGroup[int]:
        return attr(self.number).per(self.order_id)

    @Get()
    def itself(self, order_id: str, number: int) -> None: ...

    @Query()
    def of_order(self, order_id: str) -> None: ...


def _split_name(values: dict[str, Any]) -> dict[str, Any]:
    first, _, last = values.pop("fullName").partition(" ")
    return {**values, "first": first, "last": last}


class Person(Entity, table=people):
    """Once kept its name in one attribute."""

    person_id: str
    first: str
    last: str
    badge: Annotated[str | None, Unique()] = None

    keys = Keys(PK="PERSON#{person_id}", SK="META", GSI1PK="NAME#{last}", GSI1SK="{first}#{person_id}")
    upgrades = Upgrades(_split_name)

    @Get()
    def by_id(self, person_id: str) -> None: ...


class Once(IdempotencyRecord, table=people):
    keys = Keys(PK="IDEMPOTENCY#{idempotency_key}", SK="METADATA")


# -- the check ------------------------------------------------------------------------------------------------------


def everything(bench: Bench, table: Table) -> list[Item]:
    request = Request("Scan", {"TableName": bench.names[table.name], "ConsistentRead": True})
    items: list[Item] = bench.backend.call(request)["Items"]
    return items


def assert_in_step(bench: Bench, *tables: Table) -> None:
    """Every stored item has the key attributes that follow from it; guards and counters are those of the items."""
    for table in tables:
        now = bench.clock()
        guards: dict[str, Item] = {}
        counters: dict[str, int] = {}
        expected: dict[str, Item] = {}
        highest: dict[str, int] = {}
        for item in everything(bench, table):
            if OWNER in item and table.is_internal(item):
                if "ttl" not in item or float(item["ttl"]["N"]) > now:
                    guards[str(item[table.partition])] = item
                continue
            if table.is_internal(item):
                counters[str(item[table.partition])] = int(item[COUNT]["N"])
                continue
            schema = _schema_of(table, item)
            derived = schema.derive(schema.upgrade(item))
            assert {name: item[name] for name in schema.key_rules if name in item} == derived
            if schema.is_expired(item, now):
                continue
            for guard in expected_guards(schema, schema.upgrade(item)):
                assert str(guard[table.partition]) not in expected, "two items have one unique value"
                expected[str(guard[table.partition])] = guard
            for spec in schema.numbered:
                counter = str(schema.sequence_key(spec, item)[table.partition])
                highest[counter] = max(highest.get(counter, 0), int(item[spec.attribute]["N"]))
        assert guards == expected
        assert counters == highest
    if isinstance(bench.backend, EmbeddedBackend):
        report = bench.backend.engine.verify()
        assert report.ok, report


def _schema_of(table: Table, item: Item) -> Schema:
    (schema,) = [schema for schema in schemas_of(table) if schema.matches(item)]
    return schema
