"""The asynchronous clients that the part `remote` compares, each in a process of its own, at its best settings.

All run on uvloop, have as many connections as calls in flight, and do not validate parameters where that is a choice.
aiodynamo's HTTP client is aiohttp, the faster of the two that it offers. It and the store are given Python values, and
return them; aiobotocore is given and returns DynamoDB's typed values.
"""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import orders, packages

REGION, KEY, SECRET = "us-east-1", "any", "any"
CYCLE = 2000

Call = Callable[[], Awaitable[Any]]


class AsyncTarget(ABC):
    """One client of an endpoint that has the orders already."""

    def __init__(self, endpoint: str, in_flight: int) -> None:
        self.endpoint = endpoint
        self.in_flight = in_flight
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._runner.run(self.open())

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    def get(self, n: int) -> Call: ...

    @abstractmethod
    def put(self, n: int, revision: int) -> Call: ...

    async def scan(self) -> int:
        """Read all orders, one by one; their number."""
        raise NotImplementedError

    def stop(self) -> None:
        self._runner.run(self.close())
        self._runner.close()

    def rate(self, operation: str, size: int, seconds: float, seed: int) -> float:
        """Calls per second, with so many in flight all the time."""
        chosen = random.Random(seed).sample(range(size), min(CYCLE, size))
        make = self.get if operation == "get" else lambda n: self.put(n, seed + 1)
        calls = [make(n) for n in chosen]
        self._runner.run(self._run(calls, 0.2))
        return self._runner.run(self._run(calls, seconds))

    async def _run(self, calls: list[Call], seconds: float) -> float:
        count, started = 0, time.perf_counter()
        end = started + seconds

        async def one(offset: int) -> None:
            nonlocal count
            number = offset * len(calls) // self.in_flight
            while time.perf_counter() < end:
                await calls[number % len(calls)]()
                number += 1
                count += 1

        await asyncio.gather(*(one(offset) for offset in range(self.in_flight)))
        return count / (time.perf_counter() - started)

    def scan_rate(self) -> float:
        """Items per second of one scan of the table."""
        started = time.perf_counter()
        count = self._runner.run(self.scan())
        return count / (time.perf_counter() - started)

    def resident(self) -> float:
        """The memory of this process, in MB."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096 / 1e6


class StoreTarget(AsyncTarget):
    async def open(self) -> None:
        from tablewright.store import AsyncStore

        self.store = AsyncStore.connect(REGION, self.endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET)

    async def close(self) -> None:
        self.store.close()

    def get(self, n: int) -> Call:
        one, get = orders.order(n), self.store.get
        customer, day, number = one.customer, one.day, one.number
        return lambda: get(orders.Order.itself(customer=customer, day=day, number=number))

    def put(self, n: int, revision: int) -> Call:
        put, order = self.store.put, orders.order(n, revision)
        return lambda: put(order)

    async def scan(self) -> int:
        count = 0
        async for _ in self.store.iterate(orders.Order):
            count += 1
        return count


class AiodynamoTarget(AsyncTarget):
    async def open(self) -> None:
        packages.activate()
        import aiohttp
        from aiodynamo.client import Client
        from aiodynamo.credentials import Key, StaticCredentials
        from aiodynamo.http.aiohttp import AIOHTTP
        from yarl import URL

        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=self.in_flight))
        credentials = StaticCredentials(Key(KEY, SECRET))
        self.client = Client(AIOHTTP(self.session), credentials, REGION, URL(self.endpoint))

    async def close(self) -> None:
        await self.session.close()

    def get(self, n: int) -> Call:
        values, get = orders.plain(n), self.client.get_item
        key = {"pk": values["pk"], "sk": values["sk"]}
        return lambda: get(orders.orders.name, key)

    def put(self, n: int, revision: int) -> Call:
        put, values = self.client.put_item, orders.plain(n, revision)
        return lambda: put(orders.orders.name, values)

    async def scan(self) -> int:
        count = 0
        async for _ in self.client.scan(orders.orders.name):
            count += 1
        return count


class AiobotocoreTarget(AsyncTarget):
    async def open(self) -> None:
        packages.activate_alone("aiobotocore")
        from aiobotocore.config import AioConfig
        from aiobotocore.session import get_session

        config = AioConfig(parameter_validation=False, max_pool_connections=self.in_flight)
        self.context = get_session().create_client(
            "dynamodb",
            region_name=REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            config=config,
        )
        self.client = await self.context.__aenter__()

    async def close(self) -> None:
        await self.context.__aexit__(None, None, None)

    def get(self, n: int) -> Call:
        key, get = orders.key(n), self.client.get_item
        return lambda: get(TableName=orders.orders.name, Key=key)

    def put(self, n: int, revision: int) -> Call:
        put, item = self.client.put_item, orders.order(n, revision).item()
        return lambda: put(TableName=orders.orders.name, Item=item)
