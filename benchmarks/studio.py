"""The studio on a large table, in Chromium: its first screen, and page after page of items.

Times are those of a person who waits: from the click, or the address, until what was asked for is on the screen.
"""

import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.cache import data_folder
from benchmarks.report import Section, progress

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PART = "studio"
ITEMS = 1_000_000
CUSTOMERS = 50_000
STATES = ("open", "done", "sent", "paid")
BATCH = 25
# Batches: loading is not what is measured.
IN_A_COMMIT = 100
# Pages that are turned in each round.
TURNS = 8
FIRST, AGAIN, PAGE, INDEX = FIGURES = (
    "first screen, nothing in the browser's cache",
    "first screen again",
    "next page of items",
    "next page of a query of an index",
)
COLUMNS = ["", "median", "best"]
ROW = ".st-table tbody tr"
# Milliseconds from a click on the button of the next page until its first item is there.
TURN = """async () => {
  const first = () => document.querySelector(".st-table tbody tr")?.innerText;
  const before = first();
  const began = performance.now();
  document.querySelector("button[data-key=']']").click();
  while (first() === before || first() === undefined) {
    if (performance.now() - began > 60_000) throw new Error("the next page does not come");
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - began;
}"""


class NotHereError(Exception):
    """There is no browser, and why."""


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` does not matter here: each round is a new browser window."""
    return measured(ITEMS, rounds)


def measured(items: int, rounds: int) -> Section:
    title = f"The studio on {items:,} items"
    try:
        with chromium() as browser, data_folder() as folder:
            progress(f"[studio] loading {items:,} items")
            fill(folder / "data", items)
            with running(folder / "data") as address:
                figures = run(browser, address, rounds)
            notes = [
                f"Chromium {browser.version} on loopback, a new window for each of {rounds} rounds; a page has 50 "
                f"items, and {TURNS} are turned in a round",
            ]
    except NotHereError as missing:
        progress(f"[studio] {missing}: {missing.__cause__}")
        return Section(PART, title, [f"not measured here: {missing}"], COLUMNS, [])
    rows = [
        [name, *(f"{value * 1e3:.0f} ms" for value in (statistics.median(values), min(values)))]
        for name, values in figures.items()
    ]
    return Section(PART, title, notes, COLUMNS, rows)


def run(browser: "Browser", address: str, rounds: int) -> dict[str, list[float]]:
    """Seconds, of each figure."""
    options: dict[str, Any] = {
        "viewport": {"width": 1440, "height": 860},
        "base_url": address.partition("/studio")[0],
    }
    signed_in = browser.new_context(**options)
    signed_in.new_page().goto(address)
    state = signed_in.storage_state()
    signed_in.close()
    figures: dict[str, list[float]] = {name: [] for name in FIGURES}
    for turn in range(rounds):
        context = browser.new_context(storage_state=state, **options)
        page = context.new_page()
        for name in (FIRST, AGAIN):
            started = time.perf_counter()
            page.goto("/studio/tables")
            page.wait_for_selector("#tw-content a >> text=orders")
            figures[name].append(time.perf_counter() - started)
        for name, view in ((PAGE, "orders"), (INDEX, f"orders?where=status%20%3D%20{STATES[0]}")):
            page.goto(f"/studio/items/{view}")
            page.wait_for_selector(ROW)
            figures[name] += [page.evaluate(TURN) / 1e3 for _ in range(TURNS)]
        context.close()
        progress(f"[studio] {turn + 1}/{rounds}: first screen {figures[FIRST][-1]:.2f} s")
    return figures


@contextmanager
def chromium() -> "Iterator[Browser]":
    """Debian's Chromium where there is one, else the one of Playwright."""
    from playwright.sync_api import Error, sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        except Error as error:
            raise NotHereError("no Chromium starts; `playwright install chromium` gets one") from error
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """`tablewright studio` on a data folder; the address with its token."""
    command = [sys.executable, "-m", "tablewright", "studio", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield next(filter(None, (re.search(r"Studio.*: (http://\S+)", line) for line in process.stdout)))[1]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def fill(folder: Path, items: int) -> None:
    """A table of orders with an index by their state."""
    from tablewright import Engine

    keys = {name: [{"AttributeName": name, "KeyType": "HASH"}] for name in ("PK", "status")}
    sort = [{"AttributeName": "SK", "KeyType": "RANGE"}]
    index = {"IndexName": "by_status", "KeySchema": keys["status"] + sort, "Projection": {"ProjectionType": "ALL"}}
    with Engine.open(folder) as engine:
        engine.call(
            "CreateTable",
            {
                "TableName": "orders",
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "status")
                ],
                "KeySchema": keys["PK"] + sort,
                "GlobalSecondaryIndexes": [index],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for number, start in enumerate(range(0, items, BATCH), 1):
            puts = [{"PutRequest": {"Item": _order(n)}} for n in range(start, min(start + BATCH, items))]
            engine.execute("BatchWriteItem", {"RequestItems": {"orders": puts}})
            if number % IN_A_COMMIT == 0:
                engine.flush()
            if number % 8_000 == 0:
                progress(f"[studio] {number * BATCH:,} of {items:,}")
        engine.flush()


def _order(n: int) -> dict[str, dict[str, str]]:
    return {
        "PK": {"S": f"C#{n % CUSTOMERS:05}"},
        "SK": {"S": f"O#{n:07}"},
        "status": {"S": STATES[n % len(STATES)]},
        "total": {"N": str(n * 3)},
        "about": {"S": "Twelve bolts and a nut"},
    }
