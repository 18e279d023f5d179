"""Tables: the list of tables, and each table with its keys, indexes, settings, and the entities of the design in it.

/tables            all of them, with keys, items and size
/tables/{table}    one: settings, backups, and a map of its entities, indexes and the patterns that these serve
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from tablewright.model import Collection, Schema, Table, schemas_of
from tablewright.studio.observe.engine_meter import heat_of, start_metering, units_by_table
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import entity_pill, key_names, size_text, units_text
from tablewright.studio.views.table_actions import draw_table_actions, new_table_dialog
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import (
    Column,
    banner,
    box,
    button,
    card,
    empty,
    fact,
    facts,
    figure,
    link_button,
    pill,
    text,
)
from tablewright.ui.components import (
    table as draw_table,
)

__all__ = ["TableFacts", "table_facts", "tables_view"]

# So many are described at once; an endpoint may limit how often it is asked.
_AT_ONCE = 8
# Of an account with more tables, the others are found by their names.
_DESCRIBED = 60


@dataclass(slots=True)
class TableFacts:
    """The results of several requests about a table; ``refused`` has the errors of those that are not allowed."""

    name: str
    description: dict[str, Any] = field(default_factory=dict)
    ttl: str | None = None
    recovery: dict[str, Any] = field(default_factory=dict)
    backups: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, ...]:
        return key_names(self.description["KeySchema"])

    @property
    def indexes(self) -> list[dict[str, Any]]:
        found = self.description
        return [*(found.get("GlobalSecondaryIndexes") or ()), *(found.get("LocalSecondaryIndexes") or ())]

    @property
    def stream(self) -> str | None:
        found = self.description.get("StreamSpecification") or {}
        return found.get("StreamViewType") if found.get("StreamEnabled") else None

    @property
    def is_on_demand(self) -> bool:
        return (self.description.get("BillingModeSummary") or {}).get("BillingMode") == "PAY_PER_REQUEST"

    @property
    def has_recovery(self) -> bool:
        return self.recovery.get("PointInTimeRecoveryStatus") == "ENABLED"


async def table_facts(page: StudioPage, name: str) -> TableFacts:
    """Everything that is shown of a table; raises an error only if the table does not exist."""
    found = TableFacts(name, await page.describe(name))

    async def ask(operation: str, **body: Any) -> dict[str, Any]:
        try:
            return await page.database.call(operation, **body)
        except Refused as error:
            found.refused.append(f"{operation}: {error.detail}")
            return {}

    ttl, recovery, backups = await asyncio.gather(
        ask("DescribeTimeToLive", TableName=name),
        ask("DescribeContinuousBackups", TableName=name),
        ask("ListBackups", TableName=name, Limit=20),
    )
    described = ttl.get("TimeToLiveDescription", {})
    if described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"):
        found.ttl = described.get("AttributeName")
    found.recovery = recovery.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
    found.backups = backups.get("BackupSummaries", [])
    return found


async def tables_view(page: StudioPage, table: str = "") -> None:
    await page.look_at(table)
    if table:
        await _one(page, table)
    else:
        await _all(page)


# -- all tables ------------------------------------------------------------------------------------------------------


async def _all(page: StudioPage) -> None:
    t = page.t
    if page.may_write:
        with page.actions:
            button(t("studio.new_table"), lambda: new_table_dialog(page), kind="primary", icon_name="plus", key="n")
    if not page.tables:
        empty(t("studio.no_tables"), t("studio.no_tables_about"), "database")
        return
    gate = asyncio.Semaphore(_AT_ONCE)

    async def described(name: str) -> dict[str, Any] | Refused:
        async with gate:
            try:
                return await page.describe(name)
            except Refused as error:
                return error

    found = await asyncio.gather(*map(described, page.tables[:_DESCRIBED]))
    rows = [(name, each) for name, each in zip(page.tables, found, strict=False)]
    known = [each for each in found if isinstance(each, dict)]
    with box("tw-body"):
        with box("tw-grid st-figures"):
            figure(t("studio.tables"), t.number(len(page.tables)))
            figure(t("studio.items"), t.number(sum(each.get("ItemCount", 0) for each in known)))
            figure(t("studio.size"), size_text(sum(each.get("TableSizeBytes", 0) for each in known)))
        columns: list[Column[tuple[str, Any]]] = [
            Column(t("studio.table"), lambda row: text(row[0], "tw-mono tw-strong st-table-name", title=row[0])),
            Column(t("studio.keys"), lambda row: _shown(row[1], _keys)),
            Column(t("studio.entities"), lambda row: _entities(page, row[0])),
            Column(t("studio.indexes"), lambda row: _shown(row[1], _index_count), end=True),
            Column(
                t("studio.items"), lambda row: _shown(row[1], lambda each: t.number(each.get("ItemCount", 0))), end=True
            ),
            Column(
                t("studio.size"),
                lambda row: _shown(row[1], lambda each: size_text(each.get("TableSizeBytes", 0))),
                end=True,
            ),
        ]
        units = _consumed(page)
        if units is not None:
            columns.append(Column(t("studio.consumed_units"), lambda row: _units(units, row[0]), end=True))
        draw_table(
            columns,
            rows,
            caption=t("studio.tables"),
            path=lambda row: page.path(f"/tables/{quote(row[0], safe='')}"),
        )
        if len(page.tables) > _DESCRIBED:
            text(t("studio.more_tables", number=t.number(len(page.tables) - _DESCRIBED)), "tw-mute")
        text(t("studio.counts_about"), "tw-mute tw-small")
        _draw_metering(page, page.path("/tables"))


Units = Mapping[str, tuple[Decimal, Decimal]]


def _consumed(page: StudioPage) -> Units | None:
    """The units of each table, as far as an engine in this process has metered them."""
    engine = page.database.engine
    heat = None if engine is None else heat_of(engine)
    return None if heat is None else units_by_table(heat)


def _units(consumed: Units, table: str) -> str:
    read, write = consumed.get(table, (0, 0))
    return f"{units_text(float(read))} / {units_text(float(write))}"


def _draw_metering(page: StudioPage, address: str) -> None:
    """Say what is known of consumed units and throttled requests, and offer to find out."""
    t = page.t
    engine = page.database.engine
    with box("tw-row tw-wrap"):
        if engine is None:
            # CloudWatch has them, which is another service; nothing here asks around the API.
            text(t("studio.units_elsewhere"), "tw-mute tw-small")
            return
        text(t("studio.units_about" if heat_of(engine) is not None else "studio.units_off"), "tw-mute tw-small")
        if heat_of(engine) is None:

            async def start() -> None:
                start_metering(engine)
                await page.open(address)

            button(t("observe.start_metering"), start, small=True, icon_name="play")


def _shown(found: dict[str, Any] | Refused, show: Any) -> object:
    return pill(found.kind, "bad") if isinstance(found, Refused) else show(found)


def _keys(description: Mapping[str, Any]) -> object:
    return text(" · ".join(key_names(description["KeySchema"])), "tw-mono")


def _index_count(description: Mapping[str, Any]) -> str:
    parts = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    return str(sum(len(description.get(each) or ()) for each in parts))


def _entities(page: StudioPage, table: str) -> object:
    names = [schema.entity.__name__ for schema in page.database.schemas(table)]
    with box("tw-row tw-wrap").style("gap: 4px") as made:
        for name in names:
            entity_pill(name, names)
    return made


# -- one table -------------------------------------------------------------------------------------------------------


async def _one(page: StudioPage, name: str) -> None:
    t = page.t
    found = await table_facts(page, name)
    description = found.description
    with page.actions:
        link_button(
            t("studio.items"),
            page.path(f"/items/{quote(name, safe='')}"),
            kind="primary",
            icon_name="table",
            data_key="i",
        )
    with box("tw-body"):
        with box("tw-row-between tw-wrap"):
            with box("tw-row tw-wrap"):
                text(name, "tw-h1 tw-mono-title", "h2")
                status = description.get("TableStatus", "")
                pill(status, "good" if status == "ACTIVE" else "warn")
            draw_table_actions(page, found)
        if found.refused:
            banner(t("studio.not_allowed", what="; ".join(found.refused)), "warn")
        with box("tw-grid st-figures"):
            figure(t("studio.items"), t.number(description.get("ItemCount", 0)))
            figure(t("studio.size"), size_text(description.get("TableSizeBytes", 0)))
            figure(t("studio.indexes"), t.number(len(found.indexes)))
            units = _consumed(page)
            if units is not None:
                figure(t("studio.consumed_units"), _units(units, name), t("studio.no_throttles"))
        _draw_metering(page, page.path(f"/tables/{quote(name, safe='')}"))
        _picture(page, found)
        with box("tw-grid"):
            with card(t("studio.settings")):
                _settings(page, found)
            with card(t("studio.backups")):
                _backups(page, found)


def _settings(page: StudioPage, found: TableFacts) -> None:
    t, description = page.t, found.description
    types = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    with facts():
        fact(t("studio.partition_key"), f"{found.key[0]} ({types[found.key[0]]})")
        if len(found.key) > 1:
            fact(t("studio.sort_key"), f"{found.key[1]} ({types[found.key[1]]})")
        if found.is_on_demand:
            fact(t("studio.billing"), t("studio.on_demand"))
        else:
            units = description.get("ProvisionedThroughput") or {}
            reads, writes = units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)
            fact(t("studio.billing"), t("studio.provisioned", reads=reads, writes=writes))
        fact(t("studio.ttl"), found.ttl or t("studio.off"))
        fact(t("studio.stream"), found.stream or t("studio.off"))
        fact(t("studio.recovery"), t("studio.on") if found.has_recovery else t("studio.off"))
        protected = bool(description.get("DeletionProtectionEnabled"))
        fact(t("studio.protection"), t("studio.on") if protected else t("studio.off"))


def _backups(page: StudioPage, found: TableFacts) -> None:
    t = page.t
    if not found.backups:
        text(t("studio.no_backups"), "tw-mute")
        return
    columns: list[Column[dict[str, Any]]] = [
        Column(t("studio.backup"), lambda each: each["BackupName"]),
        Column(t("studio.status"), lambda each: pill(each["BackupStatus"])),
        Column(t("studio.size"), lambda each: size_text(each.get("BackupSizeBytes", 0)), end=True),
    ]
    draw_table(columns, found.backups, caption=t("studio.backups"))


def _picture(page: StudioPage, found: TableFacts) -> None:
    """The whole: the table and its indexes, with the entities that lie there and the patterns that read there."""
    t = page.t
    declared = page.database.design_of(found.name)
    names = [schema.entity.__name__ for schema in page.database.schemas(found.name)]
    places: list[tuple[str | None, Sequence[str], str]] = [(None, found.key, "")]
    places += [
        (index["IndexName"], key_names(index["KeySchema"]), (index.get("Projection") or {}).get("ProjectionType", ""))
        for index in found.indexes
    ]
    with card(t("studio.whole")), box("st-places"):
        for index, key, projection in places:
            with box("st-place-row"):
                with box("tw-stack-tight st-place-name"):
                    address = page.path(f"/items/{quote(found.name, safe='')}", index=index)
                    with box("tw-link tw-mono", "a", href=address, data_go=True):
                        text(index or t("studio.the_table"))
                    text(" · ".join(key) + (f" · {projection}" if projection else ""), "tw-mute tw-small tw-mono")
                if declared is None:
                    continue
                with box("tw-row tw-wrap").style("gap: 4px"):
                    for name in entities_in(declared[1], index):
                        entity_pill(name, names)
                with box("tw-row tw-wrap st-place-patterns").style("gap: 6px"):
                    for pattern in patterns_of(page, found.name, index):
                        address = page.path(f"/patterns/{quote(declared[0].name, safe='')}/{quote(pattern, safe='')}")
                        with box("st-chip tw-mono", "a", href=address, data_go=True):
                            text(pattern)


def entities_in(table: Table, index: str | None) -> list[str]:
    """The entities of a table, or with entries in one of its indexes."""
    schemas = schemas_of(table)
    if index is None:
        return [schema.entity.__name__ for schema in schemas]
    known = next((each for each in table.indexes if each.name == index), None)
    return [] if known is None else [schema.entity.__name__ for schema in schemas if schema.covers(known)]


def table_of(owner: Schema | type[Collection]) -> Table:
    """The table of an entity or a collection."""
    return owner.table if isinstance(owner, Schema) else owner.members_[0].schemas[0].table


def patterns_of(page: StudioPage, table: str, index: str | None) -> list[str]:
    """The access patterns that read a table, or one of its indexes."""
    found = page.database.design_of(table)
    if found is None:
        return []
    design, declared = found
    return [
        name
        for name, (owner, pattern) in design.patterns.items()
        if table_of(owner) is declared and pattern.index == index
    ]
