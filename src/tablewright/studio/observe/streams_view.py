"""Streams: the changes of a table as they come, with the item before and after side by side; and its consumers.

    /streams/{table}?entity=Task

The tail reads the stream by DescribeStream, GetShardIterator and GetRecords, from the moment on at which the view is
opened, with no checkpoint, so that it is in nobody's way. Consumers are those whose checkpoints and dead letters are in
the tables of a design.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tablewright.dynamo import Item
from tablewright.model import schemas_of
from tablewright.studio.observe.item_differences import differences, short_value
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import entity_pill, key_names
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import Column, banner, box, button, empty, link_button, pill, text
from tablewright.ui.components import table as draw_table
from tablewright.ui.forms import select

__all__ = ["streams_view"]

_EVERY = 1.0
_KEPT = 200
_SHOWN = 50
_SHARDS = 50
_LOOK_EVERY = 30
_LETTERS = 50
_TONES: dict[str, Any] = {"INSERT": "good", "MODIFY": "warn", "REMOVE": "bad"}


async def streams_view(page: StudioPage, table: str = "") -> None:
    await page.look_at(table)
    t = page.t
    if not table:
        if page.tables:
            await page.go(page.path(f"/streams/{quote(page.table or page.tables[0], safe='')}"))
        else:
            empty(t("studio.no_tables"), t("studio.no_tables_about"), "database")
        return
    description = await page.describe(table)
    arn = description.get("LatestStreamArn")
    if not (description.get("StreamSpecification") or {}).get("StreamEnabled") or arn is None:
        path = page.path(f"/tables/{quote(table, safe='')}")
        about = t("observe.no_stream_about")
        empty(
            t("observe.no_stream"), about, "activity", lambda: link_button(t("observe.to_table"), path, kind="primary")
        )
        return
    view = _Streams(page, table, description, str(arn))
    await view.begin()


class _Tail:
    """Reads what is new in a stream, shard by shard."""

    def __init__(self, page: StudioPage, arn: str) -> None:
        self._page = page
        self._arn = arn
        self._iterators: dict[str, str] = {}
        self._seen: set[str] = set()
        self._reads = 0

    async def read(self) -> list[dict[str, Any]]:
        call = self._page.database.call
        if self._reads % _LOOK_EVERY == 0:
            await self._look()
        self._reads += 1
        found: list[dict[str, Any]] = []
        for shard, iterator in list(self._iterators.items()):
            try:
                answer = await call("GetRecords", ShardIterator=iterator, Limit=100)
            except Refused as error:
                if error.kind not in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                    raise
                del self._iterators[shard]
                self._seen.discard(shard)
                self._reads = 0
                continue
            found += answer["Records"]
            following = answer.get("NextShardIterator")
            if following is None:
                del self._iterators[shard]
                self._reads = 0
            else:
                self._iterators[shard] = following
        return found

    async def _look(self) -> None:
        call = self._page.database.call
        is_first = not self._seen
        answer = await call("DescribeStream", StreamArn=self._arn)
        for shard in answer["StreamDescription"]["Shards"][-_SHARDS:]:
            name, is_open = shard["ShardId"], "EndingSequenceNumber" not in shard["SequenceNumberRange"]
            if name in self._seen:
                continue
            self._seen.add(name)
            if is_open or not is_first:
                kind = "LATEST" if is_first else "TRIM_HORIZON"
                given = await call("GetShardIterator", StreamArn=self._arn, ShardId=name, ShardIteratorType=kind)
                self._iterators[name] = given["ShardIterator"]


class _Streams:
    """The view of one table in one browser tab."""

    def __init__(self, page: StudioPage, table: str, description: Mapping[str, Any], arn: str) -> None:
        self._page = page
        self._table = table
        self._key = key_names(description["KeySchema"])
        self._view_type = description["StreamSpecification"]["StreamViewType"]
        self._names = [schema.entity.__name__ for schema in page.database.schemas(table)]
        self._entity = page.query.get("entity", "")
        self._tail = _Tail(page, arn)
        self._records: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._is_paused = False
        t = page.t
        with box("tw-body st-streams"):
            with box("tw-row tw-wrap"):
                self._state = pill(t("observe.live"), "good", "activity")
                text(self._view_type, "tw-mono tw-small tw-mute")
                box("st-grow")
                if self._names:
                    options = {"": t("observe.all_entities"), **{name: name for name in self._names}}
                    with box("st-narrow"):
                        select(options, self._entity, self._choose, label=t("studio.entities"))
                button(t("observe.pause"), self._pause, icon_name="pause", small=True)
                button(t("observe.clear"), self._clear, icon_name="trash", small=True)
            if self._view_type != "NEW_AND_OLD_IMAGES":
                banner(t("observe.images_missing", kind=self._view_type), "info")
            self._list = box("tw-card st-records", aria_live="polite")
            self._consumers = box("tw-card")

    async def begin(self) -> None:
        # From here on, nothing is missed.
        await self._tail.read()
        self._draw()
        await self._draw_consumers()
        ui.timer(_EVERY, self._follow)

    async def _follow(self) -> None:
        if self._is_paused:
            return
        try:
            records = await self._tail.read()
        except Refused:
            # It is asked again, as an endpoint may be away for a while.
            return
        if records:
            self._records.extendleft(records)
            self._draw()

    def _choose(self, entity: str) -> None:
        self._entity = entity
        self._draw()

    def _pause(self) -> None:
        self._is_paused = not self._is_paused
        t = self._page.t
        self._state.clear()
        with self._state:
            text(t("observe.paused") if self._is_paused else t("observe.live"))

    def _clear(self) -> None:
        self._records.clear()
        self._draw()

    # -- records ----------------------------------------------------------------------------------------------------

    def _entity_of(self, record: Mapping[str, Any]) -> str:
        change = record["dynamodb"]
        item = {**change["Keys"], **(change.get("NewImage") or change.get("OldImage") or {})}
        schema = self._page.database.schema_of_item(self._table, item)
        return "" if schema is None else schema.entity.__name__

    def _draw(self) -> None:
        t = self._page.t
        self._list.clear()
        with self._list:
            shown = [
                (record, entity)
                for record in self._records
                if (entity := self._entity_of(record)) == self._entity or not self._entity
            ][:_SHOWN]
            if not shown:
                text(t("observe.no_changes_yet"), "tw-mute")
            for record, entity in shown:
                self._draw_record(record, entity)

    def _draw_record(self, record: Mapping[str, Any], entity: str) -> None:
        change = record["dynamodb"]
        before: Item | None = change.get("OldImage")
        after: Item | None = change.get("NewImage")
        changed = {each.name for each in differences(before, after)} if before and after else set()
        with box("st-record"):
            with box("tw-row tw-wrap"):
                pill(record["eventName"], _TONES.get(record["eventName"], "neutral"))
                if entity:
                    entity_pill(entity, self._names)
                text(" · ".join(short_value(change["Keys"][name]) for name in self._key), "tw-mono tw-strong tw-clip")
                box("st-grow")
                if "userIdentity" in record:
                    pill("TTL", "neutral", "clock")
                at = datetime.fromtimestamp(float(change["ApproximateCreationDateTime"]), UTC)
                text(at.strftime("%H:%M:%S"), "tw-mute tw-small tw-num", title=at.isoformat())
            with box("st-images"):
                self._draw_image(self._page.t("observe.before"), before, changed, "st-diff-old")
                self._draw_image(self._page.t("observe.after"), after, changed, "st-diff-new")

    def _draw_image(self, title: str, item: Item | None, changed: set[str], classes: str) -> None:
        with box("st-image"):
            text(title, "tw-section-title")
            if item is None:
                text("—", "tw-mute")
                return
            for name, value in sorted(item.items()):
                if name in self._key:
                    continue
                with box("st-image-row"):
                    text(name, "tw-mono tw-small tw-mute tw-clip")
                    text(short_value(value), f"tw-mono tw-small {classes if name in changed else ''}")

    # -- consumers --------------------------------------------------------------------------------------------------

    async def _draw_consumers(self) -> None:
        """Checkpoints and dead letters, as items of the internal tables of a design."""
        t = self._page.t
        found: list[tuple[str, str, Item]] = []
        for design in self._page.database.designs:
            for each in design.all_tables:
                names = {schema.entity.__name__ for schema in schemas_of(each)}
                name = self._page.database.name_of(each)
                if {"Checkpoint", "DeadLetter"} <= names and name in self._page.tables:
                    answer = await self._page.database.call("Scan", TableName=name, Limit=_LETTERS * 4)
                    for item in answer["Items"]:
                        schema = self._page.database.schema_of_item(name, item)
                        kind = "" if schema is None else schema.entity.__name__
                        if kind in ("Checkpoint", "DeadLetter"):
                            found.append((kind, name, item))
        self._consumers.clear()
        with self._consumers:
            text(t("observe.consumers"), "tw-h2", "h2")
            if not found:
                text(t("observe.no_consumers"), "tw-mute")
                return
            columns: list[Column[tuple[str, str, Item]]] = [
                Column(t("observe.consumer"), lambda row: text(_attribute(row[2], "consumer"), "tw-mono tw-strong")),
                Column(
                    t("studio.what"),
                    lambda row: pill(row[0], "bad" if row[0] == "DeadLetter" else "good"),
                ),
                Column(t("observe.position"), lambda row: text(_attribute(row[2], "sequence"), "tw-mono tw-clip")),
                Column(t("observe.attempts"), lambda row: _attribute(row[2], "attempts"), end=True),
                Column(t("observe.error"), lambda row: text(_attribute(row[2], "error"), "tw-clip")),
            ]
            draw_table(columns, found[:_LETTERS], caption=t("observe.consumers"))
            text(t("observe.replay_about"), "tw-mute tw-small", "p")


def _attribute(item: Item, name: str) -> str:
    return short_value(item[name]) if name in item else ""
