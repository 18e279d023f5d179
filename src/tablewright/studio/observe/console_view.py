"""The console: any request of DynamoDB's API as JSON, or a PartiQL statement, and the unchanged response.

    /console?operation=Query&request={"TableName": ...}

Opening such an address sends nothing. A write is shown and has to be confirmed, as everywhere, and only a studio with
``--write`` sends it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson
from nicegui import ui

from tablewright.studio.studio_database import READS, is_read
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block, key_names
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import box, button, pill, text
from tablewright.ui.feedback import guarded
from tablewright.ui.forms import select

__all__ = ["console_view", "samples_of"]

_LONGEST = 500_000
_MOST_SHOWN = 200_000
_WRITES = (
    *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"),
    *("CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive", "UpdateContinuousBackups"),
    *("CreateBackup", "DeleteBackup", "RestoreTableFromBackup", "RestoreTableToPointInTime"),
    *("TagResource", "UntagResource"),
)
_PARTIQL = "PartiQL"
_OF_TABLES = (
    *("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups", "DeleteTable", "ListBackups", "CreateBackup"),
    *("UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups"),
)


# An address that is longer may lead nowhere.
_LONGEST_ADDRESS = 2000


async def console_view(page: StudioPage) -> None:
    await page.look_at("")
    table = page.table or next(iter(page.tables), "")
    description: dict[str, Any] = {}
    if table:
        # It may have been deleted meanwhile; its name is good for an example all the same.
        with suppress(Refused):
            description = await page.describe(table)
    _Console(page, table or "Table", description)


def samples_of(table: str, description: Mapping[str, Any]) -> dict[str, str]:
    """Example requests of some operations for a table."""
    types = {each["AttributeName"]: each["AttributeType"] for each in description.get("AttributeDefinitions", ())}
    key = {name: {types[name]: "..."} for name in key_names(description.get("KeySchema", ()))} or {"pk": {"S": "..."}}
    partition = next(iter(key))
    named = {"TableName": table}
    update = {
        "UpdateExpression": "SET #n = :v",
        "ExpressionAttributeNames": {"#n": "name"},
        "ExpressionAttributeValues": {":v": {"S": "..."}},
    }
    query = {
        "KeyConditionExpression": "#pk = :pk",
        "ExpressionAttributeNames": {"#pk": partition},
        "ExpressionAttributeValues": {":pk": key[partition]},
    }
    bodies: dict[str, dict[str, Any]] = {
        "Scan": {**named, "Limit": 25},
        "Query": {**named, **query, "Limit": 25},
        "GetItem": {**named, "Key": key},
        "PutItem": {**named, "Item": key},
        "DeleteItem": {**named, "Key": key},
        "UpdateItem": {**named, "Key": key, **update},
        "BatchGetItem": {"RequestItems": {table: {"Keys": [key]}}},
        "BatchWriteItem": {"RequestItems": {table: [{"PutRequest": {"Item": key}}]}},
        "TransactGetItems": {"TransactItems": [{"Get": {**named, "Key": key}}]},
        "TransactWriteItems": {"TransactItems": [{"Update": {**named, "Key": key, **update}}]},
        "ExecuteStatement": {
            "Statement": f'SELECT * FROM "{table}" WHERE "{partition}" = ?',
            "Parameters": [*key.values()][:1],
        },
        **dict.fromkeys(_OF_TABLES, named),
    }
    found = {name: orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() for name, body in bodies.items()}
    return {_PARTIQL: f'SELECT * FROM "{table}"', **found}


class _Console:
    """The view in one browser tab."""

    def __init__(self, page: StudioPage, table: str, description: Mapping[str, Any]) -> None:
        self._page = page
        t = page.t
        self._samples = samples_of(table, description)
        operations = (*sorted({*READS, "ExecuteStatement"}), *_WRITES)
        wanted = page.query.get("operation", "")
        self._operation = wanted if wanted in operations else _PARTIQL
        if page.query.get("request"):
            self._samples[self._operation] = page.query["request"][:_LONGEST]
        with box("tw-body st-console"):
            with box("tw-card", data_form=True):
                with box("tw-row tw-wrap"):
                    options = {_PARTIQL: t("observe.partiql"), **{name: name for name in operations}}
                    with box("st-wide"):
                        select(options, self._operation, self._choose, label=t("studio.operation"))
                    button(t("observe.send"), self._send, kind="primary", icon_name="play", data_submit=True)
                    text(t("observe.console_about"), "tw-mute tw-small")
                self._editor = ui.textarea(value=self._samples.get(self._operation, "{\n}")).classes(
                    "tw-input st-editor"
                )
                self._editor.props(
                    f"borderless dense autogrow spellcheck=false maxlength={_LONGEST} "
                    f'aria-label="{t("observe.request")}"'
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
        # The address is that of what is shown.
        kept = content if len(content) <= _LONGEST_ADDRESS else None
        address = page.path("/console", operation=self._operation, request=kept)
        page.client.run_javascript(f"tw.push({orjson.dumps(address).decode()})")
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
