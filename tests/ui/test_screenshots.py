"""The pictures of the documentation, made of the demo as it is: `make screenshots` writes them to docs/images."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.screen_browser import Screens

DOCS = Path(__file__).parents[2] / "docs"
SIZE = {"width": 1280, "height": 760}
# Of one picture; all of them are in every clone.
MOST_BYTES = 150_000


def open_first(page: Page) -> None:
    page.locator(".tw-item").first.click()
    page.wait_for_selector(".tw-col-thing h2")


def open_last(page: Page) -> None:
    page.locator(".tw-item").last.click()
    page.wait_for_selector(".tw-col-thing h2")


def nothing(page: Page) -> None:
    page.wait_for_load_state()


PICTURES: dict[str, tuple[str, str, str, Callable[[Page], None]]] = {
    "start": ("admin", "/", "Hello, admin", nothing),
    "servicedesk": ("sam", "/servicedesk", "My laptop", open_first),
    "support": ("op_9", "/support", "The controller restarts", open_first),
    "engagement": ("marketer", "/engagement", "Coffee lovers", open_last),
    "calls": ("cleo", "/calls?who=user:ada,user:bob,provider:p-garcia", "ada", nothing),
    "tasks": ("ada", "/tasks", "Fix the login page", nothing),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where pictures are written: those of the documentation only if that is asked for."""
    return DOCS / "images" if os.environ.get("WRITE_SCREENSHOTS") else tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_each_application(screens: Screens, folder: Path, name: str) -> None:
    who, path, seen, prepare = PICTURES[name]
    page = screens.sign_in(who, path, viewport=SIZE)
    expect(page.locator("#tw-content")).to_contain_text(seen)
    prepare(page)
    page.emulate_media(reduced_motion="reduce")
    picture = folder / f"{name}.png"
    page.screenshot(path=picture, animations="disabled")
    assert 10_000 < picture.stat().st_size < MOST_BYTES


def test_every_picture_of_an_application_is_there_and_shown() -> None:
    pages = "\n".join(each.read_text("utf-8") for each in [*DOCS.glob("*.md"), DOCS.parent / "README.md"])
    for name in PICTURES:
        assert (DOCS / "images" / f"{name}.png").stat().st_size < MOST_BYTES
        assert f"images/{name}.png" in pages
