"""SQL: an editor over tables and entities, what reading them takes, the rows, a chart of them, and exports.

    /sql?query=SELECT ...

A table is read once for all windows of this studio, until somebody reads it again. On an endpoint, what the scan takes
is shown first, and nothing is read before somebody agrees.
"""

from __future__ import annotations

import asyncio
import tempfile
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import ui

from tablewright.sql import LoadProgress, Relation, ScanEstimate, SqlError, SqlResult, SqlSession
from tablewright.store import EmbeddedBackend
from tablewright.studio.observe.result_parts import bar_chart, is_number, result_grid, shown_value
from tablewright.studio.studio_database import StudioDatabase
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import units_text
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import banner, box, button, pill, text
from tablewright.ui.feedback import guarded, toast

__all__ = ["sql_view"]

_ROWS = 1000
_LONGEST_QUERY = 20_000
_EVERY = 0.3
# A file goes to the browser through memory; the command line writes larger ones.
_LARGEST_FILE = 200_000_000
_FILES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "xlsx": "application/octet-stream"}
_sessions: WeakKeyDictionary[Any, SqlSession] = WeakKeyDictionary()


def _session(database: StudioDatabase) -> SqlSession:
    """The session of a studio, which all of its windows share for as long as it runs."""
    found = _sessions.get(database.backend)
    if found is None:
        names = {table.name: database.name_of(table) for design in database.designs for table in design.tables}
        found = _sessions[database.backend] = SqlSession(database.backend, database.designs, table_names=names)
    return found


async def sql_view(page: StudioPage) -> None:
    await page.look_at("")
    try:
        session = await asyncio.to_thread(_session, page.database)
    except ModuleNotFoundError:
        banner(page.t("observe.sql_missing"), "warn")
        return
    view = _Sql(page, session)
    await view.show()


