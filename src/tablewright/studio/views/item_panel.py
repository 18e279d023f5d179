"""One item next to the grid: its values, its index entries and guards, related patterns, copies; and its editor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tablewright.dynamo import Item, item_size
from tablewright.model import Schema
from tablewright.studio.items.attribute_text import exact_text, key_token, short_text, token_key
from tablewright.studio.items.item_copies import copies_of
from tablewright.studio.items.item_edits import (
    RefusedChange,
    changed_names,
    delete_request,
    follow_design,
    more_than_one_item,
    put_request,
    update_request,
)
from tablewright.studio.items.item_places import guards_of, index_entries, jumps_of
from tablewright.studio.items.item_search import places_of, typed_name
from tablewright.studio.items.value_tree import item_html
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block, entity_pill, size_text
from tablewright.studio.views.attribute_editor import ItemEditor
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import banner, box, button, empty, icon, section, set_attribute, text
from tablewright.ui.feedback import toast
from tablewright.ui.forms import select

__all__ = ["ItemPanel"]


class ItemPanel:
    """The panel of the open item."""

    def __init__(
        self,
        page: StudioPage,
        table: str,
        description: dict[str, Any],
        outer: ui.element,
        reload: Callable[[], Awaitable[None]],
    ) -> None:
        self._page = page
        self._table = table
        self._description = description
        self._places = places_of(description)
        self._outer = outer
        self._reload = reload
        self._token = ""
        self.is_new = False

    @property
    def _key(self) -> tuple[str, ...]:
        return self._places[0].key

    async def show(self, token: str) -> None:
        """Read an item and draw it; without an item, clear the panel."""
        if not token:
            if not self.is_new:
                self._token = ""
                self._outer.clear()
            return
        self.is_new = False
        self._token = token
        item = await self._read(token)
        self._outer.clear()
        with self._outer:
            if item is None:
                self._draw_head("", None, None)
                empty(self._page.t("studio.item_gone"), "", "inbox")
            else:
                self._draw(item)

    async def _read(self, token: str) -> Item | None:
        """The whole item: an index may have a part of it."""
        try:
            key = token_key(token)
        except ValueError:
            return None
        answer = await self._page.database.call("GetItem", TableName=self._table, Key=key, ConsistentRead=True)
        found: Item | None = answer.get("Item")
        return found

    # -- one item -------------------------------------------------------------------------------------------------

    def _draw(self, item: Item) -> None:
        page, t = self._page, self._page.t
        schema = page.database.schema_of_item(self._table, item)
        self._draw_head(" · ".join(short_text(item[name]) for name in self._key), schema, item)
        keys = {name for place in self._places for name in place.key}
        # The key first, whatever order an item was written in.
        ordered = {**{name: item[name] for name in self._key}, **item}
        ui.html(item_html(ordered, keys, t("studio.more_bytes")), sanitize=False, tag="dl").classes("st-attributes")
        text(size_text(item_size(item)), "tw-mute tw-small")
        self._draw_places(schema, item)
        self._draw_copies(schema, item)

    def _draw_head(self, title: str, schema: Schema | None, item: Item | None) -> None:
        page, t = self._page, self._page.t
        names = [each.entity.__name__ for each in page.database.schemas(self._table)]
        with box("tw-row st-panel-head"):
            if schema is not None:
                entity_pill(schema.entity.__name__, names)
            text(title, "tw-mono tw-strong st-panel-title tw-grow", "h2")
            close = {name: value for name, value in page.query.items() if name != "item"}
            path = page.path(f"/items/{quote(self._table, safe='')}", **close)
            with box("tw-btn tw-btn-icon tw-btn-small", "a", href=path, data_go=True, data_back=True) as made:
                made.props["aria-label"] = t("shell.close")
                icon("close")
        if item is not None and page.may_write:
            with box("tw-row tw-wrap"):
                button(t("studio.edit"), lambda: self._edit(item, schema), icon_name="edit", small=True, key="e")
                button(t("studio.duplicate"), lambda: self._draw_new(item), icon_name="copy", small=True, key="d")
                button(
                    t("studio.delete"),
                    lambda: self._delete(item, schema),
                    kind="danger",
                    icon_name="trash",
                    small=True,
                    key="Delete",
                )

    def _draw_places(self, schema: Schema | None, item: Item) -> None:
        page, t = self._page, self._page.t
        entries = index_entries(item, self._places)
        guards = [] if schema is None else guards_of(schema, item)
        if entries or guards:
            with section(t("studio.elsewhere")), box("tw-stack-tight"):
                for place, key in entries:
                    where = " and ".join(f"{typed_name(name)} = {exact_text(value)}" for name, value in key.items())
                    path = page.path(
                        f"/items/{quote(self._table, safe='')}", index=place.index, where=where, item=self._token
                    )
                    self._link(place.index or "", path)
                for name, key in guards:
                    path = page.path(f"/items/{quote(self._table, safe='')}", item=key_token(key))
                    self._link(t("studio.guard_of", name=name), path)
        found = page.database.design_of(self._table)
        jumps = [] if found is None or schema is None else jumps_of(found[0], schema, item)
        if jumps and found is not None:
            with section(t("studio.read_on")), box("tw-row tw-wrap").style("gap: 6px"):
                for jump in jumps:
                    base = f"/patterns/{quote(found[0].name, safe='')}/{quote(jump.pattern, safe='')}"
                    with box("st-chip tw-mono", "a", href=page.path(base, run="1", **jump.values), data_go=True):
                        text(jump.pattern)

    def _link(self, label: str, path: str) -> None:
        with box("tw-link tw-mono", "a", href=path, data_go=True):
            text(label)

    def _draw_copies(self, schema: Schema | None, item: Item) -> None:
        t = self._page.t
        name = self._page.database.name
        copies = copies_of(self._table, item, schema, name if name.startswith("http") else None)
        with section(t("studio.copy_as")):
            place = box()

            def choose(chosen: str) -> None:
                place.clear()
                with place:
                    content = copies[chosen]
                    code_block(content if len(content) < 20_000 else content[:20_000] + "\n…", t, full=content)

            select({each: each for each in copies}, None, choose, label=t("studio.copy_as"))
            place.move(target_index=-1)
            choose(next(iter(copies)))

    # -- changes --------------------------------------------------------------------------------------------------

    def _edit(self, item: Item, schema: Schema | None) -> None:
        t = self._page.t
        self._outer.clear()
        with self._outer, box("tw-stack", data_form=True):
            text(t("studio.edit"), "tw-h2", "h2")
            if schema is not None:
                text(t("studio.follows_design", name=schema.entity.__name__), "tw-mute tw-small")
            derived = () if schema is None else schema.table.key_attributes
            hidden = [name for name in derived if name not in self._key and name not in schema_attributes(schema)]
            shown = {name: value for name, value in item.items() if name not in hidden}
            editor = ItemEditor(t, shown, self._key)
            problem = box("", role="alert")

            async def save() -> None:
                problem.clear()
                try:
                    after = {**editor.value(), **{name: item[name] for name in hidden if name in item}}
                    if schema is not None:
                        after = follow_design(schema, item, after)
                    body = update_request(self._table, self._key, item, after)
                except ValueError as error:
                    with problem:
                        banner(str(error), "bad")
                    return
                if body is None:
                    toast(t("studio.unchanged"))
                    return
                about = ", ".join(changed_names(item, after))
                await self._send("UpdateItem", body, about, key_token({name: item[name] for name in self._key}))

            self._draw_foot(save, lambda: self.show(self._token))

    def new(self) -> None:
        """An empty item, with the key attributes of the table."""
        types = {each["AttributeName"]: each["AttributeType"] for each in self._description["AttributeDefinitions"]}
        self._draw_new({name: {types[name]: ""} for name in self._key})

    def _draw_new(self, item: Item) -> None:
        t = self._page.t
        self.is_new = True
        set_attribute(self._outer, "data-open", "true")
        self._outer.clear()
        with self._outer, box("tw-stack", data_form=True):
            text(t("studio.new_item"), "tw-h2", "h2")
            editor = ItemEditor(t, item, ())
            problem = box("", role="alert")

            async def save() -> None:
                problem.clear()
                try:
                    made = editor.value()
                    missing = [name for name in self._key if name not in made]
                    if missing:
                        raise RefusedChange(t("studio.key_missing", name=", ".join(missing)))
                    schema = self._page.database.schema_of_item(self._table, made)
                    if schema is not None:
                        made = follow_design(schema, None, made)
                except ValueError as error:
                    with problem:
                        banner(str(error), "bad")
                    return
                body = put_request(self._table, self._key, made)
                await self._send("PutItem", body, ", ".join(made), key_token({name: made[name] for name in self._key}))

            self._draw_foot(save, self._cancel_new)

    async def _cancel_new(self) -> None:
        self.is_new = False
        set_attribute(self._outer, "data-open", "true" if self._token else None)
        await self.show(self._token)

    def _draw_foot(self, save: Callable[[], Awaitable[None]], cancel: Callable[[], Any]) -> None:
        t = self._page.t
        with box("tw-form-foot"):
            button(t("shell.cancel"), cancel)
            button(t("studio.review"), save, kind="primary", data_submit=True)

    async def _delete(self, item: Item, schema: Schema | None) -> None:
        page, t = self._page, self._page.t
        why = None if schema is None else more_than_one_item(schema)
        if schema is not None and why is not None:
            raise Refused(400, "design", t("studio.delete_by_store", name=schema.entity.__name__, why=why), {})
        body = delete_request(self._table, self._key, item)
        answer = await page.write(
            "DeleteItem", body, title=t("studio.delete_ask"), action=t("studio.delete"), about="1 item", danger=True
        )
        if answer is not None:
            toast(t.count("studio.deleted_many", 1))
            query = {name: value for name, value in page.query.items() if name != "item"}
            await page.go(page.path(f"/items/{quote(self._table, safe='')}", **query))
            await self._reload()

    async def _send(self, operation: str, body: dict[str, Any], about: str, token: str) -> None:
        page, t = self._page, self._page.t
        try:
            answer = await page.write(operation, body, title=operation, action=t("studio.send"), about=about)
        except Refused as error:
            if error.kind == "ConditionalCheckFailedException":
                raise Refused(409, "conflict", t("studio.changed_meanwhile"), {}) from None
            raise
        if answer is None:
            return
        toast(t("studio.sent", operation=operation))
        self.is_new = False
        await page.go(page.path(f"/items/{quote(self._table, safe='')}", **{**page.query, "item": token}))
        await self._reload()


def schema_attributes(schema: Schema | None) -> set[str]:
    """The attributes that are fields of an entity."""
    return set() if schema is None else {spec.attribute for spec in schema.fields.values()}
