"""A browser for tests of pages: Chromium by its DevTools protocol, where one is installed."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect
from websockets.sync.connection import Connection

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_WITHIN = 30.0


class Page:
    """A page in a browser."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._number = 0

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": arguments}))
        while True:
            message = json.loads(self._connection.recv(timeout=_WITHIN))
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def open(self, url: str, width: int = 1200, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression; promises are awaited."""
        found = self._evaluated(script)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _evaluated(self, script: str) -> dict[str, Any]:
        return self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)

    def until(self, condition: str) -> Any:
        """Wait until an expression is true; its value. While a page loads, what it looks for may not be there yet."""
        end = time.monotonic() + _WITHIN
        found: dict[str, Any] = {}
        while time.monotonic() < end:
            found = self._evaluated(condition)
            value = None if "exceptionDetails" in found else found["result"].get("value")
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"it did not become true: {condition} {found}")

    def picture(self, path: Path) -> None:
        """A screenshot, to look at."""
        shown = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shown["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A new browser with one page, and a profile in a folder."""
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [CHROMIUM, *options, f"--user-data-dir={folder}", "about:blank"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"ws://([\d.:]+)/", line) for line in process.stderr)))
        pages = httpx.get(f"http://{found[1]}/json/list", timeout=_WITHIN).json()
        address = next(each["webSocketDebuggerUrl"] for each in pages if each["type"] == "page")
        with connect(address, open_timeout=_WITHIN, max_size=None) as connection:
            yield Page(connection)
    finally:
        process.terminate()
        process.wait(_WITHIN)
