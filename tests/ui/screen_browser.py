"""Screens as people use them: the systems in a process of their own, and Chromium by Playwright.

There is one of each in a process of tests, whoever asks first: starting them takes longer than most tests. The systems
are on the embedded engine. The slow tests tell the stories that are marked ``also_on_an_endpoint`` again on an
endpoint, `tablewright serve` in a process of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from asyncio.events import _set_running_loop
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError

also_on_an_endpoint = pytest.mark.parametrize(
    "screens", ["embedded", pytest.param("endpoint", marks=pytest.mark.slow)], indirect=True
)

DESK = {"width": 1440, "height": 860}
PHONE = {"width": 390, "height": 844}
_WITHIN = 60
# How long a test waits for what it expects: time decides about no test, on whatever machine.
_PATIENCE = 30_000
# How long a page may be drawn before what is wrong with it counts: seconds, and milliseconds from look to look.
_SETTLED_WITHIN = 5
_PAUSE = 250
# Chromium loads pages of its own behind the address bar of each window, which nobody sees here: half of all its work.
# The last option of that name holds, so the features that Playwright turns off are named again.
_FEATURES_OFF = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
_OPTIONS = ["--no-sandbox", "--disable-gpu", f"--disable-features={','.join(_FEATURES_OFF)}"]
# All rules are tried, and what holds is not described: half of the work of axe.
_VIOLATIONS = {"resultTypes": ["violations"]}
_TAKEN = ("moderate", "serious", "critical")
# Cookies that say who somebody is, or what they chose; not the width and the time zone of the window.
_NOT_OF_THE_WINDOW = re.compile("^(?!tablewright_(narrow|zone)$)")


@dataclass(slots=True)
class Screens:
    """Systems that are up, and people who look at them."""

    url: str
    browser: Browser
    # Windows that nobody uses, by their options: they have scripts and styles in their cache.
    _idle: dict[str, list[BrowserContext]] = field(default_factory=dict)
    _used: list[tuple[str, BrowserContext]] = field(default_factory=list)
    _closed_after: list[BrowserContext] = field(default_factory=list)

    def page(self, **options: Any) -> Page:
        """A new browser window, in which nobody has signed in."""
        context = self._context(options)
        self._closed_after.append(context)
        return context.new_page()

    def sign_in(self, user: str, path: str = "/", **options: Any) -> Page:
        """A window in which somebody has signed in, and a view is open."""
        kind = repr(sorted(options.items()))
        if self._idle.get(kind):
            _set_running_loop(_playwright()[1])
            context = self._idle[kind].pop()
            self._used.append((kind, context))
            page = context.new_page()
            form: dict[str, str | float | bool] = {"user": user, "to": path}
            signed_in = context.request.post("/app/sign-in", form=form, headers={"Origin": self.url}, max_redirects=0)
            assert signed_in.status == 303, signed_in.text()
            page.goto(f"/app{path}")
        else:
            context = self._context(options)
            self._used.append((kind, context))
            page = context.new_page()
            page.goto(f"/app/sign-in?to={quote(path, safe='')}")
            page.click(f"button[value='{user}']")
        page.wait_for_selector("#tw-content > *")
        return page

    def close(self) -> None:
        """Close what is open, and make windows as if nobody had used them."""
        while self._closed_after:
            self._closed_after.pop().close()
        while self._used:
            kind, context = self._used.pop()
            for page in context.pages:
                page.close()
            context.set_offline(False)
            context.clear_cookies(name=_NOT_OF_THE_WINDOW)
            self._idle.setdefault(kind, []).append(context)
        _set_running_loop(None)

    def _context(self, options: dict[str, Any]) -> BrowserContext:
        _set_running_loop(_playwright()[1])
        made = self.browser.new_context(**{"base_url": self.url, "viewport": DESK, **options})
        made.set_default_timeout(_PATIENCE)
        return made


@contextmanager
def up(*options: str, **settings: str) -> Iterator[str]:
    """`tablewright up` on a free port, in memory if it is not on an endpoint; its address."""
    place = () if "--endpoint" in options else ("--memory",)
    with running("up", *place, *(() if "port" in settings else ("--port", "0")), *options, **settings) as found:
        yield found


@contextmanager
def running(*arguments: str, **settings: str) -> Iterator[str]:
    """A command of `tablewright` in a process of its own; the address that it says it is at."""
    folder = tempfile.mkdtemp()
    environment = {**os.environ, **{f"TABLEWRIGHT_{name.upper()}": value for name, value in settings.items()}}
    environment.setdefault("TABLEWRIGHT_LOG_LEVEL", "WARNING")
    # NiceGUI behaves in another way where it finds pytest.
    environment.pop("PYTEST_CURRENT_TEST", None)
    log = Path(folder, "log")
    with log.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "tablewright", *arguments],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            cwd=folder,
            env=environment,
        )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.search(r" at (http://[\d.]+:\d+)", line)
            if found is not None:
                yield found[1]
                break
        else:
            raise AssertionError(f"it did not start: {log.read_text()}")
    finally:
        process.terminate()
        process.communicate(timeout=_WITHIN)
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _playwright() -> tuple[Playwright, asyncio.AbstractEventLoop]:
    """Playwright, and the event loop that it keeps running in this thread.

    Other tests have loops of their own, so it counts as running only while a window is open.
    """
    made = sync_playwright().start()
    expect.set_options(timeout=_PATIENCE)
    loop = asyncio.get_running_loop()
    _at_exit(made.stop)
    return made, loop


def _at_exit(end: Callable[[], None]) -> None:
    def work() -> None:
        _set_running_loop(_playwright()[1])
        end()

    atexit.register(work)


@cache
def chromium() -> Browser:
    """Debian's Chromium where there is one, else the one of Playwright; without either, tests are skipped but in CI."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    try:
        made = _playwright()[0].chromium.launch(executable_path=path, args=_OPTIONS)
    except PlaywrightError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"there is no Chromium; `playwright install chromium` gets one: {str(error).splitlines()[0]}")
    finally:
        _set_running_loop(None)
    _at_exit(made.close)
    return made


