"""The studio as people use it: in a process of its own, and Chromium by Playwright."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tablewright.model import attr
from tablewright.store import Request, Store
from tablewright.systems.tasks.model import Priority, Status, Task, task_management
from tests.ui.screen_browser import Screens, chromium

_WITHIN = 60


@dataclass(slots=True)
class RunningStudio:
    """A studio, and browsers that look at it; each browser needs a token of its own."""

    screens: Screens
    process: subprocess.Popen[str]
    log: Path
    _unused: list[str] = field(default_factory=list)

    def address(self) -> str:
        """The next address with a token, as it is printed."""
        return self._unused.pop() if self._unused else self.said(r"Studio.*: (http://\S+)")

    def said(self, pattern: str) -> str:
        """What it prints next that is of a pattern."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"it does not say {pattern}: {self.log.read_text()}")

    def open(self, path: str = "/", **options: Any) -> Page:
        """A new window in which the studio is open at a view."""
        page = self.screens.page(**options)
        page.goto(self.address())
        if path != "/":
            page.goto(f"/studio{path}")
        page.wait_for_selector("#tw-content > *")
        return page


def studio(*arguments: str) -> AbstractContextManager[RunningStudio]:
    """`tablewright studio` on a free port, and a browser."""
    return running("studio", *arguments, "--port", "0")


@contextmanager
def running(*command: str) -> Iterator[RunningStudio]:
    """A command that serves a studio, and a browser."""
    browser = chromium()
    environment = {**os.environ}
    # NiceGUI behaves in another way where it finds pytest.
    environment.pop("PYTEST_CURRENT_TEST", None)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("w") as written:
            process = subprocess.Popen(
                [sys.executable, "-m", "tablewright", *command],
                stdout=subprocess.PIPE,
                stderr=written,
                text=True,
                cwd=folder,
                env=environment,
            )
        made = RunningStudio(Screens("", browser), process, log)
        try:
            made._unused.append(made.address())
            made.screens.url = made._unused[0].partition("/studio")[0]
            yield made
        finally:
            made.screens.close()
            process.terminate()
            process.communicate(timeout=_WITHIN)


def fill(folder: Path) -> None:
    """A data folder with some tasks, and a table of odd values."""
    when = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
    with Store.open(folder) as store:
        store.ensure_tables(task_management)
        for number in range(1, 8):
            status = Status.OPEN if number % 3 else Status.COMPLETED
            store.put(
                Task(
                    task_id=f"t-{number}",
                    title=f"Order part {number}",
                    description="From the shelf behind the press",
                    priority=Priority.HIGH,
                    status=status,
                    created_by="grace",
                    created_at=when + timedelta(minutes=number),
                    updated_at=when + timedelta(minutes=number),
                    updated_by="grace",
                )
            )
        backend = store.backend
        for body in odd_requests():
            backend.call(Request(*body))


def fill_with_a_past(folder: Path) -> None:
    """Tasks with recovery, one of which is changed and one deleted after a while."""
    fill(folder)
    with Store.open(folder) as store:
        recovery = {"PointInTimeRecoveryEnabled": True}
        body = {"TableName": "TaskManagement", "PointInTimeRecoverySpecification": recovery}
        store.backend.call(Request("UpdateContinuousBackups", body))
        # Recovery begins with a whole second, and what changes in it is of another one.
        time.sleep(1.1)
        store.update(Task.by_id("t-1"), attr(Task.title).set("<b>Order</b> it again"))
        store.delete(Task.by_id("t-2"))


def odd_requests() -> list[tuple[str, dict[str, Any]]]:
    """A table of values that are hard to show: HTML, 38 digits, binary, 32 levels, nearly 400 KB."""
    deep: dict[str, Any] = {"S": "the end"}
    for _ in range(31):
        deep = {"M": {"m": deep}}
    items = [
        {"pk": {"S": "<img src=x onerror=alert(1)>"}, "n": {"N": "1"}, "note": {"S": "<b>bold</b>"}},
        {"pk": {"S": "numbers"}, "n": {"N": "2"}, "exact": {"N": "12345678901234567890123456789012345678"}},
        {"pk": {"S": "binary"}, "n": {"N": "3"}, "bytes": {"B": b64encode(bytes(range(64))).decode()}},
        {"pk": {"S": "deep"}, "n": {"N": "4"}, "tree": deep},
        {"pk": {"S": "large"}, "n": {"N": "5"}, "text": {"S": "x" * 399_000}},
        {
            "pk": {"S": "sets"},
            "n": {"N": "6"},
            "colours": {"SS": ["blue", "red"]},
            "sizes": {"NS": ["1", "2.5"]},
            "flag": {"BOOL": True},
            "nothing": {"NULL": True},
            "list": {"L": [{"S": "a"}, {"N": "1"}, {"M": {"b": {"BOOL": False}}}]},
        },
    ]
    create = {
        "TableName": "odd",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "n", "AttributeType": "N"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    return [("CreateTable", create), *(("PutItem", {"TableName": "odd", "Item": item}) for item in items)]
