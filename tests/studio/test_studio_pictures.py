"""The pictures of docs/studio.md, of the systems with their demo data.

``STUDIO_PICTURES=docs/images pytest -m slow tests/studio/test_studio_pictures.py`` makes them again; without the
variable they are made and not kept.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.studio.studio_browser import studio

pytestmark = [pytest.mark.slow, pytest.mark.requirement("ST1", "ST2", "ST3", "ST4", "ST9")]

# By the name of the file: the address, and what has to be there before it is taken.
PICTURES = {
    "studio-tables": ("/tables/prod-tickets-unified", ".st-places"),
    "studio-items": ("/items/prod-tickets-unified?entity=Ticket", ".st-table"),
    "studio-single-table": ("/picture/prod-tickets-unified", ".st-blocks"),
    "studio-patterns": ("/patterns/Support/Ticket.recent?run=1", ".st-table"),
    "studio-design": ("/design/Support?part=document", ".st-document"),
}
MOST_BYTES = 150_000


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
    page.screenshot(path=path, animations="disabled")
    assert path.stat().st_size < MOST_BYTES


def test_every_view_has_a_picture(tmp_path: Path) -> None:
    kept = Path(os.environ.get("STUDIO_PICTURES", tmp_path))
    kept.mkdir(parents=True, exist_ok=True)
    data = demo_folder(tmp_path / "data")
    designs = [word for name in ("support", "tasks") for word in ("--design", f"tablewright.systems.{name}")]
    with studio(str(data), *designs) as running:
        page = running.open(viewport={"width": 1240, "height": 540})
        for name, (address, wanted) in PICTURES.items():
            page.goto(f"/studio{address}")
            expect(page.locator(wanted).first).to_be_visible()
            page.evaluate("document.querySelector('.st-place').textContent = './data'")
            if name == "studio-items":
                page.locator(".st-row-link").first.click()
                expect(page.locator(".st-attributes")).to_be_visible()
            take(page, kept / f"{name}.png")


def test_the_page_shows_the_pictures_that_are_made() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studio.md").read_text("utf-8")
    assert set(re.findall(r"images/(studio-[a-z-]+)\.png", page)) >= set(PICTURES)
