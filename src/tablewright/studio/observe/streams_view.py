"""Streams: the changes of a table as they come, with the item before and after side by side; and its consumers.

    /streams/{table}?entity=Task

The tail reads the stream with DescribeStream, GetShardIterator and GetRecords, from when the view is opened, without a
checkpoint, so that it does not affect consumers. Below are the consumers of the stream (``consumers_part``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import orjson
from nicegui import ui

from tablewright.dynamo import Item
from tablewright.studio.observe.consumers_part import StreamConsumers
from tablewright.studio.observe.item_differences import short_value
from tablewright.studio.observe.item_history import draw_images
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import entity_pill, key_names
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import Tone, banner, box, button, empty, link_button, pill, text
from tablewright.ui.forms import select

__all__ = ["streams_view"]

_EVERY = 1.0
_KEPT = 200
_SHOWN = 50
_SHARDS = 50
_LOOK_EVERY = 30
_CONSUMERS_EVERY = 5.0
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
        # A stream that was turned off, or whose table was deleted, can be read for a day, and nothing is added to it.
        self.has_ended = False

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
        self.has_ended = answer["StreamDescription"].get("StreamStatus") in ("DISABLING", "DISABLED")
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
        self._is_away = False
        self._shown_state = ""
        t = page.t
        with box("tw-body st-streams"):
            with box("tw-row tw-wrap"):
                self._state = box("")
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
            self._consumers = StreamConsumers(page, arn, self._key)

    async def begin(self) -> None:
        # From here on, nothing is missed.
        await self._tail.read()
        self._show_state()
        self._draw()
        await self._consumers.show()
        ui.timer(_EVERY, self._follow)
        ui.timer(_CONSUMERS_EVERY, self._follow_consumers)

    async def _follow(self) -> None:
        if self._is_paused:
            return
        try:
            records = await self._tail.read()
        except Refused:
            # It is asked again, as an endpoint may be away for a while.
            self._is_away = True
            self._show_state()
            return
        self._is_away = False
        self._show_state()
        if records:
            self._records.extendleft(records)
            self._draw()

    async def _follow_consumers(self) -> None:
        if not self._is_paused:
            with suppress(Refused):
                await self._consumers.show()

    def _choose(self, entity: str) -> None:
        self._entity = entity
        self._draw()
        # The address is that of what is shown.
        address = self._page.path(f"/streams/{quote(self._table, safe='')}", entity=entity or None)
        self._page.client.run_javascript(f"tw.push({orjson.dumps(address).decode()})")

    def _pause(self) -> None:
        self._is_paused = not self._is_paused
        self._show_state()

    def _show_state(self) -> None:
        is_over = self._tail.has_ended
        state = "paused" if self._is_paused else "away" if self._is_away else "ended" if is_over else "live"
        if state != self._shown_state:
            self._shown_state = state
            self._state.clear()
            with self._state:
                tones: dict[str, Tone] = {"paused": "neutral", "away": "bad", "ended": "warn", "live": "good"}
                pill(self._page.t(f"observe.{state}"), tones[state], "activity")

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
            draw_images(self._page.t, before, after, self._key)
