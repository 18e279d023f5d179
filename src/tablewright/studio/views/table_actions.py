"""Actions on tables, in a studio that may write: create, change, back up, restore, delete.

Each is one request of DynamoDB's API, shown before it is sent; errors are the service's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

from tablewright.studio.studio_page import StudioPage
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import menu, menu_item
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form

__all__ = ["create_request", "draw_table_actions", "index_request", "new_table_dialog"]

_TYPES = {"S": "String (S)", "N": "Number (N)", "B": "Binary (B)"}
_VIEWS = ("NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY")


class Described(Protocol):
    """A table as the view knows it."""

    name: str
    description: dict[str, Any]
    ttl: str | None
    backups: list[dict[str, Any]]

    @property
    def stream(self) -> str | None: ...

    @property
    def has_recovery(self) -> bool: ...

    @property
    def is_on_demand(self) -> bool: ...


def create_request(values: Mapping[str, Any]) -> dict[str, Any]:
    """The CreateTable request, from the values of the form."""
    key = [(values["partition"].strip(), values["partition_type"], "HASH")]
    if values["sort"].strip():
        key.append((values["sort"].strip(), values["sort_type"], "RANGE"))
    return {
        "TableName": values["name"].strip(),
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind, _ in key],
        "KeySchema": [{"AttributeName": name, "KeyType": part} for name, _, part in key],
        "BillingMode": "PAY_PER_REQUEST",
    }


async def new_table_dialog(page: StudioPage) -> None:
    """Create a table, from a form, or as a design declares it."""
    t = page.t
    missing = [
        table
        for design in page.database.designs
        for table in design.tables
        if page.database.name_of(table) not in page.tables
    ]
    with dialog(t("studio.new_table")) as made:

        async def create(values: dict[str, Any], _: str) -> None:
            made.close()
            await _send(page, "CreateTable", create_request(values), t("studio.create"), "the table")
            await page.go(page.path(f"/tables/{quote(values['name'].strip(), safe='')}"))

        async def create_declared(values: dict[str, Any], _: str) -> None:
            table = missing[int(values["declared"])]
            made.close()
            body = {**table.create_request(), "TableName": page.database.name_of(table)}
            await _send(page, "CreateTable", body, t("studio.create"), "a table of the design")
            await page.go(page.path(f"/tables/{quote(body['TableName'], safe='')}"))

        if missing:
            declared = Form(t, submit=create_declared, action=t("studio.create"))
            options = {str(number): table.name for number, table in enumerate(missing)}
            declared.choice("declared", t("studio.from_design"), options)
            declared.end()
        form = Form(t, submit=create, action=t("studio.create"), cancel=made.close)
        form.text("name", t("studio.name"), most=255)
        form.text("partition", t("studio.partition_key"), value="pk", most=255)
        form.choice("partition_type", t("studio.type"), _TYPES)
        form.text("sort", t("studio.sort_key"), value="", most=255, hint=t("studio.sort_hint"))
        form.choice("sort_type", t("studio.type"), _TYPES)
        form.end()


def draw_table_actions(page: StudioPage, found: Described) -> None:
    """The menu of a table; nothing where the studio is read-only."""
    if not page.may_write:
        return
    t, name = page.t, found.name

    async def change(operation: str, body: dict[str, Any], about: str) -> None:
        if await _send(page, operation, {"TableName": name, **body}, t("studio.change"), about):
            await page.open(page.path(f"/tables/{quote(name, safe='')}"))

    def recovery() -> Any:
        body = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": not found.has_recovery}}
        return change("UpdateContinuousBackups", body, "point-in-time recovery")

    def protection() -> Any:
        is_on = bool(found.description.get("DeletionProtectionEnabled"))
        return change("UpdateTable", {"DeletionProtectionEnabled": not is_on}, "deletion protection")

    def stream() -> Any:
        specification: dict[str, Any] = {"StreamEnabled": found.stream is None}
        if found.stream is None:
            specification["StreamViewType"] = _VIEWS[0]
        return change("UpdateTable", {"StreamSpecification": specification}, "the stream")

    with menu(t("studio.change")):
        menu_item(t("studio.toggle_recovery_off" if found.has_recovery else "studio.toggle_recovery_on"), recovery)
        menu_item(t("studio.toggle_stream_off" if found.stream else "studio.toggle_stream_on"), stream)
        menu_item(t("studio.toggle_protection"), protection)
        menu_item(t("studio.change_ttl"), lambda: _ttl_dialog(page, found, change))
        menu_item(t("studio.add_index"), lambda: _index_dialog(page, found, change))
        if found.description.get("GlobalSecondaryIndexes"):
            menu_item(t("studio.drop_index"), lambda: _drop_index_dialog(page, found, change))
        menu_item(t("studio.change_billing"), lambda: _billing_dialog(page, found, change))
        menu_item(t("studio.back_up"), lambda: _backup_dialog(page, found), "download")
        if found.backups or found.has_recovery:
            menu_item(t("studio.restore"), lambda: _restore_dialog(page, found), "undo")
        menu_item(t("studio.delete_table"), lambda: _delete(page, name), "trash")


def index_request(values: Mapping[str, Any], description: Mapping[str, Any]) -> dict[str, Any]:
    """The UpdateTable request, without the table, that adds an index, from the values of the form."""
    types = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    key = [(values["partition"].strip(), values["partition_type"], "HASH")]
    if values["sort"].strip():
        key.append((values["sort"].strip(), values["sort_type"], "RANGE"))
    create: dict[str, Any] = {
        "IndexName": values["name"].strip(),
        "KeySchema": [{"AttributeName": name, "KeyType": part} for name, _, part in key],
        "Projection": {"ProjectionType": values["projection"]},
    }
    units = description.get("ProvisionedThroughput") or {}
    if units.get("ReadCapacityUnits"):
        create["ProvisionedThroughput"] = {
            name: units[name] for name in ("ReadCapacityUnits", "WriteCapacityUnits") if name in units
        }
    types |= {name: kind for name, kind, _ in key if name not in types}
    return {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        "GlobalSecondaryIndexUpdates": [{"Create": create}],
    }


def _index_dialog(page: StudioPage, found: Described, change: Any) -> None:
    t = page.t
    with dialog(t("studio.add_index")) as made:

        async def submit(values: dict[str, Any], _: str) -> None:
            made.close()
            await change("UpdateTable", index_request(values, found.description), "an index")

        form = Form(t, submit=submit, action=t("studio.create"), cancel=made.close)
        form.text("name", t("studio.name"), most=255)
        form.text("partition", t("studio.partition_key"), most=255)
        form.choice("partition_type", t("studio.type"), _TYPES, hint=t("studio.index_type_hint"))
        form.text("sort", t("studio.sort_key"), most=255, hint=t("studio.index_sort_hint"))
        form.choice("sort_type", t("studio.type"), _TYPES)
        form.choice("projection", t("studio.projection"), {each: each for each in ("ALL", "KEYS_ONLY")})
        form.end()


def _drop_index_dialog(page: StudioPage, found: Described, change: Any) -> None:
    t = page.t
    names = [each["IndexName"] for each in found.description["GlobalSecondaryIndexes"]]
    with dialog(t("studio.drop_index")) as made:

        async def submit(values: dict[str, Any], _: str) -> None:
            made.close()
            body = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": values["index"]}}]}
            await change("UpdateTable", body, "an index is deleted")

        form = Form(t, submit=submit, action=t("studio.delete"), cancel=made.close)
        form.choice("index", t("studio.index"), {name: name for name in names})
        form.end()


def _billing_dialog(page: StudioPage, found: Described, change: Any) -> None:
    t = page.t
    with dialog(t("studio.change_billing")) as made:

        async def submit(values: dict[str, Any], _: str) -> None:
            body: dict[str, Any] = {"BillingMode": values["mode"]}
            if values["mode"] == "PROVISIONED":
                try:
                    reads, writes = int(values["reads"]), int(values["writes"])
                except ValueError:
                    raise Refused(400, "units", t("studio.whole_units"), {}) from None
                body["ProvisionedThroughput"] = {"ReadCapacityUnits": reads, "WriteCapacityUnits": writes}
            made.close()
            await change("UpdateTable", body, "billing")

        modes = {"PAY_PER_REQUEST": t("studio.on_demand"), "PROVISIONED": t("studio.provisioned_mode")}
        units = found.description.get("ProvisionedThroughput") or {}
        form = Form(t, submit=submit, action=t("studio.change"), cancel=made.close)
        form.choice("mode", t("studio.billing"), modes, value=None if found.is_on_demand else "PROVISIONED")
        form.text("reads", t("studio.read_units"), value=str(units.get("ReadCapacityUnits") or 5), kind="number")
        form.text("writes", t("studio.write_units"), value=str(units.get("WriteCapacityUnits") or 5), kind="number")
        form.end()


def _ttl_dialog(page: StudioPage, found: Described, change: Any) -> None:
    t = page.t
    with dialog(t("studio.change_ttl")) as made:

        async def submit(values: dict[str, Any], _: str) -> None:
            made.close()
            attribute = values["attribute"].strip() or found.ttl
            specification = {"AttributeName": attribute, "Enabled": found.ttl is None}
            await change("UpdateTimeToLive", {"TimeToLiveSpecification": specification}, "time to live")

        form = Form(
            t,
            submit=submit,
            action=t("studio.turn_on") if found.ttl is None else t("studio.turn_off"),
            cancel=made.close,
        )
        form.text("attribute", t("studio.ttl_attribute"), value=found.ttl or "ttl", most=255)
        form.end()


def _backup_dialog(page: StudioPage, found: Described) -> None:
    t = page.t
    with dialog(t("studio.back_up")) as made:

        async def submit(values: dict[str, Any], _: str) -> None:
            made.close()
            body = {"TableName": found.name, "BackupName": values["name"].strip()}
            if await _send(page, "CreateBackup", body, t("studio.back_up"), "a backup"):
                await page.open(page.path(f"/tables/{quote(found.name, safe='')}"))

        form = Form(t, submit=submit, action=t("studio.back_up"), cancel=made.close)
        form.text("name", t("studio.name"), value=f"{found.name}-studio"[:255], most=255)
        form.end()


def _restore_dialog(page: StudioPage, found: Described) -> None:
    t = page.t
    sources = {each["BackupArn"]: each["BackupName"] for each in found.backups}
    if found.has_recovery:
        sources["latest"] = t("studio.latest")
    with dialog(t("studio.restore")) as made:

        async def submit(values: dict[str, Any], _: str) -> None:
            made.close()
            target = values["name"].strip()
            if values["source"] == "latest":
                operation = "RestoreTableToPointInTime"
                body = {"SourceTableName": found.name, "TargetTableName": target, "UseLatestRestorableTime": True}
            else:
                operation = "RestoreTableFromBackup"
                body = {"TargetTableName": target, "BackupArn": values["source"]}
            if await _send(page, operation, body, t("studio.restore"), "a restored table"):
                await page.go(page.path(f"/tables/{quote(target, safe='')}"))

        form = Form(t, submit=submit, action=t("studio.restore"), cancel=made.close)
        form.choice("source", t("studio.restore_from"), sources)
        form.text("name", t("studio.restore_to"), value=f"{found.name}-restored"[:255], most=255)
        form.end()


async def _delete(page: StudioPage, name: str) -> None:
    t = page.t
    answer = await page.write(
        "DeleteTable",
        {"TableName": name},
        title=t("studio.delete_table_ask", table=name),
        action=t("studio.delete_table"),
        about="the table",
        danger=True,
    )
    if answer is not None:
        toast(t("studio.deleted", table=name))
        await page.go(page.path("/tables"))


async def _send(page: StudioPage, operation: str, body: Mapping[str, Any], action: str, about: str) -> bool:
    """Ask, send, and say that it is done; whether it was sent."""
    answer = await page.write(operation, body, title=operation, action=action, about=about)
    if answer is None:
        return False
    toast(page.t("studio.sent", operation=operation))
    return True
