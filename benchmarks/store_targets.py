"""The ways to read and write orders that the part `store` compares: each prepares calls, which are then timed.

What is put is made beforehand everywhere. The store makes its keys and expressions in the call; `engine.call` and boto3
get the very requests that the store would make, ready made; PynamoDB and pydynox get their keys ready made.
"""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import orders, packages
from benchmarks.orders import Order
from tablewright import Engine
from tablewright.store import AsyncStore, Store
from tablewright.store.flow.driver import Request, Response

CYCLE = 250
REGION = "us-east-1"
CREDENTIALS = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}

Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a target has its data: at an endpoint, in a folder, or in memory."""

    endpoint: str | None = None
    folder: Path | None = None


class Target(ABC):
    """One way to read and write orders. The table is made and filled through a store everywhere."""

    def __init__(self, place: Place) -> None:
        self.engine = None if place.endpoint else Engine.open(place.folder)
        if self.engine is not None:
            self.store = Store.on(self.engine)
        else:
            self.store = Store.connect(REGION, place.endpoint, **CREDENTIALS)

    def fill(self, size: int) -> None:
        """Make the table and write orders 0 to `size`, unless another target has done so at the same endpoint."""
        if any(difference.aspect == "table" for difference in self.store.ensure_tables(orders.orders)):
            self.store.write_many(orders.order(n) for n in range(size))

    def close(self) -> None:
        self.store.close()
        if self.engine is not None:
            self.engine.close()

    @abstractmethod
    def get(self, n: int) -> Call:
        """Reads order `n`."""

    @abstractmethod
    def put(self, n: int, revision: int) -> Call:
        """Writes order `n` as a whole."""

    @abstractmethod
    def query(self, n: int) -> Call:
        """Reads the ten orders of the customer who has order `n`."""

    def calls(self, operation: str, size: int, seed: int) -> list[Call]:
        """Calls for some orders. Each order is put twice in turn, so that no put leaves its item as it was."""
        chosen = random.Random(seed).sample(range(size), min(CYCLE, size))
        if operation == "put":
            return [self.put(n, revision) for revision, n in enumerate([*chosen, *chosen], 1)]
        return [(self.get if operation == "get" else self.query)(n) for n in chosen]

    def run(self, calls: list[Call], seconds: float) -> float:
        """Calls per second, one after the other."""
        count = 0
        started = time.perf_counter()
        while (elapsed := time.perf_counter() - started) < seconds:
            calls[count % len(calls)]()
            count += 1
        return count / elapsed


class StoreTarget(Target):
    @property
    def face(self) -> Any:
        return self.store

    def get(self, n: int) -> Call:
        return _get(self.face, n)

    def put(self, n: int, revision: int) -> Call:
        return _put(self.face, n, revision)

    def query(self, n: int) -> Call:
        return _query(self.face, n)


def _get(store: Any, n: int) -> Call:
    one = orders.order(n)
    customer, day, number = one.customer, one.day, one.number
    get = store.get
    return lambda: get(Order.itself(customer=customer, day=day, number=number))


def _put(store: Any, n: int, revision: int) -> Call:
    return partial(store.put, orders.order(n, revision))


def _query(store: Any, n: int) -> Call:
    customer, query = orders.order(n).customer, store.query
    return lambda: query(Order.of_customer(customer=customer), limit=orders.PER_CUSTOMER)


class AsyncStoreTarget(StoreTarget):
    """The same calls, awaited one after the other in one task."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        assert self.engine is not None
        self.awaited = AsyncStore.on(self.engine)

    @property
    def face(self) -> Any:
        return self.awaited

    def run(self, calls: list[Call], seconds: float) -> float:
        async def timed() -> float:
            count = 0
            started = time.perf_counter()
            while (elapsed := time.perf_counter() - started) < seconds:
                await calls[count % len(calls)]()
                count += 1
            return count / elapsed

        return asyncio.run(timed())


class _Recorder:
    """A backend that only notes what it is asked for."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def call(self, request: Request) -> Response:
        self.requests.append(request)
        return {"Items": []}

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None:
        """There is nothing to let go of."""


class RequestTarget(Target):
    """Sends what a store would send: a store on a recorder is asked for the request, beforehand."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._recorder = _Recorder()
        self._recorded_store = Store(self._recorder)

    @abstractmethod
    def sent(self, request: Request) -> Call:
        """Sends a request."""

    def _recorded(self, call: Call) -> Call:
        self._recorder.requests.clear()
        call()
        (request,) = self._recorder.requests
        return self.sent(request)

    def get(self, n: int) -> Call:
        return self._recorded(_get(self._recorded_store, n))

    def put(self, n: int, revision: int) -> Call:
        return self._recorded(_put(self._recorded_store, n, revision))

    def query(self, n: int) -> Call:
        return self._recorded(_query(self._recorded_store, n))


class EngineTarget(RequestTarget):
    def sent(self, request: Request) -> Call:
        assert self.engine is not None
        return partial(self.engine.call, request.operation, request.body)


class Boto3Target(RequestTarget):
    """boto3's client, the faster of its two faces, without its validation of parameters."""

    def __init__(self, place: Place) -> None:
        import boto3
        from botocore.config import Config

        super().__init__(place)
        config = Config(parameter_validation=False)
        self.client = boto3.client(
            "dynamodb", region_name=REGION, endpoint_url=place.endpoint, config=config, **CREDENTIALS
        )

    def sent(self, request: Request) -> Call:
        from botocore import xform_name

        return partial(getattr(self.client, xform_name(request.operation)), **request.body)


class PynamodbTarget(Target):
    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.model, self.made = orders.pynamodb_model(place.endpoint or "")

    def get(self, n: int) -> Call:
        values = orders.plain(n)
        return partial(self.model.get, values["pk"], values["sk"])

    def put(self, n: int, revision: int) -> Call:
        return partial(self.made(n, revision).save)

    def query(self, n: int) -> Call:
        customer, query = orders.plain(n)["pk"], self.model.query
        return lambda: list(query(customer, limit=orders.PER_CUSTOMER))


class PydynoxTarget(Target):
    def __init__(self, place: Place) -> None:
        packages.activate()
        super().__init__(place)
        self.model, self.made = orders.pydynox_model(place.endpoint or "")

    def get(self, n: int) -> Call:
        values = orders.plain(n)
        return partial(self.model.sync_get, pk=values["pk"], sk=values["sk"])

    def put(self, n: int, revision: int) -> Call:
        # A put, as the others make it; by default it sends what has changed, which here would be nothing.
        return partial(self.made(n, revision).sync_save, full_replace=True)

    def query(self, n: int) -> Call:
        customer, query = orders.plain(n)["pk"], self.model.sync_query
        return lambda: list(query(partition_key=customer, limit=orders.PER_CUSTOMER))