@cache
def shared_screens(place: str = "embedded") -> Screens:
    """The systems with demo data, and a browser, for all tests of this process; ``endpoint`` is a server of ours."""
    browser = chromium()
    with ExitStack() as processes:
        options: tuple[str, ...] = ()
        if place == "endpoint":
            options = ("--endpoint", processes.enter_context(running("serve", "--memory", "--port", "0")))
        url = processes.enter_context(up("--demo", *options, rate_limit="100000", rate_burst="100000"))
        atexit.register(processes.pop_all().close)
    return Screens(url, browser)


def serious_problems(page: Page) -> list[str]:
    """What axe finds on a page that keeps people with disabilities from using it, once the page is at rest."""
    # Colours are those that they will be.
    page.emulate_media(reduced_motion="reduce")
    until = monotonic() + _SETTLED_WITHIN
    while True:
        page.wait_for_function(
            "document.getAnimations().every((each) => each.playState !== 'running' || "
            "each.effect.getComputedTiming().endTime === Infinity)"
        )
        found = [
            f"{each['id']}: {node['html'][:200]} {node['any'][:1]}"
            for each in Axe().run(page, options=_VIOLATIONS).response["violations"]
            if each["impact"] in _TAKEN
            for node in each["nodes"]
        ]
        if not found or monotonic() > until:
            return found
        page.wait_for_timeout(_PAUSE)


def overflow(page: Page) -> int:
    """How much wider a page is than its window, once the page is at rest."""
    until = monotonic() + _SETTLED_WITHIN
    while True:
        found = int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
        if found <= 0 or monotonic() > until:
            return found
        page.wait_for_timeout(_PAUSE)
