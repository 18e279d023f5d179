"""The memory of `tablewright up` with a hundred open browsers, when they have left, and with a hundred others.

A browser is what the server sees of one: a session of its own, a view, and a web socket that stays open, with the
handshake and the acknowledgements of the page's script. Chromium itself is not run: a hundred would measure Chromium.
"""

import asyncio
import os
import re
import uuid
from pathlib import Path
from typing import Any

import httpx
import socketio

from benchmarks.report import Section, progress, verdict
from benchmarks.servers import systems_up

PART = "browsers"
BROWSERS = 100
VIEWS = (
    ("ada", "/tasks/board"),
    ("sam", "/servicedesk/queue"),
    ("op_9", "/support/inbox"),
    ("cleo", "/calls/calendar"),
)
# Of one browser, in MB.
BAR = 2.0
# Others may need what those before them needed, and a little for what the allocator cannot use again.
GROWTH = 1.05
# A browser that is away may come back for 20 s; then its page is forgotten.
FORGOTTEN = 30.0
# Until all that a page begins by itself has been drawn.
SETTLED = 5.0
# As the page's script has it.
ACKNOWLEDGED_EVERY = 3.0


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` and `rounds` do not matter here."""
    with systems_up("--memory", "--demo") as (pid, url):
        return asyncio.run(_measured(pid, url))


async def _measured(pid: int, url: str) -> Section:
    # What the first browsers load is loaded once for all: one of each view.
    await _wave(pid, url, len(VIEWS))
    before = _resident(pid)
    first = await _wave(pid, url, BROWSERS)
    left = _resident(pid)
    second = await _wave(pid, url, BROWSERS)
    each = (first - before) / BROWSERS
    most = first * GROWTH
    rows = [
        ["no browser, after one of each view", f"{before:.0f} MB", "", ""],
        [f"{BROWSERS} open", f"{first:.0f} MB", "", ""],
        ["each of them", f"{each:.2f} MB", f"≤ {BAR:.0f} MB", verdict(each <= BAR)],
        [f"{FORGOTTEN:.0f} s after they left", f"{left:.0f} MB", "", ""],
        [f"{BROWSERS} others open", f"{second:.0f} MB", f"≤ {most:.0f} MB", verdict(second <= most)],
        [f"{FORGOTTEN:.0f} s after these left", f"{_resident(pid):.0f} MB", "", ""],
    ]
    notes = [
        "resident memory of the process of `tablewright up --memory --demo`, the database and all five systems in it",
        "a browser is a socket.io client, not Chromium: it signs in, loads the board of Tasks, the queue of Service "
        "Desk, the inbox of Support or the calendar of Calls, makes the handshake of the page, and acknowledges what "
        "it is sent",
    ]
    return Section(PART, f"{BROWSERS} open browsers", notes, ["", "memory", "bar", ""], rows)


async def _wave(pid: int, url: str, number: int) -> float:
    """Open browsers, and close them again: the memory while they were open."""
    browsers: list[_Browser] = []
    try:
        for n in range(number):
            browsers.append(_Browser())
            await browsers[-1].open(url, *VIEWS[n % len(VIEWS)])
            if (n + 1) % 25 == 0:
                progress(f"[browsers] {n + 1}/{number}: {_resident(pid):.0f} MB")
        await asyncio.sleep(SETTLED)
        resident = _resident(pid)
        gone = sum(not each.is_open for each in browsers)
        assert not gone, f"{gone} of {number} browsers lost their connection"
    finally:
        for each in browsers:
            await each.close()
    await asyncio.sleep(FORGOTTEN)
    return resident


class _Browser:
    def __init__(self) -> None:
        self._socket = socketio.AsyncClient(reconnection=False)
        self._socket.on("*", self._told)
        self._client = ""
        self._next_message = 0
        self._acknowledging: asyncio.Task[None] | None = None

    async def open(self, url: str, user: str, path: str) -> None:
        async with httpx.AsyncClient(base_url=url, headers={"Origin": url}, timeout=60) as http:
            signed_in = await http.post("/app/sign-in", data={"user": user, "to": path})
            assert signed_in.status_code == 303, signed_in.text
            page = await http.get(f"/app{path}")
            cookies = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
        query = {
            name: re.search(rf"""{name}['"]?\s*:\s*['"]?([0-9a-f-]+)""", page.text)
            for name in ("client_id", "next_message_id")
        }
        assert all(query.values()), "the page does not say who its client is"
        self._client, next_message = (found[1] for found in query.values() if found)
        self._next_message = int(next_message)
        await self._socket.connect(
            f"{url}?implicit_handshake=true&client_id={self._client}&next_message_id={next_message}"
            f"&tab_id={uuid.uuid4()}&document_id={uuid.uuid4()}",
            headers={"Cookie": cookies, "Origin": url},
            transports=["websocket"],
            socketio_path="/app/_nicegui_ws/socket.io",
            wait_timeout=30,
        )
        self._acknowledging = asyncio.create_task(self._acknowledge())

    @property
    def is_open(self) -> bool:
        return bool(self._socket.connected)

    async def close(self) -> None:
        if self._acknowledging is not None:
            self._acknowledging.cancel()
        await self._socket.disconnect()

    def _told(self, event: str, message: dict[str, Any]) -> None:
        self._next_message = message.get("_id", self._next_message - 1) + 1

    async def _acknowledge(self) -> None:
        while self.is_open:
            await self._socket.emit("ack", {"client_id": self._client, "next_message_id": self._next_message})
            await asyncio.sleep(ACKNOWLEDGED_EVERY)


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
