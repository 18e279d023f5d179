"""``StudioPage``: a browser tab of the studio, as views know it.

async def items_view(page: StudioPage, table: str = "") -> None:
    description = await page.describe(table)
    answer = await page.database.call("Scan", TableName=table, Limit=50)
    if page.may_write: ...
        await page.write("DeleteItem", {...}, about=t("studio.delete_about"), title=..., names="pk, sk")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import orjson
from nicegui.events import GenericEventArguments

from tablewright.studio.observe.sql_sessions import SqlSessions
from tablewright.studio.studio_database import StudioDatabase
from tablewright.studio.studio_frame import StudioFrame
from tablewright.studio.studio_parts import code_block
from tablewright.studio.studio_view import StudioView
from tablewright.ui.components import box, button, text
from tablewright.ui.feedback import dialog, guarded
from tablewright.ui.frame import Frame
from tablewright.ui.identity.session_cookie import Session
from tablewright.ui.screen_page import Page, Shell
from tablewright.ui.texts import Texts

__all__ = ["StudioPage"]

# Of a request that is longer, a browser is shown the beginning.
_MOST_SHOWN = 100_000
# Side lists are for people; with more tables than this, search is the way.
_MAX_TABLES = 500


class StudioPage(Page):
    """A browser tab of the studio."""

    def __init__(
        self,
        shell: Shell,
        session: Session,
        t: Texts,
        root: str,
        database: StudioDatabase,
        sql: SqlSessions,
        views: tuple[StudioView, ...],
    ) -> None:
        self.database = database
        self.sql = sql
        self.views = views
        # The table that was looked at last, which views are opened for.
        self.table = ""
        self.tables: list[str] = []
        super().__init__(shell, session, t, root)

    def make_frame(self) -> Frame:
        self._studio_frame = StudioFrame(self.t, self.session, self.root, self.database, self.views)
        return self._studio_frame

    @property
    def may_write(self) -> bool:
        return self.database.may_write

    async def look_at(self, table: str) -> None:
        """Read the names of tables, and mark the one that a view is about; each view starts with this."""
        self.tables = await self._table_names()
        if table or self.table not in self.tables:
            self.table = table
        self._studio_frame.show_tables(self.tables, self.table)

    async def describe(self, table: str) -> dict[str, Any]:
        """The description of a table, from DescribeTable."""
        answer = await self.database.call("DescribeTable", TableName=table)
        found: dict[str, Any] = answer["Table"]
        return found

    async def write(
        self, operation: str, body: Mapping[str, Any], *, title: str, action: str, about: str, danger: bool = False
    ) -> dict[str, Any] | None:
        """Show the request, ask for confirmation, send it, and log it; None if the user declined it.

        ``about`` is for the log: what is written, in names and numbers, without values.
        """
        if not await self.confirm_request(operation, body, title=title, action=action, danger=danger):
            return None
        return await self.database.write(operation, body, self.user_id, about)

    async def confirm_request(
        self, operation: str, *bodies: Mapping[str, Any], title: str, action: str, danger: bool = False
    ) -> bool:
        """Show requests as they will be sent, and ask for confirmation; refused if they could not be sent."""
        self.database.check_may_write()
        t = self.t
        shown = "\n".join(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() for body in bodies)
        with self.client, dialog(title) as made:
            text(t.count("studio.will_send", len(bodies), operation=operation), "tw-mute")
            if len(shown) > _MOST_SHOWN:
                text(t("studio.will_send_cut"), "tw-mute tw-small")
            code_block(shown[:_MOST_SHOWN], t, full=shown if len(bodies) == 1 else None)
            with box("tw-form-foot"):
                button(t("shell.cancel"), lambda: made.submit(False))
                button(action, lambda: made.submit(True), kind="danger" if danger else "primary", data_submit=True)
        return bool(await made)

    async def _table_names(self) -> list[str]:
        names: list[str] = []
        start: dict[str, str] = {}
        while len(names) < _MAX_TABLES:
            answer = await self.database.call("ListTables", **start)
            names += answer["TableNames"]
            if "LastEvaluatedTableName" not in answer:
                break
            start = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}
        return names

    async def _searched(self, event: GenericEventArguments) -> None:
        wanted = str(event.args)[:200].strip()
        if wanted:
            await guarded(lambda: self.go(self.root + self._address_of(wanted)))()

    def _address_of(self, wanted: str) -> str:
        """Where to go for what was typed: a view, a table, a pattern, or else the items with that partition key."""
        lower = wanted.lower()
        for view in self.views:
            if self.t(view.title).lower() == lower:
                return view.path_of(self.table)
        for match in (str.__eq__, str.startswith, str.__contains__):
            for table in self.tables:
                if match(table.lower(), lower):
                    return f"/tables/{quote(table, safe='')}"
            for design in self.database.designs:
                for name in design.patterns:
                    if match(name.lower(), lower):
                        return f"/patterns/{quote(design.name, safe='')}/{quote(name, safe='')}"
        table = self.table or next(iter(self.tables), "")
        return f"/items/{quote(table, safe='')}?pk={quote(wanted, safe='')}" if table else "/tables"
