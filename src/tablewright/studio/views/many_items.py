"""The items selected in the grid, and actions on all of them: set an attribute, or delete them.

Each item is a request of its own, or a part of a batch, so some may be refused: the result lists what was done, and
what was not done and why; the latter stays selected.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from tablewright.dynamo import Item
from tablewright.dynamo.limits import MAX_BATCH_WRITES
from tablewright.studio.items.attribute_text import key_token, token_key
from tablewright.studio.items.item_edits import more_than_one_item
from tablewright.studio.items.item_places import key_text
from tablewright.studio.items.many_edits import changes_of_all
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.views.attribute_editor import AttributeEditor
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import banner, box, button, text
from tablewright.ui.feedback import dialog, toast

__all__ = ["ALL", "ChosenItems"]

ALL = "*"
"""What the grid reports for the checkbox that selects all items of the page."""

_ROUNDS = 8
_KEYS_READ = 100
_REASONS = 5


class ChosenItems:
    """The selected items of a page."""

    def __init__(
        self,
        page: StudioPage,
        table: str,
        key: tuple[str, ...],
        items: Callable[[], Mapping[str, Item]],
        reload: Callable[[], Awaitable[None]],
    ) -> None:
        self._page = page
        self._table = table
        self._key = key
        self._items = items
        self._reload = reload
        self._chosen: dict[str, None] = {}
        self._place: ui.element | None = None
        # What was not done, and why, until something else is chosen.
        self._failed: dict[str, str] = {}

    def forget(self) -> None:
        """Clear the selection, except for items that could not be changed; the page is redrawn afterwards."""
        self._chosen = dict.fromkeys(self._failed)

    def changed(self, event: GenericEventArguments) -> None:
        token, is_chosen = event.args
        tokens = list(self._items()) if token == ALL else [token] if token in self._items() else []
        for each in tokens:
            if is_chosen:
                self._chosen[each] = None
            else:
                self._chosen.pop(each, None)
        self._failed = {}
        self._draw_actions()

    @property
    def chosen(self) -> list[str]:
        """The names of the selected items that are on the page."""
        return [token for token in self._chosen if token in self._items()]

    def draw(self) -> None:
        self._place = box("tw-row tw-wrap st-chosen")
        self._draw_actions()

    def _draw_actions(self) -> None:
        if self._place is None or self._place.is_deleted:
            return
        t, chosen = self._page.t, self.chosen
        self._place.clear()
        with self._place:
            if chosen:
                label = t.count("studio.edit_many", len(chosen))
                button(label, self._edit, icon_name="edit", small=True, key="E")
                label = t.count("studio.delete_many", len(chosen))
                button(label, self._delete, kind="danger", icon_name="trash", small=True)
            if self._failed:
                self._draw_failed()

    def _draw_failed(self) -> None:
        t = self._page.t
        reasons = [f"{key_text(token_key(token))}: {reason}" for token, reason in list(self._failed.items())[:_REASONS]]
        if len(self._failed) > _REASONS:
            reasons.append(t("studio.further", number=t.number(len(self._failed) - _REASONS)))
        banner(t.count("studio.not_done", len(self._failed)) + " " + "; ".join(reasons), "bad")

    # -- setting an attribute -----------------------------------------------------------------------------------------

    async def _edit(self) -> None:
        """Ask for an attribute and its value, and give it to all items that are chosen."""
        page, t, tokens = self._page, self._page.t, self.chosen
        page.database.check_may_write()
        title = t.count("studio.edit_many", len(tokens))
        with page.client, dialog(title) as made:
            text(t("studio.edit_many_about"), "tw-mute", "p")
            editor = AttributeEditor(t)
            with box("tw-form-foot"):
                button(t("shell.cancel"), lambda: made.submit(None))
                button(t("studio.remove_attribute"), lambda: made.submit("remove"))
                button(t("studio.review"), lambda: made.submit("set"), kind="primary", data_submit=True)
        wanted = await made
        if wanted not in ("set", "remove"):
            return
        schema_of = lambda item: page.database.schema_of_item(self._table, item)  # noqa: E731
        items = await self._whole(tokens)
        try:
            name, value = editor.name, None if wanted == "remove" else editor.value()
            changes = changes_of_all(self._table, self._key, items, schema_of, name, value)
        except ValueError as error:
            raise Refused(400, "edit", str(error), {}) from None
        requests, failed = changes.requests, changes.refused
        if requests:
            action = t("studio.send")
            if not await page.confirm_request("UpdateItem", *requests.values(), title="UpdateItem", action=action):
                return
            failed |= await self._send_each(requests, name)
        if not requests and not failed:
            toast(t("studio.unchanged"))
            return
        await self._done("studio.edited_many", len(requests) - sum(token in requests for token in failed), failed)

    async def _send_each(self, requests: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, str]:
        """Send one after the other; returns why some were refused. After one without a response, no more are sent."""
        failed: dict[str, str] = {}
        is_away = ""
        for token, body in requests.items():
            if is_away:
                failed[token] = is_away
                continue
            try:
                await self._page.database.write("UpdateItem", body, self._page.user_id, name)
            except Refused as error:
                is_conflict = error.kind == "ConditionalCheckFailedException"
                failed[token] = self._page.t("studio.changed_by_other") if is_conflict else error.detail
                is_away = error.detail if error.status == 503 else ""
        return failed

    async def _whole(self, tokens: list[str]) -> dict[str, Item]:
        """The items as they are in the table: an index may have a part of each."""
        found: dict[str, Item] = {}
        for start in range(0, len(tokens), _KEYS_READ):
            keys = [token_key(token) for token in tokens[start : start + _KEYS_READ]]
            request: dict[str, Any] = {self._table: {"Keys": keys, "ConsistentRead": True}}
            while request:
                answer = await self._page.database.call("BatchGetItem", RequestItems=request)
                for item in answer["Responses"].get(self._table, ()):
                    found[key_token({name: item[name] for name in self._key})] = item
                request = answer.get("UnprocessedKeys") or {}
        return found

    # -- deleting -----------------------------------------------------------------------------------------------------

    async def _delete(self) -> None:
        page, t, tokens = self._page, self._page.t, self.chosen
        failed: dict[str, str] = {}
        for token in tokens:
            schema = page.database.schema_of_item(self._table, self._items()[token])
            why = None if schema is None else more_than_one_item(schema)
            if schema is not None and why is not None:
                failed[token] = t("studio.delete_by_store", name=schema.entity.__name__, why=why)
        wanted = [token for token in tokens if token not in failed]
        parts = [wanted[start : start + MAX_BATCH_WRITES] for start in range(0, len(wanted), MAX_BATCH_WRITES)]
        bodies = [{"RequestItems": {self._table: [_deletion(token) for token in part]}} for part in parts]
        label = t.count("studio.delete_many", len(wanted))
        if bodies:
            title = f"{label}?"
            if not await page.confirm_request("BatchWriteItem", *bodies, title=title, action=label, danger=True):
                return
            for part in parts:
                failed |= await self._delete_part(part)
        await self._done("studio.deleted_many", len(tokens) - len(failed), failed)

    async def _delete_part(self, tokens: list[str]) -> dict[str, str]:
        """Send a batch, and again what was not processed of it; returns what was not deleted, and why."""
        left: dict[str, Any] = {self._table: [_deletion(token) for token in tokens]}
        reason = self._page.t("studio.unprocessed")
        for _ in range(_ROUNDS):
            about = f"{len(left[self._table])} items"
            try:
                answer = await self._page.database.write(
                    "BatchWriteItem", {"RequestItems": left}, self._page.user_id, about
                )
            except Refused as error:
                reason = error.detail
                break
            left = answer.get("UnprocessedItems") or {}
            if not left:
                return {}
        return {key_token(each["DeleteRequest"]["Key"]): reason for each in left[self._table]}

    # -- afterwards ---------------------------------------------------------------------------------------------------

    async def _done(self, words: str, number: int, failed: dict[str, str]) -> None:
        """Say what was done, and show the page as it is now."""
        self._failed = failed
        if number or not failed:
            toast(self._page.t.count(words, number))
        await self._reload()


def _deletion(token: str) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": token_key(token)}}
