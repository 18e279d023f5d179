"""Items: a page of a table or an index, found by typed conditions; and one item next to it.

    /items/{table}?where=status = open&index=...&entity=Task&after=...&item=...

Conditions are planned while they are typed: whether it is a query or a scan, on which index, and its cost. Except for
the first page of a table, nothing is read until the user runs it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tablewright.dynamo import Item
from tablewright.model import Schema
from tablewright.studio.items.attribute_text import key_token, token_key
from tablewright.studio.items.item_grid import columns_of, head_html, rows_html
from tablewright.studio.items.item_search import (
    Condition,
    ItemPlan,
    equal_to,
    parse_conditions,
    places_of,
    plan,
    typed_name,
)
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import counted_units, entity_tone
from tablewright.studio.views.item_panel import ItemPanel
from tablewright.studio.views.many_items import ChosenItems
from tablewright.studio.views.search_verdict import draw_verdict
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, empty, link_button, set_attribute, text
from tablewright.ui.feedback import guarded
from tablewright.ui.forms import select

__all__ = ["items_view"]


async def items_view(page: StudioPage, table: str = "") -> None:
    await page.look_at(table)
    if not table:
        if page.tables:
            # The first one, rather than nothing.
            await page.go(page.path(f"/items/{quote(page.table or page.tables[0], safe='')}"))
        else:
            empty(page.t("studio.no_tables"), page.t("studio.no_tables_about"), "database")
        return
    view = _Items(page, table, await page.describe(table))
    page.on_navigate(view.navigate)
    await view.show()


class _Items:
    """The view of one table in one browser tab."""

    def __init__(self, page: StudioPage, table: str, description: dict[str, Any]) -> None:
        self._page = page
        self._table = table
        self._description = description
        self._places = places_of(description)
        self._schemas = page.database.schemas(table)
        self._names = [schema.entity.__name__ for schema in self._schemas]
        # The search that is drawn, and its items by their names in the address.
        self._shown: dict[str, str] | None = None
        self._items: dict[str, Item] = {}
        # Where the pages before this one began.
        self._before: list[str] = []
        t = page.t
        with box("st-items"):
            self._bar = box("st-bar tw-card", data_form=True)
            with box("st-split"):
                with box("st-grid-col"):
                    self._grid = box("st-grid tw-card")
                    self._foot = box("tw-row st-foot")
                self._side = box("st-item-panel tw-card", "aside", aria_label=t("studio.item"))
        self._panel = ItemPanel(page, table, description, self._side, self._reload)
        self._chosen = ChosenItems(page, table, self._places[0].key, lambda: self._items, self._reload)

    # -- addresses ------------------------------------------------------------------------------------------------

    async def navigate(self, table: str = "") -> None:
        """Another address of the items: another table is another view."""
        if table != self._table:
            self._page.content.clear()
            with self._page.content:
                await items_view(self._page, table)
            return
        await self.show()

    def _address(self, **changes: str | None) -> str:
        query = {**self._page.query, **changes}
        return self._page.path(f"/items/{quote(self._table, safe='')}", **query)

    async def show(self) -> None:
        """Draw what the address says; what is drawn already stays."""
        query = self._page.query
        search = {name: value for name, value in query.items() if name != "item"}
        if search != self._shown:
            self._draw_bar()
            await self._load()
            self._shown = search
        self._mark(query.get("item", ""))
        await self._panel.show(query.get("item", ""))

    async def _reload(self) -> None:
        self._shown = None
        await self.show()

    # -- the search -------------------------------------------------------------------------------------------------

    def _conditions(self, where: str) -> list[Condition]:
        """What the user typed, or the value of the partition key alone; and the entity, if one was chosen."""
        found = parse_conditions(where)
        if self._page.query.get("pk"):
            found.insert(0, equal_to(self._places[0].key[0], self._page.query["pk"]))
        schema = self._schema()
        attribute = None if schema is None else schema.table.type_attribute
        if schema is not None and attribute is not None:
            found.append(equal_to(attribute, schema.type_name))
        return found

    def _schema(self) -> Schema | None:
        wanted = self._page.query.get("entity")
        return next((each for each in self._schemas if each.entity.__name__ == wanted), None)

    def _plan(self, where: str) -> ItemPlan:
        query = self._page.query
        after = query.get("after")
        return plan(
            self._description,
            self._conditions(where),
            index=query.get("index"),
            is_backward=query.get("order") == "down",
            after=None if after is None else token_key(after),
            is_counted=self._page.database.engine is not None,
        )

    def _draw_bar(self) -> None:
        page, t, query = self._page, self._page.t, self._page.query
        self._bar.clear()
        with self._bar:
            indexes = {"": t("studio.any_index")}
            indexes |= {place.index: place.index for place in self._places if place.index is not None}
            select(
                indexes,
                query.get("index", ""),
                lambda chosen: page.go(self._address(index=chosen or None, after=None, item=None)),
                label=t("studio.index"),
            ).classes("st-bar-select")
            if self._names:
                entities = {"": t("studio.any_entity"), **{name: name for name in self._names}}
                select(
                    entities,
                    query.get("entity", ""),
                    lambda chosen: page.go(self._address(entity=chosen or None, after=None, item=None)),
                    label=t("studio.entity"),
                ).classes("st-bar-select")
            if query.get("pk"):
                with box("st-chip tw-mono st-bar-chip"):
                    text(f"{self._places[0].key[0]} = {query['pk']}", "tw-clip")
            hint = t("studio.where_hint", name=typed_name(self._places[0].key[0]))
            where = ui.input(value=query.get("where", ""), placeholder=hint)
            where.classes("tw-input st-where-input").props(f'borderless dense aria-label="{t("studio.where")}"')
            self._verdict = box("tw-row st-verdict", aria_live="polite")

            async def run() -> None:
                # Also what is shown already: it may have changed, or may not have been there.
                self._shown = None
                await page.go(
                    self._address(where=where.value.strip() or None, pk=query.get("pk"), after=None, item=None)
                )

            where.on("keydown.enter", guarded(run), [])
            where.on_value_change(lambda event: self._say(str(event.value or "")))
            button(t("studio.run"), run, kind="primary", icon_name="play", data_submit=True)
            self._draw_order(query.get("order") == "down")
            if page.may_write:
                button(t("studio.new_item"), self._panel.new, icon_name="plus", key="n")
        self._say(query.get("where", ""))

    def _draw_order(self, is_down: bool) -> None:
        """Which end of a partition comes first, where it has an order."""
        page, t = self._page, self._page.t
        place = next((each for each in self._places if each.index == page.query.get("index")), self._places[0])
        if len(place.key) > 1:
            label = t("studio.newest_first" if is_down else "studio.order_up")
            button(
                f"{place.key[1]} {'↓' if is_down else '↑'}",
                lambda: page.go(self._address(order=None if is_down else "down", after=None)),
                classes="tw-mono",
                title=label,
                aria_label=label,
            )

    def _say(self, where: str) -> None:
        draw_verdict(self._page.t, self._verdict, lambda: self._plan(where))

    # -- a page of items ----------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        page, t = self._page, self._page.t
        self._chosen.forget()
        try:
            found = self._plan(page.query.get("where", ""))
        except ValueError as error:
            self._items = {}
            self._grid.clear()
            self._foot.clear()
            with self._grid:
                empty(t("studio.not_understood"), str(error), "filter")
            return
        try:
            answer = await page.database.call(found.operation, **found.body)
        except Refused as error:
            if error.status == 503:
                # The page says so, and opens the view again.
                raise
            self._items = {}
            self._grid.clear()
            self._foot.clear()
            with self._grid:
                empty(t("shell.not_shown"), error.detail, "alert", lambda: button(t("shell.again"), self._reload))
            return
        items: list[Item] = answer["Items"]
        key = self._places[0].key
        if len(items) > _MOST:
            # What a filter found in one request: the next page goes on behind what is shown.
            del items[_MOST:]
            answer["LastEvaluatedKey"] = {name: items[-1][name] for name in (*key, *found.place.key)}
        self._items = {key_token({name: item[name] for name in key}): item for item in items}
        self._draw_rows(found, items)
        self._draw_foot(answer)

    def _draw_rows(self, found: ItemPlan, items: list[Item]) -> None:
        page, t = self._page, self._page.t
        schema = self._schema()
        wanted = () if schema is None else [spec.attribute for spec in schema.fields.values()]
        # Keys first: those of the index, where one is read.
        key = list(dict.fromkeys([*found.place.key, *self._places[0].key]))
        columns = columns_of(items, key, wanted)
        tokens = {id(item): token for token, item in self._items.items()}
        choose = t("studio.choose") if page.may_write else ""
        self._grid.clear()
        with self._grid:
            if not items:
                empty(t("studio.no_items"), t("studio.no_items_about" if found.is_filtered else "studio.no_items_here"))
                return
            with box("st-table", "table") as table:
                text(t("studio.items"), "tw-hidden", "caption")
                ui.html(
                    head_html(
                        columns,
                        select=choose and t("studio.choose_all"),
                        entity=t("studio.entity") if self._names else "",
                    ),
                    sanitize=False,
                    tag="thead",
                )
                ui.html(
                    rows_html(
                        items,
                        columns,
                        address=lambda item: self._address(item=tokens[id(item)]),
                        token=lambda item: tokens[id(item)],
                        entity=self._entity_of if self._names else None,
                        select=choose,
                        link=self._places[0].key[0],
                        chosen=self._chosen.chosen,
                    ),
                    sanitize=False,
                    tag="tbody",
                )
            table.on("change", self._chosen.changed, js_handler=_PICKED)

    def _entity_of(self, item: Item) -> tuple[str, str]:
        schema = self._page.database.schema_of_item(self._table, item)
        if schema is None:
            return "", "neutral"
        name = schema.entity.__name__
        return name, entity_tone(name, self._names)

    def _draw_foot(self, answer: dict[str, Any]) -> None:
        page, t = self._page, self._page.t
        consumed = (answer.get("ConsumedCapacity") or {}).get("CapacityUnits")
        read, shown = answer.get("ScannedCount", 0), len(answer["Items"])
        self._foot.clear()
        with self._foot:
            text(t.count("studio.shown", shown), "tw-mute tw-small")
            if read != shown:
                text(t("studio.of_read", number=t.number(read)), "tw-mute tw-small")
            if consumed is not None:
                text(t("studio.consumed", units=counted_units(t, consumed)), "tw-mute tw-small")
            self._chosen.draw()
            with box("tw-row tw-push"):
                if "after" in page.query:
                    link_button(
                        t("studio.first_page"), self._address(after=None, item=None), small=True, data_key="Home"
                    )
                if self._before and "after" in page.query:
                    button(t("studio.previous"), self._previous, icon_name="back", small=True, key="[")
                last = answer.get("LastEvaluatedKey")
                if last is not None:
                    button(
                        t("studio.next"), lambda: self._next(key_token(last)), icon_name="forward", small=True, key="]"
                    )

    async def _next(self, after: str) -> None:
        self._before.append(self._page.query.get("after", ""))
        await self._page.go(self._address(after=after, item=None))

    async def _previous(self) -> None:
        await self._page.go(self._address(after=self._before.pop() or None, item=None))

    def _mark(self, item: str) -> None:
        """Show which row is open, in the browser: the rows are one piece."""
        self._page.client.run_javascript(f"st.mark({item!r})")
        set_attribute(self._side, "data-open", "true" if item or self._panel.is_new else None)


# A filter may find thousands of small items in one request.
_MOST = 200
_PICKED = "(event) => event.target.dataset.pick && emit([event.target.dataset.pick, event.target.checked])"
