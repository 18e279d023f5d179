"""SQL: an editor over tables and entities, the cost of reading them, the rows, a chart of them, and exports.

    /sql?query=SELECT ...&at=1800000000.0

A table is read once for all windows of this studio, until a user reads it again (``sql_sessions``). With ``at``, in
epoch seconds, tables are as they were then. On an endpoint, the cost of the scan is shown first, and nothing is read
before it is confirmed.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import orjson
from nicegui import ui

from tablewright.sql import LoadProgress, Relation, ScanEstimate, SqlError, SqlResult, SqlSession
from tablewright.studio.observe.past_reads import exact_time, moment_in
from tablewright.studio.observe.result_parts import bar_chart, is_number, result_grid, shown_value
from tablewright.studio.observe.time_moments import moment_input, moment_of
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import units_text
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import banner, box, button, loading, pill, text
from tablewright.ui.feedback import guarded, toast

__all__ = ["sql_view"]

_ROWS = 1000
_LONGEST_QUERY = 20_000
_EVERY = 0.3
# A file goes to the browser through memory; the command line writes larger ones.
_LARGEST_FILE = 200_000_000
_FILES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "xlsx": "application/octet-stream"}
_FILE_NAMES = {"csv": "CSV", "parquet": "Parquet", "xlsx": "Excel"}
# An address that is longer may lead nowhere.
_LONGEST_ADDRESS = 2000
_T = TypeVar("_T")


async def sql_view(page: StudioPage) -> None:
    await page.look_at("")
    t = page.t
    try:
        at = moment_in(page.query)
    except ValueError:
        banner(t("observe.no_moment"), "bad")
        return
    if at is not None and page.database.engine is None:
        banner(f"{t('observe.no_past_here')}. {t('observe.no_past_here_about')}", "warn")
        return
    try:
        await _Sql(page, at).show()
    except ModuleNotFoundError:
        page.content.clear()
        with page.content:
            banner(t("observe.sql_missing"), "warn")


class _Sql:
    """The view in one browser tab."""

    def __init__(self, page: StudioPage, at: float | None) -> None:
        self._page = page
        # The moment that tables are read of; None for the present.
        self._at = at
        self._progress: LoadProgress | None = None
        self._is_running = False
        # The session, while the query of this window runs in it; and whether the user has stopped it.
        self._running: SqlSession | None = None
        self._stopped = threading.Event()
        t = page.t
        with box("tw-body st-sql"):
            self._side = box("tw-card st-sql-side", "aside", aria_label=t("observe.relations"))
            with box("st-sql-main"):
                with box("tw-card st-sql-editor", data_form=True):
                    if page.database.engine is not None:
                        self._draw_moment()
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
                                _FILE_NAMES[kind],
                                partial(self._export, kind),
                                icon_name="download",
                                small=True,
                            )
                self._status = box("", role="status")
                self._shown = box("tw-card st-sql-result")
        self._timer = ui.timer(_EVERY, self._show_progress, active=False)

    async def show(self) -> None:
        t = self._page.t
        with self._side:
            loading()
        with self._shown:
            text(t("observe.sql_about"), "tw-mute")
        await self._draw_relations()
        if self._editor.value:
            try:
                await self._run()
            except Refused as error:
                # The query of an address may be wrong; it is there to be corrected.
                with self._status:
                    banner(error.detail, "bad")

    # -- the moment -------------------------------------------------------------------------------------------------

    def _draw_moment(self) -> None:
        """The time at which tables are read: now, or a time that the user types."""
        t, at = self._page.t, self._at
        with box("tw-row tw-wrap st-moment"):
            text(t("observe.as_of_utc"), "tw-mute tw-small")
            typed = moment_input(t("observe.as_of_utc"), at)

            async def move() -> None:
                if not typed.value:
                    await self._look_at(None)
                    return
                try:
                    moment = moment_of(typed.value)
                except ValueError:
                    raise Refused(400, "moment", t("observe.no_moment"), {}) from None
                await self._look_at(moment)

            typed.on("keydown.enter", guarded(move), [])
            button(t("observe.look_then"), move, icon_name="clock", small=True)
            if at is None:
                pill(t("observe.now"), "good")
            else:
                pill(exact_time(at), "warn", "clock")
                button(t("observe.latest_time"), partial(self._look_at, None), small=True)

    async def _look_at(self, at: float | None) -> None:
        await self._page.go(self._address(self._editor.value or "", at))

    def _address(self, query: str, at: float | None) -> str:
        kept = query if len(query) <= _LONGEST_ADDRESS else None
        return self._page.path("/sql", query=kept or None, at=None if at is None else f"{at:.3f}")

    # -- what there is ----------------------------------------------------------------------------------------------

    async def _draw_relations(self) -> None:
        def found(session: SqlSession) -> tuple[list[Relation], set[str]]:
            relations = session.relations()
            return relations, {each.table for each in relations if session.read_at(each.table) is not None}

        self._draw_side(*await self._asked(found))

    def _draw_side(self, relations: list[Relation], read: set[str]) -> None:
        t = self._page.t
        self._side.clear()
        with self._side:
            for is_entity, title in ((True, "studio.entities"), (False, "studio.tables")):
                some = [relation for relation in relations if relation.is_entity == is_entity]
                if some:
                    text(t(title), "tw-section-title", "h2")
                for relation in some:
                    with box("st-relation", "details"):
                        with box("tw-row", "summary"):
                            text(relation.name, "tw-mono tw-strong tw-clip")
                        for name, kind in relation.columns:
                            with box("tw-row st-relation-column"):
                                text(name, "tw-mono tw-small tw-clip")
                                box("st-grow")
                                text(kind.lower(), "tw-mute tw-small")
                        if not is_entity and relation.table not in read:
                            text(t("observe.columns_when_read"), "tw-mute tw-small")
                        button(t("observe.query_it"), partial(self._begin, relation), small=True)
            if not relations:
                text(t("observe.no_relations" if self._at is None else "observe.no_relations_then"), "tw-mute")

    async def _begin(self, relation: Relation) -> None:
        name = relation.name if relation.name.isidentifier() else '"' + relation.name.replace('"', '""') + '"'
        self._editor.value = f"SELECT *\nFROM {name}\nLIMIT 100"
        await self._run()

    # -- running ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        query = (self._editor.value or "").strip()
        if not query or self._is_running:
            return
        estimate = await self._asked(lambda session: session.estimate(query))
        self._status.clear()
        if estimate.tables and self._page.database.engine is None:
            self._ask(estimate, query)
            return
        await self._query(query)

    def _ask(self, estimate: ScanEstimate, query: str) -> None:
        """Show what has to be read, and read it if the user agrees."""
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
        def found(session: SqlSession) -> tuple[SqlResult, dict[str, int]]:
            return session.query(query, limit=_ROWS, on_progress=self._note), session.unreadable()

        result, unreadable = await self._working(found)
        self._draw_result(result, unreadable)
        # The address is that of what is shown.
        address = orjson.dumps(self._address(query, self._at)).decode()
        self._page.client.run_javascript(f"tw.push({address})")
        await self._draw_relations()

    async def _working(self, work: Callable[[SqlSession], _T]) -> _T:
        """The result of something long: what it has read is said, and it can be stopped."""
        self._is_running, self._progress, self._stopped = True, None, threading.Event()
        stopped = self._stopped

        def in_turn() -> _T:
            with self._page.sql.turn(self._at, stopped) as session:
                self._running = session
                try:
                    return work(session)
                finally:
                    self._running = None

        self._timer.activate()
        try:
            return await _in_thread(in_turn)
        finally:
            self._is_running = False
            self._timer.deactivate()
            self._status.clear()

    async def _asked(self, work: Callable[[SqlSession], _T]) -> _T:
        def asked() -> _T:
            with self._page.sql.use(self._at) as session:
                return work(session)

        return await _in_thread(asked)

    def _note(self, progress: LoadProgress) -> None:
        self._progress = progress

    def _show_progress(self) -> None:
        t, progress = self._page.t, self._progress
        self._status.clear()
        with self._status, box("tw-banner tw-banner-info"):
            if progress is None:
                text(t("observe.running" if self._running is not None else "observe.waiting"))
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
        """Stop what this window waits for: its query, or its turn while another window's is running."""
        self._stopped.set()
        running = self._running
        if self._is_running and running is not None:
            running.stop()

    async def _read_again(self) -> None:
        await self._asked(SqlSession.forget)
        await self._run()

    # -- results ----------------------------------------------------------------------------------------------------

    def _draw_result(self, result: SqlResult, unreadable: dict[str, int]) -> None:
        t = self._page.t
        self._shown.clear()
        with self._shown:
            with box("tw-row tw-wrap"):
                pill(t.count("observe.rows", len(result.rows)) + ("+" if result.is_cut else ""), "good")
                text(f"{result.seconds * 1000:,.0f} ms", "tw-mute tw-small")
                for name, count in unreadable.items():
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

        def made(session: SqlSession) -> bytes:
            with tempfile.TemporaryDirectory(prefix="tablewright-sql-") as folder:
                path = Path(folder) / f"result.{kind}"
                session.export(query, path, on_progress=self._note)
                if path.stat().st_size > _LARGEST_FILE:
                    raise SqlError(self._page.t("observe.too_large"))
                return path.read_bytes()

        content = await self._working(made)
        with self._page.client:
            ui.download.content(content, f"result.{kind}", media_type=_FILES[kind])
        toast(self._page.t("observe.exported", kind=_FILE_NAMES[kind]))


async def _in_thread(work: Callable[[], _T]) -> _T:
    try:
        return await asyncio.to_thread(work)
    except SqlError as error:
        raise Refused(400, "sql", str(error), {}) from None


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