class _Sql:
    """The view in one browser tab."""

    def __init__(self, page: StudioPage, session: SqlSession) -> None:
        self._page = page
        self._session = session
        self._result: SqlResult | None = None
        self._progress: LoadProgress | None = None
        self._is_running = False
        t = page.t
        with box("tw-body st-sql"):
            self._side = box("tw-card st-sql-side", "aside", aria_label=t("observe.relations"))
            with box("st-sql-main"):
                with box("tw-card st-sql-editor", data_form=True):
                    self._editor = ui.textarea(value=page.query.get("query", "")[:_LONGEST_QUERY])
                    self._editor.classes("tw-input st-editor").props(
                        f'borderless dense spellcheck=false maxlength={_LONGEST_QUERY} aria-label="SQL" '
                        'placeholder="SELECT status, count(*) FROM Ticket GROUP BY status"'
                    )
                    self._editor.on("keydown.ctrl.enter.prevent", guarded(self._run), [])
                    with box("tw-row tw-wrap"):
                        button(t("observe.run"), self._run, kind="primary", icon_name="play", data_submit=True)
                        button(t("observe.stop"), self._stop, icon_name="stop", small=True)
                        button(t("observe.read_again"), self._read_again, icon_name="refresh", small=True)
                        box("st-grow")
                        for kind in _FILES:
                            button(
                                kind.upper() if kind != "xlsx" else "Excel",
                                partial(self._export, kind),
                                icon_name="download",
                                small=True,
                            )
                self._status = box("", role="status")
                self._shown = box("tw-card st-sql-result")
        self._timer = ui.timer(_EVERY, self._tell, active=False)

    async def show(self) -> None:
        t = self._page.t
        relations = await self._asked(self._session.relations)
        self._draw_side(relations)
        with self._shown:
            text(t("observe.sql_about"), "tw-mute")
        if self._editor.value:
            await self._run()

    def _draw_side(self, relations: list[Relation]) -> None:
        t = self._page.t
        self._side.clear()
        with self._side:
            for is_entity, title in ((True, "studio.entities"), (False, "studio.tables")):
                some = [relation for relation in relations if relation.is_entity == is_entity]
                if some:
                    text(t(title), "tw-section-title", "h3")
                for relation in some:
                    with box("st-relation", "details"):
                        with box("tw-row", "summary"):
                            text(relation.name, "tw-mono tw-strong tw-clip")
                        for name, kind in relation.columns:
                            with box("tw-row st-relation-column"):
                                text(name, "tw-mono tw-small tw-clip")
                                box("st-grow")
                                text(kind.lower(), "tw-mute tw-small")
                        if not is_entity and self._session.read_at(relation.table) is None:
                            text(t("observe.columns_when_read"), "tw-mute tw-small")
                        button(t("observe.query_it"), partial(self._begin, relation), small=True)

    async def _begin(self, relation: Relation) -> None:
        name = relation.name if relation.name.isidentifier() else '"' + relation.name.replace('"', '""') + '"'
        self._editor.value = f"SELECT *\nFROM {name}\nLIMIT 100"
        await self._run()

    # -- running ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        query = (self._editor.value or "").strip()
        if not query or self._is_running:
            return
        estimate = await self._asked(lambda: self._session.estimate(query))
        self._status.clear()
        if estimate.tables and not isinstance(self._page.database.backend, EmbeddedBackend):
            self._ask(estimate, query)
            return
        await self._query(query)

    def _ask(self, estimate: ScanEstimate, query: str) -> None:
        """Say what has to be read, and read it if somebody agrees."""
        t = self._page.t
        with self._status, box("tw-banner tw-banner-warn"):
            text(
                t(
                    "observe.scan_cost",
                    tables=", ".join(scan.table for scan in estimate.tables),
                    items=t.number(estimate.items),
                    units=units_text(estimate.read_units),
                    dollars=f"${estimate.dollars:.4f}",
                )
            )
            box("st-grow")
            button(t("observe.read_and_run"), lambda: self._query(query), kind="primary", small=True)

    async def _query(self, query: str) -> None:
        result: SqlResult = await self._working(lambda: self._session.query(query, limit=_ROWS, on_progress=self._note))
        self._result = result
        self._draw_result(result)
        self._draw_side(await self._asked(self._session.relations))

    async def _working(self, work: Any) -> Any:
        """The result of something long: what it has read is said, and it can be stopped."""
        self._is_running, self._progress = True, None
        self._timer.activate()
        try:
            return await self._asked(work)
        finally:
            self._is_running = False
            self._timer.deactivate()
            self._status.clear()

    async def _asked(self, work: Any) -> Any:
        try:
            return await asyncio.to_thread(work)
        except SqlError as error:
            raise Refused(400, "sql", str(error), {}) from None

    def _note(self, progress: LoadProgress) -> None:
        self._progress = progress

    def _tell(self) -> None:
        t, progress = self._page.t, self._progress
        self._status.clear()
        with self._status, box("tw-banner tw-banner-info"):
            if progress is None:
                text(t("observe.running"))
            else:
                text(
                    t(
                        "observe.reading",
                        table=progress.table,
                        items=t.number(progress.items),
                        expected=t.number(progress.expected),
                    )
                )

    def _stop(self) -> None:
        self._session.stop()

    async def _read_again(self) -> None:
        self._session.forget()
        await self._run()

    # -- results ----------------------------------------------------------------------------------------------------

    def _draw_result(self, result: SqlResult) -> None:
        t = self._page.t
        self._shown.clear()
        with self._shown:
            with box("tw-row tw-wrap"):
                pill(t("observe.rows", number=t.number(len(result.rows)) + ("+" if result.is_cut else "")), "good")
                text(f"{result.seconds * 1000:,.0f} ms", "tw-mute tw-small")
                for name, count in self._session.unreadable().items():
                    pill(t("observe.unreadable", number=t.number(count), entity=name), "warn")
                if result.is_cut:
                    text(t("observe.rows_cut"), "tw-mute tw-small")
            chart = _chart(result)
            if chart is not None:
                with box("", "details", **({"open": True} if len(result.rows) <= 30 else {})):
                    text(t("observe.chart"), "tw-small tw-strong", "summary")
                    bar_chart(*chart, caption=t("observe.chart"))
            result_grid(result.columns, result.types, result.rows, t("observe.result"))

    async def _export(self, kind: str) -> None:
        query = (self._editor.value or "").strip()
        if not query or self._is_running:
            return

        def made() -> bytes:
            with tempfile.TemporaryDirectory(prefix="tablewright-sql-") as folder:
                path = Path(folder) / f"result.{kind}"
                self._session.export(query, path, on_progress=self._note)
                if path.stat().st_size > _LARGEST_FILE:
                    raise SqlError(self._page.t("observe.too_large"))
                return path.read_bytes()

        content = await self._working(made)
        with self._page.client:
            ui.download.content(content, f"result.{kind}", media_type=_FILES[kind])
        toast(self._page.t("observe.exported", kind=kind.upper()))


def _chart(result: SqlResult) -> tuple[list[str], list[float]] | None:
    """Labels and values of a result that a chart can show: a column of names, and the last one of numbers."""
    if not 2 <= len(result.columns) <= 6 or not 1 < len(result.rows) <= 500:
        return None
    numbers = [
        place
        for place in range(len(result.columns) - 1, 0, -1)
        if all(row[place] is None or is_number(row[place]) for row in result.rows)
        and any(row[place] is not None for row in result.rows)
    ]
    if not numbers:
        return None
    place = numbers[0]
    labels = [" · ".join(shown_value(value) for value in row[: min(place, 2)]) for row in result.rows]
    return labels, [float(row[place] or 0) for row in result.rows]
