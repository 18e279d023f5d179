"""Tables as a source and as a target: a data folder, an endpoint, Amazon DynamoDB.

All use the same operations: Scan by segments, BatchWriteItem, and those that describe and create a table. Reads are
consistent, so a copy has everything acknowledged before it began, and a comparison sees what was just written.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

from tablewright.dynamo import Item
from tablewright.dynamo.limits import (
    MAX_BATCH_GET_KEYS,
    MAX_BATCH_WRITES,
    MAX_TABLE_NAME_LENGTH,
    MIN_TABLE_NAME_LENGTH,
)
from tablewright.engine import Engine, StorageError, holds_database, resolve_folder
from tablewright.model import Table
from tablewright.store import AsyncStore, Backend, EmbeddedBackend, Remedy, ServiceError
from tablewright.transfer.errors import TransferError
from tablewright.transfer.places.patient_calls import PatientCalls, pause
from tablewright.transfer.places.place_protocols import Page, endpoint_of
from tablewright.transfer.places.table_definition import TableDefinition

__all__ = ["backend_at", "endpoint_backend"]

_NAME = re.compile(rf"[a-zA-Z0-9_.-]{{{MIN_TABLE_NAME_LENGTH},{MAX_TABLE_NAME_LENGTH}}}")
# These bound memory: the items of a page, and the concurrent batches of a segment. A page is also what is written again
# after a kill.
_PAGE_ITEMS = 250
_BATCHES_AT_ONCE = 8
_READY_SECONDS = 600.0
_FIRST_PAUSE = 0.05
_MAX_PAUSE = 5.0


class TablePlace:
    """The tables of one backend."""

    holds_tables = True

    def __init__(self, place: str, calls: PatientCalls) -> None:
        self.place = place
        self._calls = calls
        self._batches: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._keys: dict[str, tuple[str, ...]] = {}

    def close(self) -> None:
        self._calls.close()

    def reading(self) -> Self:
        return self

    # -- what there is ------------------------------------------------------------------------------------------

    async def table_names(self) -> list[str]:
        names: list[str] = []
        body: dict[str, Any] = {}
        while True:
            response = await self._calls.call("ListTables", body)
            names += response["TableNames"]
            if "LastEvaluatedTableName" not in response:
                return names
            body = {"ExclusiveStartTableName": response["LastEvaluatedTableName"]}

    async def definition(self, table: str) -> TableDefinition | None:
        description = await self._description(table)
        if description is None:
            return None
        found = await self._asked("DescribeTimeToLive", {"TableName": table})
        expiry = found.get("TimeToLiveDescription", {})
        is_on = expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
        backups = (await self._asked("DescribeContinuousBackups", {"TableName": table})).get(
            "ContinuousBackupsDescription", {}
        )
        recovery = backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED"
        return TableDefinition.described(
            description, ttl=expiry.get("AttributeName") if is_on else None, recovery=recovery
        )

    existing = definition

    def known_as(self, table: str, other: str) -> None:
        """Items of tables have their types, so no design is needed."""

    def check_name(self, table: str) -> None:
        if not _NAME.fullmatch(table):
            raise TransferError(
                f"{table!r} is not the name of a table: those have {MIN_TABLE_NAME_LENGTH} to {MAX_TABLE_NAME_LENGTH} "
                "letters, digits, and the characters _.-; give it another one with --rename OLD=NEW"
            )

    def typing_advice(self, table: str) -> str | None:
        """Nothing has to be named."""

    async def expected_items(self, table: str) -> int:
        description = await self._description(table)
        return 0 if description is None else int(description.get("ItemCount", 0))

    async def _description(self, table: str) -> dict[str, Any] | None:
        try:
            response = await self._calls.call("DescribeTable", {"TableName": table})
        except ServiceError as error:
            if error.code == "ResourceNotFoundException":
                return None
            raise
        found: dict[str, Any] = response["Table"]
        return found

    async def _asked(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        """The response; an empty one if the endpoint does not support the operation."""
        try:
            return await self._calls.call(operation, body)
        except ServiceError as error:
            if error.is_missing_operation:
                return {}
            raise

    # -- reading ------------------------------------------------------------------------------------------------

    async def segments(self, table: str, wanted: int) -> int:
        return wanted

    async def page(self, table: str, segment: int, segments: int, position: Any) -> Page:
        body: dict[str, Any] = {"TableName": table, "ConsistentRead": True, "Limit": _PAGE_ITEMS}
        if segments > 1:
            body |= {"Segment": segment, "TotalSegments": segments}
        if position is not None:
            body["ExclusiveStartKey"] = position
        response = await self._calls.call("Scan", body)
        return Page(response["Items"], response.get("LastEvaluatedKey"))

    async def occupied(self, table: str, definition: TableDefinition | None, *, into_existing: bool) -> str | None:
        if await self._description(table) is None:
            return self._no_table(table) if definition is None else None
        if into_existing:
            return None
        body: dict[str, Any] = {"TableName": table, "ConsistentRead": True, "Limit": 1}
        if not (await self._calls.call("Scan", body))["Items"]:
            return None
        return (
            f"{table} of {self.place} already has items; add to them with --into-existing, or choose another name with "
            "--rename OLD=NEW"
        )

    async def existing_items(self, table: str, keys: Sequence[Item]) -> list[Item]:
        found: list[Item] = []
        waiting, attempt = list(keys), 0
        while waiting:
            now, waiting = waiting[:MAX_BATCH_GET_KEYS], waiting[MAX_BATCH_GET_KEYS:]
            request = {table: {"Keys": now, "ConsistentRead": True}}
            response = await self._calls.call("BatchGetItem", {"RequestItems": request}, len(now))
            found += response["Responses"].get(table, [])
            left = response.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            waiting += left
            attempt = attempt + 1 if len(left) == len(now) else 0
            if attempt:
                await pause(attempt)
        return found

    # -- writing ------------------------------------------------------------------------------------------------

    async def open_segment(self, table: str, segment: int, mark: Any) -> None:
        """Putting an item twice changes nothing, so there is nothing to roll back."""

    async def write(self, table: str, segment: int, items: Sequence[Item]) -> None:
        if table not in self._keys:
            description = await self._description(table)
            if description is None:
                raise TransferError(f"table {table} was deleted in {self.place}; delete the state file, and start over")
            self._keys[table] = tuple(part["AttributeName"] for part in description["KeySchema"])
        at_once = self._batches.setdefault((table, segment), asyncio.Semaphore(_BATCHES_AT_ONCE))

        async def write_batch(batch: list[Item]) -> None:
            async with at_once:
                await self._write_batch(table, batch)

        async with asyncio.TaskGroup() as group:
            for batch in _batches(items, self._keys[table]):
                group.create_task(write_batch(batch))

    async def _write_batch(self, table: str, batch: list[Item]) -> None:
        requests = [{"PutRequest": {"Item": item}} for item in batch]
        attempt = 0
        while True:
            try:
                response = await self._calls.call("BatchWriteItem", {"RequestItems": {table: requests}}, len(requests))
            except ServiceError as error:
                if error.code != "ValidationException":
                    raise
                await self._refused(table, [each["PutRequest"]["Item"] for each in requests], error)
                return
            left = response.get("UnprocessedItems", {}).get(table, [])
            if not left:
                return
            attempt = attempt + 1 if len(left) == len(requests) else 1
            requests = left
            await pause(attempt)

    async def _refused(self, table: str, batch: list[Item], error: ServiceError) -> None:
        """One item of a batch was refused: write the others, to report which one."""
        if len(batch) > 1:
            for item in batch:
                await self._write_batch(table, [item])
            return
        (item,) = batch
        key = json.dumps({name: item.get(name) for name in self._keys[table]})
        raise TransferError(
            f"{self.place} refuses the item {key} of {table}: {error.message}; leave it out with --where, or change it "
            "with --transform, and delete the state file"
        ) from None

    def comparable(self, table: str, items: list[Item]) -> list[Item]:
        return items

    async def secure(self) -> None:
        """What was acknowledged is durable."""

    async def assemble(self, table: str, segments: int, definition: TableDefinition | None) -> None:
        """Items can be read as soon as they are written."""

    def tidy(self, table: str, segments: int) -> None:
        """Nothing is left over."""

    # -- tables -------------------------------------------------------------------------------------------------

    def _no_table(self, table: str) -> str:
        return (
            f"{self.place} has no table {table}, and the source does not know its key; create the table first, or "
            "name the model with --design"
        )

    async def create(self, table: str, definition: TableDefinition | None) -> None:
        if definition is None:
            raise TransferError(self._no_table(table))
        try:
            await self._calls.call("CreateTable", {"TableName": table, **definition.create})
        except ServiceError as error:
            # By the copy that this one continues.
            if error.code != "ResourceInUseException":
                raise
        await self.until_active(table)

    async def restore_internal(self, table: str, model: Table) -> None:
        store = AsyncStore(self._calls.backend, table_names={model.name: table})
        report = await store.repair(model, dry_run=False)
        left = [str(each) for each in report.findings if each.remedy is not Remedy.REPAIRED]
        if left:
            raise TransferError(f"{table} is copied, but some findings cannot be repaired: {'; '.join(left[:5])}")

    async def finish(self, table: str, definition: TableDefinition | None) -> list[str]:
        if definition is None:
            return []
        # Recovery and expiry before the stream and the protection, which others depend on.
        steps: list[tuple[str, str, dict[str, Any]]] = []
        if definition.recovery:
            recovery = {"PointInTimeRecoveryEnabled": True}
            steps.append(
                ("point-in-time recovery", "UpdateContinuousBackups", {"PointInTimeRecoverySpecification": recovery})
            )
        if definition.ttl is not None:
            expiry = {"AttributeName": definition.ttl, "Enabled": True}
            steps.append(("time to live", "UpdateTimeToLive", {"TimeToLiveSpecification": expiry}))
        if definition.stream is not None:
            stream = {"StreamEnabled": True, "StreamViewType": definition.stream}
            steps.append(("the stream", "UpdateTable", {"StreamSpecification": stream}))
        if definition.protected:
            steps.append(("deletion protection", "UpdateTable", {"DeletionProtectionEnabled": True}))
        now = await self.definition(table)
        lacking = []
        for what, operation, body in steps:
            if now is not None and what in _turned_on(now):
                continue
            try:
                await self._calls.call(operation, {"TableName": table, **body})
            except ServiceError as error:
                lacking.append(f"{what}: {error}")
            else:
                await self.until_active(table)
        return lacking

    async def until_active(self, table: str) -> None:
        """Return when a table and its indexes can be used and changed."""
        since, wait = time.monotonic(), _FIRST_PAUSE
        while True:
            description = await self._description(table)
            if description is not None and _is_active(description):
                return
            if time.monotonic() - since > _READY_SECONDS:
                raise TransferError(
                    f"table {table} of {self.place} is still not active; run the same command again when it is"
                )
            await asyncio.sleep(wait)
            wait = min(wait * 2, _MAX_PAUSE)


def _turned_on(definition: TableDefinition) -> set[str]:
    return {
        what
        for what, value in (
            ("point-in-time recovery", definition.recovery),
            ("time to live", definition.ttl),
            ("the stream", definition.stream),
            ("deletion protection", definition.protected),
        )
        if value
    }


def _is_active(description: dict[str, Any]) -> bool:
    parts = [description.get("TableStatus", "ACTIVE")]
    parts += [index.get("IndexStatus", "ACTIVE") for index in description.get("GlobalSecondaryIndexes") or ()]
    return all(status == "ACTIVE" for status in parts)


def _batches(items: Sequence[Item], key: tuple[str, ...]) -> Iterator[list[Item]]:
    """Items in batches that fit a request: the second of two items with the same key is in the next one."""
    batch: dict[str, Item] = {}
    for item in items:
        named = str([item.get(name) for name in key])
        if named in batch or len(batch) == MAX_BATCH_WRITES:
            yield list(batch.values())
            batch = {}
        batch[named] = item
    if batch:
        yield list(batch.values())


# -- where they are -------------------------------------------------------------------------------------------------


def backend_at(place: str, *, exists: bool) -> Backend:
    """The backend of a place; a data folder has to exist, or is created."""
    endpoint = endpoint_of(place)
    return _folder(place, exists=exists) if endpoint is None else _endpoint(*endpoint)


def endpoint_backend(place: str) -> Backend:
    """The backend of an endpoint: an address, ``aws``, or ``aws:eu-west-1``."""
    endpoint = endpoint_of(place)
    if endpoint is None:
        raise TransferError(f"{place} is not an endpoint; use http://host:port, aws, or aws:eu-west-1")
    return _endpoint(*endpoint)


def _endpoint(region: str | None, address: str | None) -> Backend:
    from tablewright.store import EndpointBackend

    if address is None:
        return EndpointBackend(region, None, {})
    import botocore.session

    session = botocore.session.Session()
    options: dict[str, Any] = {}
    if session.get_credentials() is None:
        # A self-hosted endpoint usually accepts any.
        options = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    return EndpointBackend(session.get_config_variable("region") or "us-east-1", address, options)


def _folder(place: str, *, exists: bool) -> Backend:
    try:
        folder = resolve_folder(place)
        if exists and not holds_database(folder):
            raise TransferError(
                f"there is no data folder at {folder}; use a data folder, an endpoint (http://host:port) or aws:region"
            )
        if os.path.isfile(folder):
            raise TransferError(f"{folder} is a file, not a data folder")
        return EmbeddedBackend(Engine.open(folder), owned=True)
    except StorageError as error:
        raise TransferError(str(error)) from None
