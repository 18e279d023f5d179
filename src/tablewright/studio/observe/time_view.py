"""Time: a table as it was at a moment of its recovery window, the history of an item, and what has changed since.

    /time/{table}?at=1800000000.0&until=1800003600.0&where=status = open&index=...&item={key as JSON}

``at`` and ``until`` are in epoch seconds. Without the first, the view shows an hour ago, or the start of recovery; it
compares that with the present, or with ``until``. Conditions are those of the view of items, so an index can be queried
as of that time too. Restoring uses DynamoDB's own requests: PutItem of an old version, RestoreTableToPointInTime of the
table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import orjson
from nicegui import ui

from tablewright.dynamo import Item
from tablewright.engine import ChangedItem
from tablewright.studio.items.item_search import places_of
from tablewright.studio.observe.item_differences import differences, short_item
from tablewright.studio.observe.item_history import ItemHistory, draw_differences, key_text
from tablewright.studio.observe.past_reads import PastReads, exact_time, past_page, plan_then
from tablewright.studio.observe.time_moments import Moments
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import entity_pill, key_names
from tablewright.studio.views.search_verdict import draw_verdict
from tablewright.ui.components import Tone, box, button, empty, link_button, pill, text
from tablewright.ui.feedback import dialog, guarded
from tablewright.ui.forms import Form, select

__all__ = ["time_view"]


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
    view = _Time(page, table, await page.describe(table), PastReads(engine, table))
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
        past: PastReads,
    ) -> None:
        self._page = page
        self._table = table
        self._description = description
        self._key = key_names(description["KeySchema"])
        self._past = past
        self._moments = Moments(page, self._address)
        self._names = [schema.entity.__name__ for schema in page.database.schemas(table)]
        # The moments and the search that are drawn, and the part of it that the changes are of.
        self._drawn: tuple[float | str | None, ...] | None = None
        self._changes: tuple[float | str | None, ...] | None = None
        with box("tw-body st-time"):
            self._head = box("tw-card st-time-head", data_form=True)
            with box("st-time-columns"):
                with box("st-time-main"):
                    self._items = box("tw-card")
                    self._changed = box("tw-card")
                side = box("tw-card st-time-side", "aside", aria_label=page.t("observe.history"))
        self._history = ItemHistory(page, table, self._key, past, side, self._restored)

    # -- addresses --------------------------------------------------------------------------------------------------

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
        query, moments = self._page.query, self._moments
        search = tuple(query.get(name) for name in ("at", "until", "where", "index", "after", "more"))
        if search != self._drawn:
            moments.look(await _recovery(self._page, self._table))
            self._draw_head()
            await self._draw_items()
            changes = (query.get("at"), query.get("until"), query.get("more"))
            if changes != self._changes or self._drawn is None:
                await self._draw_changed()
            self._drawn, self._changes = search, changes
        await self._history.show(query.get("item", ""), moments.at, moments.end)

    # -- the moment -------------------------------------------------------------------------------------------------

    def _draw_head(self) -> None:
        self._head.clear()
        with self._head:
            self._moments.draw()
            self._draw_search(self._moments.at)

    def _draw_search(self, at: float) -> None:
        """What to look for as of then, in the words of the view of items."""
        page, t, query = self._page, self._page.t, self._page.query
        with box("st-bar st-time-search"):
            indexes = {"": t("studio.any_index")}
            indexes |= {place.index: place.index for place in places_of(self._description) if place.index is not None}
            select(
                indexes,
                query.get("index", ""),
                lambda chosen: page.go(self._address(index=chosen or None, after=None)),
                label=t("studio.index"),
            ).classes("st-bar-select")
            where = ui.input(value=query.get("where", ""), placeholder=t("observe.where_hint", name=self._key[0]))
            where.classes("tw-input st-where-input").props(f'borderless dense aria-label="{t("studio.where")}"')
            verdict = box("tw-row st-verdict", aria_live="polite")

            def say(typed: str) -> None:
                draw_verdict(t, verdict, lambda: plan_then(self._description, typed, query.get("index"), None))

            async def search() -> None:
                # Also what is shown already: there may be more changes by now.
                self._drawn = None
                await page.go(self._address(where=where.value.strip() or None, after=None))

            where.on("keydown.enter", guarded(search), [])
            where.on_value_change(lambda event: say(str(event.value or "")))
            button(t("observe.show"), search, kind="primary", icon_name="search", data_submit=True)
            link_button(t("observe.sql_then"), page.path("/sql", at=f"{at:.3f}"))
            if page.may_write:
                button(t("observe.restore_table"), self._restore_table, icon_name="undo")
        say(query.get("where", ""))

    # -- items ------------------------------------------------------------------------------------------------------

    async def _draw_items(self) -> None:
        t, query = self._page.t, self._page.query
        self._items.clear()
        try:
            found = plan_then(self._description, query.get("where", ""), query.get("index"), query.get("after"))
        except ValueError as error:
            with self._items:
                empty(t("studio.not_understood"), str(error), "filter")
            return
        at, until = self._moments.at, self._moments.until
        page = await past_page(self._page.database, self._description, found, at, until)
        with self._items:
            text(t("observe.items_then"), "tw-h2", "h2")
            if not page.items:
                text(t("observe.nothing_then"), "tw-mute")
            with box("st-past-list"):
                for item, now in page.items:
                    state = f"observe.{'deleted' if now is None else 'changed'}_{'since' if until is None else 'then'}"
                    self._draw_row(item, None if now == item else (t(state), "bad" if now is None else "warn"))
            with box("tw-row st-time-row"):
                if "after" in query:
                    link_button(t("studio.first_page"), self._address(after=None), small=True)
                if page.after is not None:
                    link_button(
                        t("studio.next"), self._address(after=page.after), icon_name="forward", small=True, data_key="]"
                    )

    def _draw_row(self, item: Item, state: tuple[str, Any] | None) -> None:
        schema = self._page.database.schema_of_item(self._table, item)
        href = self._address(item=self._token(item))
        with box("st-past-row", "a", href=href, data_go=True, data_row=True):
            with box("tw-row"):
                if schema is not None:
                    entity_pill(schema.entity.__name__, self._names)
                text(key_text(item, self._key), "tw-mono tw-strong tw-clip")
                box("st-grow")
                if state is not None:
                    pill(*state)
            text(short_item(item, self._key), "tw-mute tw-small tw-clip tw-mono")

    # -- what has changed -------------------------------------------------------------------------------------------

    async def _draw_changed(self) -> None:
        t, moments, more = self._page.t, self._moments, self._page.query.get("more", "")
        after = int(more) if more.isascii() and more.isdigit() and len(more) < 19 else None
        page = await self._past.changed(moments.at, moments.end, after)
        is_now = moments.until is None
        self._changed.clear()
        with self._changed:
            with box("tw-row tw-wrap"):
                text(t("observe.changed_items" if is_now else "observe.changed_between"), "tw-h2", "h2")
                pill(f"{len(page.items)}{'+' if page.next is not None else ''}", "warn" if page.items else "good")
                if not is_now:
                    text(f"{exact_time(moments.at)} → {exact_time(moments.end)}", "tw-mute tw-small tw-num")
            if not page.items:
                text(t("observe.nothing_changed" if is_now else "observe.nothing_between"), "tw-mute")
            with box("st-past-list"):
                for changed in page.items:
                    self._draw_change(changed)
            with box("tw-row st-time-row"):
                if after is not None:
                    link_button(t("studio.first_page"), self._address(more=None), small=True)
                if page.next is not None:
                    path = self._address(more=str(page.next))
                    link_button(t("observe.more_changes"), path, icon_name="forward", small=True)

    def _draw_change(self, changed: ChangedItem) -> None:
        kind: tuple[str, Tone] = (
            ("observe.added", "good")
            if changed.before is None
            else ("observe.removed", "bad")
            if changed.after is None
            else ("observe.modified", "warn")
        )
        href = self._address(item=self._token(changed.key))
        with box("st-past-row", "a", href=href, data_go=True, data_row=True):
            with box("tw-row"):
                pill(self._page.t(kind[0]), kind[1])
                text(key_text(changed.key, self._key), "tw-mono tw-strong tw-clip")
                box("st-grow")
                text(exact_time(changed.at), "tw-mute tw-small tw-num st-row-time")
            if changed.before is not None and changed.after is not None:
                draw_differences(differences(changed.before, changed.after)[:4])

    # -- restoring --------------------------------------------------------------------------------------------------

    async def _restored(self) -> None:
        self._drawn = None
        await self.show()

    async def _restore_table(self) -> None:
        t, at = self._page.t, self._moments.at
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
