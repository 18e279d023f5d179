"""Time: a table as it was at a moment of its recovery window, the history of an item, and what has changed since.

    /time/{table}?at=1800000000.0&pk=CALL%23c-1&item={key as JSON}

``at`` is in epoch seconds; without it, the view is of an hour ago or of when recovery began. What can be restored is
restored as anybody would do it: PutItem of an old version, RestoreTableToPointInTime of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import orjson
from nicegui import ui
from nicegui.events import GenericEventArguments

from tablewright.dynamo import Item
from tablewright.engine import ItemVersion
from tablewright.studio.observe.item_differences import Difference, differences, short_item, short_value
from tablewright.studio.observe.past_reads import PastReads, exact_time
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block, entity_pill, key_names
from tablewright.ui.components import Tone, box, button, empty, link_button, pill, text
from tablewright.ui.feedback import dialog, guarded, toast
from tablewright.ui.forms import Form

__all__ = ["time_view"]

_SHOWN = 25
_VERSION_PAGES = 6
_STEPS = (("observe.day_back", -86_400.0), ("observe.hour_back", -3600.0), ("observe.minute_back", -60.0))
_STEPS_ON = (("observe.minute_on", 60.0), ("observe.hour_on", 3600.0), ("observe.day_on", 86_400.0))


async def time_view(page: StudioPage, table: str = "") -> None:
    await page.look_at(table)
    t = page.t
    if not table:
        if page.tables:
            await page.go(page.path(f"/time/{quote(page.table or page.tables[0], safe='')}"))
        else:
            empty(t("studio.no_tables"), t("studio.no_tables_about"), "database")
        return
    engine = page.database.engine
    recovery = await _recovery(page, table)
    if recovery.get("PointInTimeRecoveryStatus") != "ENABLED" or engine is None:
        key = "observe.no_past_here" if engine is None else "observe.no_recovery"
        path = page.path(f"/tables/{quote(table, safe='')}")
        empty(t(key), t(f"{key}_about"), "clock", lambda: link_button(t("observe.to_table"), path, kind="primary"))
        return
    description = await page.describe(table)
    view = _Time(page, table, description, recovery, PastReads(engine, table))
    page.on_navigate(view.navigate)
    await view.show()


async def _recovery(page: StudioPage, table: str) -> dict[str, Any]:
    answer = await page.database.call("DescribeContinuousBackups", TableName=table)
    found: dict[str, Any] = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    return found


class _Time:
    """The view of one table in one browser tab."""

    def __init__(
        self,
        page: StudioPage,
        table: str,
        description: Mapping[str, Any],
        recovery: Mapping[str, Any],
        past: PastReads,
    ) -> None:
        self._page = page
        self._table = table
        self._key = key_names(description["KeySchema"])
        self._types = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
        self._earliest = float(recovery["EarliestRestorableDateTime"])
        self._latest = float(recovery["LatestRestorableDateTime"])
        self._past = past
        self._names = [schema.entity.__name__ for schema in page.database.schemas(table)]
        self._drawn: tuple[float, str] | None = None
        with box("tw-body st-time"):
            self._head = box("tw-card st-time-head", data_form=True)
            with box("st-time-columns"):
                with box("st-time-main"):
                    self._items = box("tw-card")
                    self._changed = box("tw-card")
                self._side = box("tw-card st-time-side", "aside", aria_label=page.t("observe.history"))

    # -- addresses --------------------------------------------------------------------------------------------------

    @property
    def _at(self) -> float:
        """The moment that the address names, within the window."""
        with suppress(ValueError):
            return min(max(float(self._page.query.get("at", "")), self._earliest), self._latest)
        return max(self._earliest, self._latest - 3600)

    def _address(self, **changes: str | None) -> str:
        query = {**self._page.query, **changes}
        return self._page.path(f"/time/{quote(self._table, safe='')}", **query)

    async def navigate(self, table: str = "") -> None:
        if table != self._table:
            self._page.content.clear()
            with self._page.content:
                await time_view(self._page, table)
            return
        await self.show()

    async def show(self) -> None:
        """Draw what the address says; what is drawn already stays."""
        at, pk = self._at, self._page.query.get("pk", "")
        if (at, pk) != self._drawn:
            self._draw_head(at)
            await self._draw_items(at, pk)
            await self._draw_changed(at)
            self._drawn = at, pk
        await self._draw_history(self._page.query.get("item", ""))

    # -- the moment -------------------------------------------------------------------------------------------------

    def _draw_head(self, at: float) -> None:
        page, t = self._page, self._page.t
        self._head.clear()
        with self._head:
            with box("tw-row tw-wrap st-time-row"):
                with box("tw-stack-tight st-grow"):
                    text(t("observe.as_of"), "tw-mute tw-small")
                    text(exact_time(at), "st-time-now tw-num", "strong")
                for label, seconds in (*_STEPS, *_STEPS_ON):
                    moved = min(max(at + seconds, self._earliest), self._latest)
                    link_button(t(label), self._address(at=f"{moved:.3f}"), small=True)
                link_button(t("observe.latest_time"), self._address(at=f"{self._latest:.3f}"), small=True)
            slider = box(
                "st-slider",
                "input",
                type="range",
                min=f"{self._earliest:.3f}",
                max=f"{self._latest:.3f}",
                step="any",
                value=f"{at:.3f}",
                aria_label=t("observe.as_of"),
                aria_valuetext=exact_time(at),
            )
            slider.on("change", guarded_value(self._moved), js_handler="(event) => emit(event.target.value)")
            with box("tw-row tw-wrap tw-small tw-mute st-time-row"):
                text(exact_time(self._earliest), "tw-num")
                box("st-spacer")
                text(exact_time(self._latest), "tw-num")
            with box("tw-row tw-wrap st-time-row"):
                wanted = ui.input(placeholder=t("observe.partition_value", name=self._key[0]))
                wanted.value = page.query.get("pk", "")
                wanted.classes("tw-input st-grow").props(f'borderless dense aria-label="{t("studio.partition_key")}"')

                async def search() -> None:
                    await page.go(self._address(pk=wanted.value or None))

                wanted.on("keydown.enter", guarded(search), [])
                button(t("observe.show"), search, kind="primary", icon_name="search")
                link_button(t("observe.sql_then"), page.path("/sql", at=f"{at:.3f}"))
                if page.may_write:
                    button(t("observe.restore_table"), self._restore_table, icon_name="undo")

    async def _moved(self, value: str) -> None:
        with suppress(ValueError):
            await self._page.go(self._address(at=f"{float(value):.3f}"))

    # -- items ------------------------------------------------------------------------------------------------------

    async def _draw_items(self, at: float, pk: str) -> None:
        t = self._page.t
        database = self._page.database.at(at)
        if pk:
            answer = await database.call(
                "Query",
                TableName=self._table,
                KeyConditionExpression="#pk = :pk",
                ExpressionAttributeNames={"#pk": self._key[0]},
                ExpressionAttributeValues={":pk": {self._types[self._key[0]]: pk}},
                Limit=_SHOWN,
            )
        else:
            answer = await database.call("Scan", TableName=self._table, Limit=_SHOWN)
        now = await self._present(answer["Items"])
        self._items.clear()
        with self._items:
            text(t("observe.items_then"), "tw-h2", "h2")
            if not answer["Items"]:
                text(t("observe.nothing_then"), "tw-mute")
            with box("st-past-list"):
                for item in answer["Items"]:
                    current = now.get(self._token(item))
                    state = "observe.deleted_since" if current is None else "observe.changed_since"
                    is_same = current == item
                    self._draw_row(item, None if is_same else (t(state), "bad" if current is None else "warn"))
            if "LastEvaluatedKey" in answer:
                text(t("observe.first_of", number=_SHOWN), "tw-mute tw-small")

    async def _present(self, items: list[Item]) -> dict[str, Item]:
        """What the items are now."""
        if not items:
            return {}
        keys = [self._key_of(item) for item in items]
        request = {self._table: {"Keys": keys}}
        answer = await self._page.database.call("BatchGetItem", RequestItems=request)
        return {self._token(item): item for item in answer["Responses"].get(self._table, [])}

    def _draw_row(self, item: Item, state: tuple[str, Any] | None) -> None:
        schema = self._page.database.schema_of_item(self._table, item)
        href = self._address(item=self._token(item))
        with box("st-past-row", "a", href=href, data_go=True):
            with box("tw-row"):
                if schema is not None:
                    entity_pill(schema.entity.__name__, self._names)
                text(self._key_text(item), "tw-mono tw-strong tw-clip")
                box("st-grow")
                if state is not None:
                    pill(*state)
            text(short_item(item, self._key), "tw-mute tw-small tw-clip tw-mono")

    # -- what has changed -------------------------------------------------------------------------------------------

    async def _draw_changed(self, at: float) -> None:
        t = self._page.t
        page = await self._past.changed(at, self._latest)
        self._changed.clear()
        with self._changed:
            with box("tw-row"):
                text(t("observe.changed_items"), "tw-h2", "h2")
                pill(f"{len(page.items)}{'+' if page.next is not None else ''}", "warn" if page.items else "good")
            if not page.items:
                text(t("observe.nothing_changed"), "tw-mute")
            with box("st-past-list"):
                for changed in page.items:
                    kind: tuple[str, Tone] = (
                        ("observe.added", "good")
                        if changed.before is None
                        else ("observe.removed", "bad")
                        if changed.after is None
                        else ("observe.modified", "warn")
                    )
                    href = self._address(item=self._token(changed.key))
                    with box("st-past-row", "a", href=href, data_go=True):
                        with box("tw-row"):
                            pill(t(kind[0]), kind[1])
                            text(self._key_text(changed.key), "tw-mono tw-strong tw-clip")
                            box("st-grow")
                            text(exact_time(changed.at), "tw-mute tw-small tw-num")
                        if changed.before is not None and changed.after is not None:
                            _draw_differences(differences(changed.before, changed.after)[:4])
            if page.next is not None:
                text(t("observe.first_of", number=len(page.items)), "tw-mute tw-small")

    # -- one item ---------------------------------------------------------------------------------------------------

    async def _draw_history(self, token: str) -> None:
        t = self._page.t
        self._side.clear()
        with self._side:
            text(t("observe.history"), "tw-h2", "h2")
            try:
                key = orjson.loads(token) if token else None
            except ValueError:
                key = None
            if not isinstance(key, dict):
                text(t("observe.choose_item"), "tw-mute")
                return
            versions, is_all = await self._versions(key)
            text(self._key_text(key), "tw-mono tw-strong")
            if not is_all:
                text(t("observe.first_of", number=len(versions)), "tw-mute tw-small")
            for number in range(len(versions) - 1, -1, -1):
                version = versions[number]
                before = versions[number - 1].item if number else None
                self._draw_version(key, version.at, before, version.item, is_first=number == 0)

    async def _versions(self, key: Item) -> tuple[list[ItemVersion], bool]:
        """The versions of an item from the moment on, and whether those are all."""
        found: list[ItemVersion] = []
        after: int | None = None
        for _ in range(_VERSION_PAGES):
            page = await self._past.versions(key, self._at, self._latest, after)
            found += page.versions
            after = page.next
            if after is None:
                return found, True
        return found, False

    def _draw_version(self, key: Item, at: float, before: Item | None, item: Item | None, *, is_first: bool) -> None:
        t = self._page.t
        if is_first and item is None:
            return
        with box("st-version"):
            with box("tw-row"):
                text(exact_time(at), "tw-num tw-strong tw-small")
                if item is None:
                    pill(t("observe.removed"), "bad")
                elif before is None:
                    pill(t("observe.first_known") if is_first else t("observe.added"), "good")
                box("st-grow")
                if self._page.may_write and item is not None:
                    button(t("observe.restore_item"), lambda: self._restore_item(item), small=True, icon_name="undo")
            if before is not None and item is not None:
                _draw_differences(differences(before, item))
            elif item is not None:
                with box("", "details"):
                    text(short_item(item, self._key), "tw-small tw-mono", "summary")
                    code_block(orjson.dumps(item, option=orjson.OPT_INDENT_2).decode(), t)

    # -- restoring --------------------------------------------------------------------------------------------------

    async def _restore_item(self, item: Item) -> None:
        t = self._page.t
        body = {"TableName": self._table, "Item": item}
        about = ", ".join(self._key)
        title, action = t("observe.restore_item"), t("studio.restore")
        if await self._page.write("PutItem", body, title=title, action=action, about=about) is not None:
            toast(t("studio.sent", operation="PutItem"))
            self._drawn = None
            recovery = await _recovery(self._page, self._table)
            self._latest = float(recovery["LatestRestorableDateTime"])
            await self.show()

    async def _restore_table(self) -> None:
        t, at = self._page.t, self._at
        with self._page.client, dialog(t("observe.restore_table")) as made:

            async def submit(values: dict[str, Any], key: str) -> None:
                made.submit(values["target"])

            form = Form(t, submit=submit, action=t("studio.restore"))
            form.text("target", t("studio.restore_to"), value=f"{self._table}-restored", most=255)
            form.end()
        target = await made
        if not target:
            return
        body = {"SourceTableName": self._table, "TargetTableName": target, "RestoreDateTime": at}
        title, operation = t("observe.restore_table"), "RestoreTableToPointInTime"
        about = exact_time(at)
        if await self._page.write(operation, body, title=title, action=t("studio.restore"), about=about) is not None:
            await self._page.go(self._page.path(f"/tables/{quote(target, safe='')}"))

    # -- keys -------------------------------------------------------------------------------------------------------

    def _key_of(self, item: Item) -> Item:
        return {name: item[name] for name in self._key}

    def _token(self, item: Item) -> str:
        return orjson.dumps(self._key_of(item)).decode()

    def _key_text(self, item: Item) -> str:
        return " · ".join(short_value(item[name]) for name in self._key if name in item)


def _draw_differences(found: list[Difference]) -> None:
    with box("st-diff"):
        for name, before, after in found:
            text(name, "tw-mono tw-small tw-mute")
            with box("st-diff-values"):
                if before is not None:
                    text(before, "st-diff-old tw-mono tw-small", "del")
                if after is not None:
                    text(after, "st-diff-new tw-mono tw-small", "ins")


def guarded_value(handler: Any) -> Any:
    """A handler of what a control emits, whose errors are said."""

    async def handle(event: GenericEventArguments) -> None:
        await guarded(lambda: handler(str(event.args)[:100]))()

    return handle
