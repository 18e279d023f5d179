"""What clients can make a server hold: each attack, with the resident size before, during and after it.

pytest -m slow -s tests/wire/test_memory.py     prints the table
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.long_requests import BEGUN_BYTES, MAX_BEGUN, MAX_WAITING_BYTES
from tests.wire.raw_http import Client, request
from tests.wire.server_process import MB, resident_bytes, server_process

LIMITS = Limits()
CLIENTS = 260
# What the interpreter, its allocator and the event loop may take beyond what is accounted for.
SLACK = 60 * MB

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Attack = Callable[[str], Awaitable[list[Streams]]]

rows: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print("\n| attack | before | during | after |\n|---|---|---|---|")
    print("\n".join(rows))


async def connect(url: str) -> Streams:
    parts = urlsplit(url)
    return await asyncio.open_connection(parts.hostname, parts.port)


async def send(streams: Streams, *pieces: bytes) -> None:
    """Sends as much as the server takes."""
    with suppress(ConnectionError, TimeoutError):
        for piece in pieces:
            streams[1].write(piece)
            await asyncio.wait_for(streams[1].drain(), 5)


async def all_send(url: str, count: int, *pieces: bytes) -> list[Streams]:
    clients = [await connect(url) for _ in range(count)]
    await asyncio.gather(*(send(client, *pieces) for client in clients))
    return clients


def chunked_head() -> bytes:
    return request(b"", length=False, transfer_encoding=b"chunked")


def watch(name: str, url: str, resident: Callable[[], int], attack: Attack, bound: int) -> None:
    """Runs an attack: the server stays within the bound, serves others, and is as small as before once it is over."""
    before = resident()
    most = 0

    async def scenario() -> None:
        nonlocal most
        attacking = asyncio.ensure_future(attack(url))
        while not attacking.done():
            most = max(most, resident())
            await asyncio.wait([attacking], timeout=0.05)
        clients = await attacking
        # Somebody with a small request, while they all hold on to what they have.
        served = await asyncio.to_thread(ask, url)
        most = max(most, resident())
        for _, writer in clients:
            writer.transport.abort()
        assert served in ([200], [503, 200])

    asyncio.run(scenario())
    deadline = time.monotonic() + 20
    while (after := resident()) > before + SLACK and time.monotonic() < deadline:
        time.sleep(0.1)
    rows.append(f"| {name} | {before // MB} MB | {most // MB} MB | {after // MB} MB |")
    assert most <= before + bound + SLACK, rows[-1]
    assert after <= before + SLACK, rows[-1]


def ask(url: str) -> list[int]:
    """The statuses that a client gets that tries again for a while."""
    statuses: list[int] = []
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and statuses[-1:] != [200]:
        with Client(url) as client:
            status = client.ask(request()).status
        if statuses[-1:] != [status]:
            statuses.append(status)
        time.sleep(0.1)
    return statuses


def test_unfinished_bodies() -> None:
    body = b"x" * MB

    async def attack(url: str) -> list[Streams]:
        head = request(b"", content_length=str(16 * MB).encode())
        return await all_send(url, CLIENTS, head, *[body] * 15)

    with server_process("--memory") as (process, url):
        bound = LIMITS.received_bytes * 9 // 8 + CLIENTS * LIMITS.allowance_bytes
        watch(f"{CLIENTS} unfinished bodies of 15 MB", url, lambda: resident_bytes(process), attack, bound)


def test_chunks_of_two_bytes() -> None:
    async def attack(url: str) -> list[Streams]:
        return await all_send(url, 20, chunked_head(), *[b"2\r\nxx\r\n" * 8192] * 64)

    with server_process("--memory") as (process, url):
        bound = 20 * MB * 9 // 8
        watch("20 bodies of 1 MB in chunks of 2 bytes", url, lambda: resident_bytes(process), attack, bound)


def test_unread_responses() -> None:
    with server_process("--memory") as (process, url):
        fill_a_page(url)

        async def attack(url: str) -> list[Streams]:
            scan = request(b'{"TableName":"large"}', b"DynamoDB_20120810.Scan")
            clients = [await connect(url) for _ in range(CLIENTS)]
            for client in clients:
                client[1].transport.set_write_buffer_limits(0)
            await asyncio.gather(*(send(client, scan * 20) for client in clients))
            await asyncio.sleep(2)
            return clients

        # Those pages come on top that are being read when the limit is reached.
        bound = LIMITS.unsent_bytes + MAX_BEGUN * BEGUN_BYTES + CLIENTS * LIMITS.allowance_bytes
        watch(f"{CLIENTS} clients that do not read pages of 1 MB", url, lambda: resident_bytes(process), attack, bound)


def test_responses_that_wait_for_each_other() -> None:
    with server_process("--memory") as (process, url):
        fill_a_page(url)

        async def attack(url: str) -> list[Streams]:
            # The writes wait for a commit; what was read behind them waits for them.
            put = request(b'{"TableName":"large","Item":{"pk":{"S":"0"}}}', b"DynamoDB_20120810.PutItem")
            scan = request(b'{"TableName":"large"}', b"DynamoDB_20120810.Scan")
            return await all_send(url, CLIENTS, (put + scan * 60) * 5)

        bound = LIMITS.unsent_bytes + 2 * MB + CLIENTS * LIMITS.allowance_bytes
        watch(f"{CLIENTS} clients with 300 pipelined requests", url, lambda: resident_bytes(process), attack, bound)


def test_clients_that_leave_in_the_middle() -> None:
    body = b"x" * MB

    async def attack(url: str) -> list[Streams]:
        head = request(b"", content_length=str(16 * MB).encode())
        for _ in range(CLIENTS // 20):
            for _, writer in await all_send(url, 20, head, *[body] * 4):
                writer.transport.abort()
        return []

    with server_process("--memory") as (process, url):
        # Those of a round may still be there when the next one comes.
        bound = 2 * 20 * 4 * MB * 9 // 8
        watch(f"{CLIENTS} clients that leave after 4 MB", url, lambda: resident_bytes(process), attack, bound)


def test_unfinished_heads() -> None:
    async def attack(url: str) -> list[Streams]:
        fields = b"".join(b"x-%d: %b\r\n" % (number, b"x" * 500) for number in range(110))
        return await all_send(url, CLIENTS, b"POST / HTTP/1.1\r\n" + fields + b"x-last: " + b"x" * 5000)

    with server_process("--memory") as (process, url):
        bound = 2 * CLIENTS * LIMITS.head_bytes
        watch(f"{CLIENTS} unfinished heads of 64 KB", url, lambda: resident_bytes(process), attack, bound)


def test_large_bodies_that_become_many_objects() -> None:
    numbers = b",".join([b'{"N":"1"}'] * 400_000)
    body = b'{"TableName":"large","Item":{"pk":{"S":"0"},"n":{"L":[%b]}}}' % numbers

    async def attack(url: str) -> list[Streams]:
        clients = await all_send(url, 60, request(body, b"DynamoDB_20120810.PutItem"))
        await asyncio.sleep(2)
        return clients

    with server_process("--memory") as (process, url):
        fill_a_page(url)
        # One of them is parsed at a time; the others wait, or are refused.
        bound = LIMITS.received_bytes + MAX_WAITING_BYTES + 80 * len(body)
        watch("60 items of 4 MB with 400,000 numbers", url, lambda: resident_bytes(process), attack, bound)


def fill_a_page(url: str) -> None:
    table = (
        b'{"TableName":"large","BillingMode":"PAY_PER_REQUEST",'
        b'"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],'
        b'"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}'
    )
    with Client(url) as client:
        assert client.ask(request(table, b"DynamoDB_20120810.CreateTable")).status == 200
        for number in range(4):
            item = b'{"TableName":"large","Item":{"pk":{"S":"%d"},"x":{"S":"%b"}}}' % (number, b"x" * 300_000)
            assert client.ask(request(item, b"DynamoDB_20120810.PutItem")).status == 200
