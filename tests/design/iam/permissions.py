"""What a store asks for, request by request, as the IAM actions and resources that authorise it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from tablewright.design import iam
from tablewright.design.design_loading import load
from tablewright.engine import Engine
from tablewright.model import (
    Table,
)
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.blobs.memory_blob_store import MemoryBlobStore
from tablewright.store.flow.driver import Request, Response

ARN = iam.arns("us-east-1", "123456789012")

Permissions = set[tuple[str, str]]


class RecordingBackend(EmbeddedBackend):
    """The embedded backend, recording what each request needs permission for."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, owned=True)
        self.asked: Permissions = set()

    def call(self, request: Request) -> Response:
        self.asked |= set(permissions_of(request))
        return super().call(request)

    async def call_async(self, request: Request) -> Response:
        self.asked |= set(permissions_of(request))
        return await super().call_async(request)


ACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


def permissions_of(request: Request) -> Iterator[tuple[str, str]]:
    """The actions and resources that a request is authorised by, as the service documents them."""
    prefix = "arn:aws:dynamodb:us-east-1:123456789012:table/"
    body = request.body
    if "TransactItems" in body:
        for member in body["TransactItems"]:
            ((kind, action),) = member.items()
            yield f"dynamodb:{ACTIONS[kind]}", prefix + action["TableName"]
    elif "RequestItems" in body:
        for name in body["RequestItems"]:
            yield f"dynamodb:{request.operation}", prefix + name
    elif "StreamArn" in body:
        yield f"dynamodb:{request.operation}", prefix + body["StreamArn"].partition(":table/")[2]
    elif "ShardIterator" in body:
        yield f"dynamodb:{request.operation}", "the stream of the iterator"
    elif "TableName" in body:
        index = f"/index/{body['IndexName']}" if "IndexName" in body else ""
        yield f"dynamodb:{request.operation}", prefix + body["TableName"] + index


def opened(*tables: Table) -> tuple[Store, RecordingBackend]:
    backend = RecordingBackend(Engine.open())
    store = Store(backend, blobs=MemoryBlobStore())
    store.ensure_tables(*tables)
    backend.asked.clear()
    return store, backend


def allowed(policy: dict[str, Any]) -> Permissions:
    return {(action, arn) for each in policy["Statement"] for action in each["Action"] for arn in each["Resource"]}


def asked_by(system: str, use: Callable[[AsyncStore], Awaitable[None]]) -> Permissions:
    """What the use of a system asks of its tables; what is written to the internal table is the runtime's."""
    (design,) = load(system)

    async def run() -> Permissions:
        backend = RecordingBackend(Engine.open())
        store = AsyncStore(backend)
        await store.ensure_tables(internal_table, *design.tables)
        backend.asked.clear()
        await use(store)
        store.close()
        return {(action, resource) for action, resource in backend.asked if internal_table.name not in resource}

    return asyncio.run(run())
