"""The tables of a check: under their own prefix, and deleted at the end, however it ends."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from tablewright.dynamo import Item
from tablewright.store import Backend, Response, ServiceError
from tablewright.transfer.places.patient_calls import PatientCalls

_READY_SECONDS = 120.0
_PAUSE = 0.2
PREFIX = "tablewright-check-"


class Unmet(Exception):
    """The endpoint responds differently from DynamoDB; the message says how."""


class ProbeTables:
    """The tables of one check, and the requests to them."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        # If the endpoint does not respond, nothing can be checked: the error is reported at once.
        self.calls = PatientCalls(backend, first_patience=0.0)
        self.prefix = f"{PREFIX}{secrets.token_hex(4)}-"
        self._created: list[str] = []
        self._backups: list[str] = []

    async def call(self, operation: str, **body: Any) -> Response:
        return await self.calls.call(operation, body)

    async def create(self, name: str, **more: Any) -> str:
        """Create a table with the key pk, sk and the given settings; returns its full name."""
        types = [{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk", *more.pop("attributes", ()))]
        key = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
        table = self.claim(name)
        await self.call(
            "CreateTable",
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=types,
            KeySchema=key,
            **more,
        )
        await self.until_active(table)
        return table

    def claim(self, name: str) -> str:
        """The full name of a table, which is deleted at the end."""
        table = f"{self.prefix}{name}"
        self._created.append(table)
        return table

    def claim_backup(self, arn: str) -> None:
        self._backups.append(arn)

    async def until_active(self, table: str) -> dict[str, Any]:
        async with asyncio.timeout(_READY_SECONDS):
            while True:
                description: dict[str, Any] = (await self.call("DescribeTable", TableName=table))["Table"]
                indexes = description.get("GlobalSecondaryIndexes") or []
                if all(
                    each == "ACTIVE"
                    for each in [description["TableStatus"], *(index.get("IndexStatus", "ACTIVE") for index in indexes)]
                ):
                    return description
                await asyncio.sleep(_PAUSE)

    async def put(self, table: str, pk: str, sk: str = "-", **attributes: Any) -> None:
        await self.call("PutItem", TableName=table, Item={**key(pk, sk), **attributes})

    async def get(self, table: str, pk: str, sk: str = "-") -> Item | None:
        found = await self.call("GetItem", TableName=table, Key=key(pk, sk), ConsistentRead=True)
        item: Item | None = found.get("Item")
        return item

    async def refused(self, operation: str, code: str, **body: Any) -> ServiceError:
        """The error of a request that must be refused with a code."""
        try:
            await self.call(operation, **body)
        except ServiceError as error:
            if error.is_missing_operation:
                raise
            if error.code != code:
                raise Unmet(f"{operation} is refused with {error.code}, not {code}") from None
            return error
        raise Unmet(f"{operation} is not refused with {code}")

    async def clean(self) -> list[str]:
        """Delete all tables and backups; returns the names of those that could not be deleted."""
        left = []
        for arn in self._backups:
            try:
                await self.call("DeleteBackup", BackupArn=arn)
            except ServiceError as error:
                if error.code != "BackupNotFoundException":
                    left.append(arn)
        for table in self._created:
            try:
                await self.call("DeleteTable", TableName=table)
            except ServiceError as error:
                if error.code != "ResourceNotFoundException":
                    left.append(table)
        return left


def key(pk: str, sk: str = "-") -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def expect(condition: object, otherwise: str) -> None:
    """An expectation of DynamoDB's behaviour, and the message about what the endpoint does instead."""
    if not condition:
        raise Unmet(otherwise)
