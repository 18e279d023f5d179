"""The pictures of docs/studio.md, of the demo data of the systems: `make screenshots` writes them to docs/images."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tablewright.engine import Engine
from tests.studio.studio_browser import studio

pytestmark = [pytest.mark.slow, pytest.mark.requirement("ST1", "ST2", "ST3", "ST4", "ST9")]

DOCS = Path(__file__).parents[2] / "docs"
DESIGNS = [word for name in ("support", "tasks") for word in ("--design", f"tablewright.systems.{name}")]
# By the name of the file: the address, and what has to be there before it is taken.
PICTURES = {
    "studio-tables": ("/tables/prod-tickets-unified", ".st-places"),
    "studio-items": ("/items/prod-tickets-unified?entity=Ticket", ".st-table"),
    "studio-single-table": ("/picture/prod-tickets-unified", ".st-blocks"),
    "studio-patterns": ("/patterns/Support/TicketId.recent?run=1", ".st-table"),
    "studio-design": ("/design/Support?part=document", ".st-document"),
}
# What is read over time, taken in the order of a story.
OBSERVED = ["studio-sql", "studio-console", "studio-streams", "studio-heat", "studio-time"]
TABLE = "prod-tickets-unified"
MOST_BYTES = 150_000
SIZE = {"width": 1240, "height": 540}


def demo_folder(folder: Path) -> Path:
    """A data folder with the demo data of the systems."""
    environment = {**os.environ, "TABLEWRIGHT_LOG_LEVEL": "WARNING"}
    # NiceGUI behaves in another way where it finds pytest.
    environment.pop("PYTEST_CURRENT_TEST", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "tablewright", "up", "--demo", "--data", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder.parent,
        env=environment,
    )
    try:
        assert process.stdout is not None
        assert any("is up at" in line for line in process.stdout)
    finally:
        process.terminate()
        process.communicate(timeout=60)
    return folder


def take(page: Page, path: Path) -> None:
    page.evaluate("document.querySelector('.st-place').textContent = './data'")
    page.screenshot(path=path, animations="disabled")
    assert path.stat().st_size < MOST_BYTES


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where pictures are written: those of the documentation only if that is asked for."""
    return DOCS / "images" if os.environ.get("WRITE_SCREENSHOTS") else tmp_path


def test_views_of_tables_and_designs_have_a_picture(tmp_path: Path, kept: Path) -> None:
    with studio(str(demo_folder(tmp_path / "data")), *DESIGNS) as running:
        page = running.open(viewport=SIZE)
        for name, (address, wanted) in PICTURES.items():
            page.goto(f"/studio{address}")
            expect(page.locator(wanted).first).to_be_visible()
            if name == "studio-items":
                page.locator(".st-row-link").first.click()
                expect(page.locator(".st-attributes")).to_be_visible()
            take(page, kept / f"{name}.png")


@pytest.mark.requirement("ST5", "ST6", "ST7", "ST8")
def test_views_of_what_happens_have_a_picture(tmp_path: Path, kept: Path) -> None:
    data = demo_folder(tmp_path / "data")
    with Engine.open(data) as engine:
        found = engine.call("Scan", {"TableName": TABLE})["Items"]
    ticket = next(each["PK"]["S"] for each in found if each.get("entity_type") == {"S": "ticket"})
    with studio(str(data), *DESIGNS, "--write") as running:
        query = "SELECT status, count(*) AS tickets\nFROM Ticket\nGROUP BY status\nORDER BY tickets DESC"
        page = running.open(f"/sql?query={quote(query)}", viewport=SIZE)
        expect(page.locator(".st-bars")).to_be_visible()
        take(page, kept / "studio-sql.png")
        stream, heat = page.context.new_page(), page.context.new_page()
        stream.goto(f"{running.screens.url}/studio/streams/{TABLE}")
        expect(stream.locator(".st-records")).to_contain_text("No changes yet")
        heat.goto(f"{running.screens.url}/studio/heat")
        heat.get_by_role("button", name="Start metering").click()
        expect(heat.get_by_role("button", name="Stop metering")).to_be_visible()
        page.goto("/studio/console")
        moments = []
        for priority in ("HIGH", "CRITICAL"):
            statement = f"UPDATE \"{TABLE}\"\nSET priority = '{priority}'\nWHERE PK = '{ticket}' AND SK = 'METADATA'"
            page.get_by_label("Request", exact=True).fill(statement)
            page.get_by_role("button", name="Send").click()
            dialog = page.get_by_role("dialog", name="ExecuteStatement")
            expect(dialog).to_contain_text(priority)
            dialog.get_by_role("button", name="Send").click()
            expect(dialog).to_have_count(0)
            expect(page.locator(".st-code")).to_contain_text("ConsumedCapacity")
            moments.append(time.time())
        take(page, kept / "studio-console.png")
        expect(stream.locator(".st-record")).to_have_count(2)
        take(stream, kept / "studio-streams.png")
        page.goto("/studio/patterns/Support/TicketId.recent?run=1")
        expect(page.locator(".st-table")).to_be_visible()
        expect(heat.get_by_role("row", name=ticket).first).to_be_visible()
        take(heat, kept / "studio-heat.png")
        page.goto(f"/studio/time/{TABLE}?at={moments[0]}")
        rows = page.locator(".st-past-row")
        expect(rows.first).to_be_visible()
        page.get_by_label("Conditions").fill(f'PK = "{ticket}" AND SK = "METADATA"')
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".st-past-list").first.locator(".st-past-row")).to_have_count(1)
        rows.filter(has_text="changed since").first.click()
        expect(page.get_by_role("complementary", name="History of an item").locator("ins").first).to_be_visible()
        page.evaluate("window.scrollTo(0, 0)")
        take(page, kept / "studio-time.png")


def test_the_page_shows_the_pictures_that_are_made() -> None:
    page = (DOCS / "studio.md").read_text("utf-8")
    assert set(re.findall(r"images/(studio-[a-z-]+)\.png", page)) >= {*PICTURES, *OBSERVED}
