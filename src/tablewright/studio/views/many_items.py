"""Items that were chosen in the grid, and what is done with all of them at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from tablewright.dynamo import Item
from tablewright.dynamo.limits import MAX_BATCH_WRITES
from tablewright.studio.items.attribute_text import token_key
from tablewright.studio.studio_page import StudioPage
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button
from tablewright.ui.feedback import toast

__all__ = ["ChosenItems"]

_ROUNDS = 8


class ChosenItems:
    """Which items of a page are chosen."""

    def __init__(
        self,
        page: StudioPage,
        table: str,
        items: Callable[[], Mapping[str, Item]],
        reload: Callable[[], Awaitable[None]],
    ) -> None:
        self._page = page
        self._table = table
        self._items = items
        self._reload = reload
        self._chosen: dict[str, None] = {}
        self._place: ui.element | None = None

    def forget(self) -> None:
        self._chosen.clear()

    def changed(self, event: GenericEventArguments) -> None:
        token, is_chosen = event.args
        if token not in self._items():
            return
        if is_chosen:
            self._chosen[token] = None
        else:
            self._chosen.pop(token, None)
        self._draw_actions()

    def draw(self) -> None:
        self._place = box("tw-row")
        self._draw_actions()

    def _draw_actions(self) -> None:
        if self._place is None or self._place.is_deleted:
            return
        t = self._page.t
        self._place.clear()
        if self._chosen:
            with self._place:
                label = t.count("studio.delete_many", len(self._chosen))
                button(label, self._delete, kind="danger", icon_name="trash", small=True)

    async def _delete(self) -> None:
        page, t = self._page, self._page.t
        deletes = [{"DeleteRequest": {"Key": token_key(token)}} for token in self._chosen]
        label = t.count("studio.delete_many", len(deletes))
        body: dict[str, Any] = {"RequestItems": {self._table: deletes}}
        if not await page.confirm_request("BatchWriteItem", body, title=f"{label}?", action=label, danger=True):
            return
        for start in range(0, len(deletes), MAX_BATCH_WRITES):
            part = deletes[start : start + MAX_BATCH_WRITES]
            await self._send(part)
        toast(t.count("studio.deleted_many", len(deletes)))
        await self._reload()

    async def _send(self, deletes: list[dict[str, Any]]) -> None:
        """Send a batch, and again what was not processed of it."""
        left: dict[str, Any] = {self._table: deletes}
        for _ in range(_ROUNDS):
            about = f"{len(left[self._table])} items"
            answer = await self._page.database.write(
                "BatchWriteItem", {"RequestItems": left}, self._page.user_id, about
            )
            left = answer.get("UnprocessedItems") or {}
            if not left:
                return
        raise Refused(503, "unprocessed", self._page.t("studio.unprocessed"), {})
