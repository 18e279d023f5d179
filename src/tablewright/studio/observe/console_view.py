"""The console: any request of DynamoDB's API as JSON, or a PartiQL statement, and the response as it comes.

What changes something is shown and asked for, as everywhere, and only sent by a studio that may write.
"""

from __future__ import annotations

import time
from typing import Any

import orjson
from nicegui import ui

from tablewright.studio.studio_database import READS, is_read
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, pill, text
from tablewright.ui.feedback import guarded
from tablewright.ui.forms import select

__all__ = ["console_view"]

_LONGEST = 500_000
_MOST_SHOWN = 200_000
_WRITES = (
    *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"),
    *("CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive", "UpdateContinuousBackups"),
    *("CreateBackup", "DeleteBackup", "RestoreTableFromBackup", "RestoreTableToPointInTime"),
    *("TagResource", "UntagResource"),
)
_PARTIQL = "PartiQL"


async def console_view(page: StudioPage, table: str = "") -> None:
    await page.look_at(table)
    _Console(page)


class _Console:
    """The view in one browser tab."""

    def __init__(self, page: StudioPage) -> None:
        self._page = page
        table = page.table or next(iter(page.tables), "Table")
        self._operation = _PARTIQL
        t = page.t
        self._samples = {_PARTIQL: f'SELECT * FROM "{table}"'}
        for each in ("Scan", "Query", "DescribeTable"):
            self._samples[each] = orjson.dumps({"TableName": table}, option=orjson.OPT_INDENT_2).decode()
        with box("tw-body st-console"):
            with box("tw-card", data_form=True):
                with box("tw-row tw-wrap"):
                    options = {_PARTIQL: t("observe.partiql"), **{name: name for name in (*sorted(READS), *_WRITES)}}
                    with box("st-wide"):
                        select(options, _PARTIQL, self._choose, label=t("studio.operation"))
                    button(t("observe.send"), self._send, kind="primary", icon_name="play", data_submit=True)
                    text(t("observe.console_about"), "tw-mute tw-small")
                self._editor = ui.textarea(value=self._samples[_PARTIQL]).classes("tw-input st-editor")
                self._editor.props(
                    f'borderless dense spellcheck=false maxlength={_LONGEST} aria-label="{t("observe.request")}"'
                )
                self._editor.on("keydown.ctrl.enter.prevent", guarded(self._send), [])
            self._shown = box("tw-card", aria_live="polite")
            with self._shown:
                text(t("observe.no_response"), "tw-mute")

    def _choose(self, operation: str) -> None:
        self._samples[self._operation] = self._editor.value or ""
        self._operation = operation
        self._editor.value = self._samples.get(operation, "{\n}")

    async def _send(self) -> None:
        content = (self._editor.value or "").strip()
        operation, body = self._request(content)
        page, t = self._page, self._page.t
        began = time.monotonic()
        try:
            if is_read(operation, body):
                response = await page.database.call(operation, **body)
            elif await page.confirm_request(operation, body, title=operation, action=t("observe.send")):
                began = time.monotonic()
                response = await page.database.write(operation, body, page.user_id, t("observe.console"))
            else:
                return
        except Refused as error:
            self._draw(operation, {"__type": error.kind, "message": error.detail}, time.monotonic() - began, "bad")
            return
        self._draw(operation, response, time.monotonic() - began, "good")

    def _request(self, content: str) -> tuple[str, dict[str, Any]]:
        if self._operation == _PARTIQL:
            return "ExecuteStatement", {"Statement": content, "ReturnConsumedCapacity": "TOTAL"}
        try:
            body = orjson.loads(content or "{}")
        except orjson.JSONDecodeError as error:
            raise Refused(400, "json", self._page.t("observe.no_json", reason=str(error)), {}) from None
        if not isinstance(body, dict):
            raise Refused(400, "json", self._page.t("observe.no_json", reason="{...}"), {})
        return self._operation, body

    def _draw(self, operation: str, response: dict[str, Any], seconds: float, tone: Any) -> None:
        t = self._page.t
        shown = orjson.dumps(response, option=orjson.OPT_INDENT_2).decode()
        self._shown.clear()
        with self._shown:
            with box("tw-row tw-wrap"):
                pill(operation if tone == "good" else str(response["__type"]), tone)
                text(f"{seconds * 1000:,.1f} ms", "tw-mute tw-small")
                if "Count" in response:
                    text(t("observe.counted", count=response["Count"], scanned=response["ScannedCount"]), "tw-small")
                consumed = response.get("ConsumedCapacity")
                if isinstance(consumed, dict):
                    text(t("observe.units", units=consumed.get("CapacityUnits", 0)), "tw-mute tw-small")
            if len(shown) > _MOST_SHOWN:
                text(t("observe.response_cut"), "tw-mute tw-small")
            code_block(shown[:_MOST_SHOWN], t)
