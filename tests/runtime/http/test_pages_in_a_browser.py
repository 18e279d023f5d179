"""The start page and the API pages, as somebody uses them in a browser."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.systems import load
from tests.runtime.http.browser import CHROMIUM, Page, browser
from tests.systems.harness import Served, serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

STATUS = "change_status_calls__callId__status_put"
CREATE = "create_call_calls_post"
PHONE = 390


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(load("calls", "tasks"), memory=True) as served:
        yield served


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


def open_call(page: Page, served: Served, call: str, system: str = "calls", width: int = 1200) -> None:
    page.open("about:blank")
    page.open(f"{served.url}/{system}/docs#{call}", width=width)
    page.until(f"document.querySelector('#{call} .actions') !== null")


def overflow(page: Page) -> int:
    """How much wider the content of a page is than the page."""
    return int(page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_the_start_page_has_tokens_by_system(page: Page, served: Served) -> None:
    page.open(f"{served.url}/")
    page.until("document.querySelectorAll('#systems li').length > 3")
    cards = json.loads(
        page.run(
            "JSON.stringify([...document.querySelectorAll('.card')].map(card => [card.querySelector('h3').textContent,"
            " [...card.querySelectorAll('li b')].map(each => each.textContent)]))"
        )
    )
    named = {system.title: [user.user_id for user in system.demo_users] for system in served.systems}
    assert dict(cards) == {**named, "Everything": ["admin"]}


def test_the_chosen_user_is_remembered_and_makes_the_calls(page: Page, served: Served) -> None:
    page.open(f"{served.url}/")
    page.until("document.querySelectorAll('#systems li').length > 3")
    page.run("[...document.querySelectorAll('.card')][0].querySelectorAll('li')[1].querySelector('a').click()")
    page.until("location.pathname === '/calls/docs' && document.getElementById('user').options.length > 2")
    assert page.run("document.getElementById('user').selectedOptions[0].textContent") == "cleo (Schedulers)"
    open_call(page, served, CREATE)
    page.until("document.getElementById('user').value !== ''")
    page.run(f"document.querySelector('#{CREATE} button').click()")
    shown = page.until(f"document.querySelector('#{CREATE} pre .status')?.parentNode.textContent")
    assert "201 Created" in shown
    assert '"status": "SCHEDULED"' in shown
    # Another system has people of its own.
    page.open(f"{served.url}/tasks/docs")
    page.until("document.getElementById('user').options.length > 2")
    assert page.run("document.getElementById('user').value") == ""


def test_choices_are_offered_and_go_into_the_body(page: Page, served: Served) -> None:
    open_call(page, served, STATUS)
    select = f"document.querySelector('#{STATUS} .choices select')"
    assert page.run(f"[...{select}.options].map(each => each.textContent).join()") == ",SCHEDULED,COMPLETED,CANCELLED"
    page.run(f"{select}.value = '\"CANCELLED\"'; {select}.onchange()")
    body = f"document.querySelector('#{STATUS} textarea')"
    assert json.loads(page.run(f"{body}.value")) == {"status": "CANCELLED", "version": 1}
    page.run(f"{body}.value = '{{'; {body}.oninput()")
    assert page.run(f"{body}.classList.contains('wrong')")


def test_a_parameter_with_choices_is_a_list_of_them(page: Page, served: Served) -> None:
    call = "list_tasks_tasks_get"
    open_call(page, served, call, "tasks")
    assert "OPEN" in page.run(f"[...document.querySelector('#{call} select').options].map(each => each.value)")
    assert page.run(f"document.querySelector('#{call} input[type=number]').max") == "100"


def test_descriptions_are_markdown_and_no_html(page: Page, served: Served) -> None:
    open_call(page, served, CREATE)
    assert page.run(f"document.querySelectorAll('#{CREATE} .markdown p').length") >= 2
    assert "Idempotency-Key" in page.run(
        f"[...document.querySelectorAll('#{CREATE} .markdown code')].map(each => each.textContent)"
    )
    page.run(
        "markdown(document.body.appendChild(Object.assign(document.createElement('div'), {id: 'made'})), "
        "'a **b** `c` [d](https://e.org) [x](javascript:f)\\n\\n- one\\n- two <img src=x onerror=alert(1)>')"
    )
    made = page.run("document.getElementById('made').innerHTML")
    assert made.startswith('<p>a <b>b</b> <code>c</code> <a href="https://e.org">d</a> [x](javascript:f)</p><ul>')
    assert "<img" not in made


def test_responses_are_shown_with_their_schemas_and_examples(page: Page, served: Served) -> None:
    open_call(page, served, STATUS)
    shown = page.run(f"document.querySelector('#{STATUS} .response').textContent")
    assert "durationMinutes integer" in shown
    assert "SCHEDULED | COMPLETED | CANCELLED" in shown
    assert '"callId": "call-9"' in shown
    problems = page.run(
        f"[...document.querySelectorAll('#{STATUS} .response .response .status')].map(s => s.textContent)"
    )
    assert {"404", "409", "412", "422"} <= set(problems)


def test_a_call_is_copied_as_curl_that_works(page: Page, served: Served, tmp_path: Path) -> None:
    open_call(page, served, CREATE)
    page.until("document.getElementById('user').options.length > 2")
    page.run(
        "document.getElementById('user').selectedIndex = 2; window.copied = null;"
        "navigator.clipboard.writeText = async text => { window.copied = text; };"
        f"document.querySelector('#{CREATE} textarea').value = JSON.stringify({{userId: 'u-1', providerId: 'p-1', "
        'scheduledFor: 1910000000000, callId: "it\'s"});'
        f"[...document.querySelectorAll('#{CREATE} button')].find(each => each.textContent === 'Copy as curl').click()"
    )
    command = page.until("window.copied")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30, cwd=tmp_path)
    # The quote arrived, and is not allowed in an id.
    assert json.loads(done.stdout)["errors"][0]["field"] == "body.callId", done
    done = subprocess.run(
        ["sh", "-c", command.replace("it'\\''s", "c-1")], capture_output=True, text=True, timeout=30, cwd=tmp_path
    )
    assert json.loads(done.stdout).get("callId") == "c-1", done


@pytest.mark.parametrize("width", [PHONE, 1200])
def test_pages_fit_their_window(page: Page, served: Served, width: int) -> None:
    page.open(f"{served.url}/", width=width)
    page.until("document.querySelectorAll('#systems li').length > 3")
    assert overflow(page) == 0
    for call in (CREATE, STATUS):
        open_call(page, served, call, width=width)
        page.run("for (const each of document.querySelectorAll('details')) each.open = true")
        assert overflow(page) == 0


def test_the_runtime_has_a_page_too(page: Page, served: Served) -> None:
    call = "healthz_healthz_get"
    open_call(page, served, call, "runtime")
    page.run(f"document.querySelector('#{call} button').click()")
    assert "200 OK" in page.until(f"document.querySelector('#{call} pre .status')?.parentNode.textContent")
