"""Screens in `tablewright up`: where they are not installed, and where the server goes away and comes back."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.ui.screen_browser import Screens, chromium, running, up

pytestmark = pytest.mark.requirement("AP1")


def test_without_what_screens_need_the_apis_are_served_and_it_says_how_to_get_them(tmp_path: Path) -> None:
    (tmp_path / "nicegui.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", "tablewright", "up", "--memory", "--port", "0", "--system", "tasks"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"is up at (\S+)", line):
                break
        assert "pip install 'tablewright[apps]'" in said[0]
        assert found is not None
        start = httpx.get(f"{found[1]}/")
        assert (start.status_code, "<h1>Tablewright</h1>" in start.text) == (200, True)
        assert httpx.get(f"{found[1]}/api").text == start.text
        assert httpx.get(f"{found[1]}/app/").status_code == 404
    finally:
        process.terminate()
        process.communicate(timeout=60)


@contextmanager
def on_folder(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tablewright", "up", "--demo", "--data", str(folder), "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder.parent,
        env={**os.environ, "TABLEWRIGHT_LOG_LEVEL": "WARNING"},
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "is up at" in line:
                yield process
                break
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)


@pytest.mark.slow
def test_a_page_goes_on_when_the_server_comes_back(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with closing(Screens(f"http://127.0.0.1:{port}", chromium())) as screens:
        goes_on(screens, tmp_path / "data", port)


def goes_on(screens: Screens, folder: Path, port: int) -> None:
    with on_folder(folder, port):
        page = screens.sign_in("ada", "/tasks/list")
        page.wait_for_selector("text=Write the release notes")
    page.wait_for_selector("#popup:visible", timeout=30_000)
    expect(page.locator("#popup > span")).to_have_text(["Connection lost", "Trying to connect again…"])
    expect(page.locator(".tw-live")).to_be_hidden()
    with on_folder(folder, port):
        # Signed in as before: the session was not the server's.
        page.wait_for_selector("#popup", state="hidden", timeout=60_000)
        page.wait_for_selector("text=Write the release notes")
        page.click(".tw-item >> nth=0")
        page.wait_for_selector(".tw-thing-head h2")


@pytest.mark.slow
@pytest.mark.requirement("AP2")
def test_a_page_says_that_the_database_is_away_and_goes_on_when_it_comes_back(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    database = partial(running, "serve", "--data", str(tmp_path / "data"), "--port", port)
    endpoint = f"http://127.0.0.1:{port}"
    with ExitStack() as first, ExitStack() as systems:
        first.enter_context(database())
        url = systems.enter_context(up("--demo", "--system", "tasks", "--endpoint", endpoint))
        with closing(Screens(url, chromium())) as screens:
            page = screens.sign_in("ada", "/tasks/list")
            expect(page.locator(".tw-live[data-state=on]")).to_be_visible()
            first.close()
            # What is shown stays, and that it is not live is said; so is that something cannot be done.
            expect(page.locator(".tw-live[data-state=off]")).to_be_visible()
            page.locator(".tw-item", has_text="Write the release notes").click()
            expect(page.locator(".tw-toast-bad, .tw-state-bad").first).to_be_visible()
            with database():
                expect(page.locator(".tw-live[data-state=on]")).to_be_visible()
                page.goto("/app/tasks/list")
                page.locator(".tw-item", has_text="Write the release notes").click()
                expect(page.locator(".tw-thing-head h2")).to_contain_text("Write the release notes")
                screens.close()
                systems.close()


def test_processes_that_share_sessions_have_to_share_the_secret(tmp_path: Path) -> None:
    secrets = {"cursor_secret": "c", "privacy_secret": "p", "webhook_secret": "w"}
    settings = {
        **secrets,
        "mode": "production",
        "endpoint": "http://127.0.0.1:9",
        "issuer": "https://issuer.example.org",
        "audience": "apps",
        "region": "eu-south-1",
    }
    environment = {f"TABLEWRIGHT_{name.upper()}": value for name, value in settings.items()}
    done = subprocess.run(
        [sys.executable, "-m", "tablewright", "up", "--system", "tasks", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, **environment, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"},
    )
    assert done.returncode == 2
    assert "set TABLEWRIGHT_SESSION_SECRET" in done.stderr


def test_one_system_has_its_application_alone() -> None:
    with up("--system", "calls") as url:
        assert httpx.get(f"{url}/app/sign-in").status_code == 200
