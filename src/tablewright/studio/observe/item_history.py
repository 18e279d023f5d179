"""The history of an item: each version with the attributes that changed; an old version can be restored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import orjson
from nicegui import ui

from tablewright.dynamo import Item
from tablewright.engine import ItemVersion
from tablewright.studio.items.item_edits import more_than_one_item
from tablewright.studio.observe.item_differences import Difference, differences, short_item, short_value
from tablewright.studio.observe.past_reads import PastReads, exact_time
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, pill, text
from tablewright.ui.feedback import toast
from tablewright.ui.texts import Texts

__all__ = ["ItemHistory", "draw_differences", "draw_images", "key_text"]

_VERSION_PAGES = 6


class ItemHistory:
    """The side panel of the view of time: the versions of one item of a table, from a moment on."""

    def __init__(
        self,
        page: StudioPage,
        table: str,
        key: tuple[str, ...],
        past: PastReads,
        side: ui.element,
        on_restored: Callable[[], Awaitable[None]],
    ) -> None:
        self._page = page
        self._table = table
        self._key = key
        self._past = past
        self._side = side
        self._on_restored = on_restored

    async def show(self, token: str, start: float, end: float) -> None:
        """Draw the versions of the item whose key is in the address."""
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
            versions, is_all = await self._versions(key, start, end)
            text(key_text(key, self._key), "tw-mono tw-strong")
            if not is_all:
                text(t("observe.first_of", number=len(versions)), "tw-mute tw-small")
            for number in range(len(versions) - 1, -1, -1):
                version = versions[number]
                before = versions[number - 1].item if number else None
                self._draw_version(version.at, before, version.item, is_first=number == 0)

    async def _versions(self, key: Item, start: float, end: float) -> tuple[list[ItemVersion], bool]:
        """The versions of an item, and whether those are all."""
        found: list[ItemVersion] = []
        after: int | None = None
        for _ in range(_VERSION_PAGES):
            page = await self._past.versions(key, start, end, after)
            found += page.versions
            after = page.next
            if after is None:
                return found, True
        return found, False

    def _draw_version(self, at: float, before: Item | None, item: Item | None, *, is_first: bool) -> None:
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
                    button(t("observe.restore_item"), lambda: self._restore(item), small=True, icon_name="undo")
            if before is not None and item is not None:
                draw_differences(differences(before, item))
            elif item is not None:
                with box("", "details"):
                    text(short_item(item, self._key), "tw-small tw-mono", "summary")
                    code_block(orjson.dumps(item, option=orjson.OPT_INDENT_2).decode(), t)

    async def _restore(self, item: Item) -> None:
        t = self._page.t
        schema = self._page.database.schema_of_item(self._table, item)
        why = None if schema is None else more_than_one_item(schema)
        if schema is not None and why is not None:
            # A put would leave the guards and counters of another version.
            raise Refused(400, "design", t("observe.restore_by_store", name=schema.entity.__name__, why=why), {})
        body = {"TableName": self._table, "Item": item}
        about = ", ".join(self._key)
        title, action = t("observe.restore_item"), t("studio.restore")
        if await self._page.write("PutItem", body, title=title, action=action, about=about) is not None:
            toast(t("studio.sent", operation="PutItem"))
            await self._on_restored()


def key_text(item: Item, key: Sequence[str]) -> str:
    """The key of an item, as readable text."""
    return " · ".join(short_value(item[name]) for name in key if name in item)


def draw_differences(found: list[Difference]) -> None:
    with box("st-diff"):
        for name, before, after in found:
            text(name, "tw-mono tw-small tw-mute")
            with box("st-diff-values"):
                if before is not None:
                    text(before, "st-diff-old tw-mono tw-small", "del")
                if after is not None:
                    text(after, "st-diff-new tw-mono tw-small", "ins")


def draw_images(t: Texts, before: Item | None, after: Item | None, key: Sequence[str]) -> None:
    """An item before and after a change, side by side, without its key; differences are marked."""
    changed = {each.name for each in differences(before, after)} if before and after else set()
    with box("st-images"):
        for title, item, classes in (("before", before, "st-diff-old"), ("after", after, "st-diff-new")):
            with box("st-image"):
                text(t(f"observe.{title}"), "tw-section-title", "div")
                if item is None:
                    text("—", "tw-mute")
                    continue
                for name, value in sorted(item.items()):
                    if name in key:
                        continue
                    with box("st-image-row"):
                        text(name, "tw-mono tw-small tw-mute tw-clip")
                        text(short_value(value), f"tw-mono tw-small {classes if name in changed else ''}")
