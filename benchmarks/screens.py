"""The first screen of each application, with ten thousand things in its tables, in Chromium.

Times are those of a person who waits: from the address until the rows are on the screen. What a screen costs stands
beside them: processor time of the server, elements, and what goes over the wire.
"""

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from benchmarks.cache import data_folder
from benchmarks.report import Section, progress, verdict
from benchmarks.servers import systems_up
from benchmarks.studio import NotHereError, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

    from tablewright.model import Entity

PART = "screens"
THINGS = 10_000
# Milliseconds.
BAR = 1_000
COLUMNS = ["", "first, empty cache", "again", "bar", "", "server", "elements", "page"]
# With the guards of unique values, a transaction has no more than a hundred items.
AT_ONCE = 40
# Consumers have read what was loaded: so much of a core is used for so many seconds at most.
QUIET, QUIET_FOR = 0.05, 3.0
ISSUES = (
    "The laptop does not turn on after the update",
    "The pump stops after ten minutes, and starts again when it is cold",
    "Nobody gets mail from the shop since Tuesday",
    "The second screen flickers",
    "The invoice has the address of another branch",
)


@dataclass(slots=True)
class Screen:
    """A first screen: who opens which address, and what is there then."""

    name: str
    user: str
    path: str
    row: str
    first: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    elements: int = 0
    received: int = 0


def screens(monday: datetime) -> list[Screen]:
    who = "provider:p-1,provider:p-2"
    return [
        Screen("Service Desk: the queue", "sam", "/servicedesk/queue", ".tw-item"),
        Screen("Support: the inbox", "op_9", "/support/inbox", ".tw-item"),
        Screen(
            "Engagement: candidates", "marketer", "/engagement/programs/EU/coffee/candidates", ".tw-list-card a.tw-item"
        ),
        Screen("Calls: a week of two", "cleo", f"/calls/week/{monday.date()}?who={who}", ".tw-cal-event"),
        Screen("Tasks: the board", "ada", "/tasks/board", ".tw-tile"),
    ]


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` does not matter here: each round is a new browser window."""
    return measured(THINGS, rounds)


def measured(things: int, rounds: int) -> Section:
    title = f"First screens with {things:,} things"
    try:
        with ExitStack() as stack:
            browser = stack.enter_context(chromium())
            folder = stack.enter_context(data_folder())
            now = datetime.now(UTC).replace(microsecond=0)
            monday = (now - timedelta(days=now.weekday())).replace(hour=0, minute=0, second=0)
            data = folder / "data"
            with systems_up("--demo", "--data", str(data)):
                pass
            progress(f"[screens] loading {things:,} things of each application")
            fill(data, things, now, monday)
            pid, address = stack.enter_context(systems_up("--data", str(data)))
            _wait_until_quiet(pid)
            found = run(browser, pid, address, screens(monday), rounds)
            version = browser.version
    except NotHereError as missing:
        progress(f"[screens] {missing}: {missing.__cause__}")
        return Section(PART, title, [f"not measured here: {missing}"], COLUMNS, [])
    notes = [
        f"{things:,} tickets, tasks, calls, and candidates of a program; `tablewright up` on a data folder, all five "
        f"systems in it; Chromium {version} on loopback, a new window for each of {rounds} rounds, in turns",
        "until the first row is on the screen: with nothing in the browser's cache, and opened again in that window",
        "server: its processor time for a screen that is opened again; page: what the browser receives for it, "
        "compressed",
    ]
    rows = [_row(each) for each in found]
    return Section(PART, title, notes, COLUMNS, rows)


def _row(screen: Screen) -> list[str]:
    first, again = statistics.median(screen.first), statistics.median(screen.again)
    return [
        screen.name,
        f"{first * 1e3:.0f} ms",
        f"{again * 1e3:.0f} ms",
        f"≤ {BAR:,} ms",
        verdict(max(first, again) * 1e3 <= BAR),
        f"{statistics.median(screen.server) * 1e3:.0f} ms",
        f"{screen.elements:,}",
        f"{screen.received / 1e3:.0f} KB",
    ]


def run(browser: "Browser", pid: int, address: str, found: list[Screen], rounds: int) -> list[Screen]:
    states = {each.user: _signed_in(browser, address, each.user) for each in found}
    # Once, so that what a process loads at its first request is loaded.
    for turn in range(rounds + 1):
        for each in found:
            context = _window(browser, address, storage_state=states[each.user])
            first, _ = _opened(context, each, pid)
            again, used = _opened(context, each, pid)
            context.close()
            if turn:
                each.first.append(first)
                each.again.append(again)
                each.server.append(used)
        progress(f"[screens] {turn}/{rounds}: " + ", ".join(f"{each.first[-1]:.2f} s" for each in found if each.first))
    return found


def _opened(context: "BrowserContext", screen: Screen, pid: int) -> tuple[float, float]:
    """Seconds until a screen is there, and of the server's processor for it, with what it begins by itself."""
    page = context.new_page()
    before, started = processor_time(pid), time.perf_counter()
    page.goto(f"/app{screen.path}", wait_until="commit")
    page.wait_for_selector(screen.row)
    taken = time.perf_counter() - started
    screen.elements = page.evaluate("document.querySelectorAll('body *').length")
    screen.received = page.evaluate("performance.getEntriesByType('navigation')[0].encodedBodySize")
    page.wait_for_timeout(400)
    used = processor_time(pid) - before
    page.close()
    return taken, used


def _window(browser: "Browser", address: str, **options: Any) -> "BrowserContext":
    return browser.new_context(viewport={"width": 1440, "height": 900}, base_url=address, **options)


def _signed_in(browser: "Browser", address: str, user: str) -> Any:
    context = _window(browser, address)
    form: dict[str, str | float | bool] = {"user": user, "to": "/"}
    answer = context.request.post("/app/sign-in", form=form, headers={"Origin": address}, max_redirects=0)
    if answer.status != 303:
        raise RuntimeError(f"{user} could not sign in: {answer.text()}")
    state = context.storage_state()
    context.close()
    return state


def processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_until_quiet(pid: int) -> None:
    """Wait for the consumers of the streams to have read what was loaded."""
    progress("[screens] waiting until the consumers have read it")
    while True:
        before = processor_time(pid)
        time.sleep(QUIET_FOR)
        if processor_time(pid) - before < QUIET * QUIET_FOR:
            return


# -- what is loaded ---------------------------------------------------------------------------------------------------


def fill(data: Path, things: int, now: datetime, monday: datetime) -> None:
    """Put things of each application into a data folder that has its demo data."""
    from tablewright.engine import Engine
    from tablewright.store import Create, Store
    from tablewright.store.backends.embedded_backend import EmbeddedBackend

    kinds = {
        "tickets of Service Desk": desk_tickets(things, now),
        "tickets of Support": support_tickets(things, now),
        "candidates": candidates(things, now),
        "calls": calls(things, monday),
        "tasks": tasks(things, now),
    }
    with Engine.open(data) as engine:
        store = Store(EmbeddedBackend(engine, owned=False))
        for name, made in kinds.items():
            everything = list(made)
            for start in range(0, len(everything), AT_ONCE):
                store.transact(*map(Create, everything[start : start + AT_ONCE]))
            progress(f"[screens] {len(everything):,} {name}")
        engine.flush()


def desk_tickets(number: int, now: datetime) -> "Iterator[Entity]":
    from tablewright.systems.servicedesk.model import Priority, Ticket
    from tablewright.systems.servicedesk.ticket_numbers import number_of

    for n in range(number):
        ticket_id = UUID(int=n)
        yield Ticket(
            ticket_id=ticket_id,
            number=number_of(ticket_id),
            caller_id=f"caller-{n % 500}",
            issue_description=f"{ISSUES[n % len(ISSUES)]} ({n})",
            priority=list(Priority)[n % 4],
            created_at=now - timedelta(minutes=n),
            assignee=f"agent-{n % 6}" if n % 2 else None,
        )


def support_tickets(number: int, now: datetime) -> "Iterator[Entity]":
    from tablewright.systems.support.model import Conversation, Status, Ticket

    for n in range(number):
        status, at = list(Status)[n % 5], now - timedelta(minutes=n)
        yield Ticket(
            ticket_id=f"tkt_{n:06}",
            customer_id=f"cust_{n % 500}",
            symptom_text=f"{ISSUES[n % len(ISSUES)]} ({n})",
            status=status,
            created_at=at,
            completed_at=at if status is Status.READY else None,
            escalated_at=at if status is Status.ESCALATED else None,
            escalation_reason="the line is down" if status is Status.ESCALATED else None,
            assigned_to=f"op_{n % 9}" if n % 3 else None,
        )
        if n % 2:
            yield Conversation(ticket_id=f"tkt_{n:06}", last_message_at=at, is_answered=False)


def candidates(number: int, now: datetime) -> "Iterator[Entity]":
    from tablewright.systems.engagement.entities.candidate_entities import ChannelEntry, Subject

    for n in range(number):
        yield ChannelEntry(
            customer_id=f"x-{n:06}",
            program_id="coffee",
            marketplace_id="EU",
            subject=Subject(type="product", id=f"p-{n % 7}"),
            channel_id="email",
            score=Decimal(n % 997) / 1000,
            created=now,
        )


def calls(number: int, monday: datetime) -> "Iterator[Entity]":
    """Each provider has eight hours on five days of each week, this one in the middle of them."""
    from tablewright.systems.calls.model import Call

    providers, hours = 12, 8
    weeks = -(-number // (providers * hours * 5))
    for n in range(number):
        slot, provider = divmod(n, providers)
        day, hour = divmod(slot, hours)
        week, weekday = divmod(day, 5)
        yield Call(
            user_id=f"user-{n % 97}",
            call_id=f"call-{n}",
            provider_id=f"p-{provider}",
            scheduled_for=monday + timedelta(weeks=week - weeks // 2, days=weekday, hours=9 + hour),
            duration_minutes=45,
        )


def tasks(number: int, now: datetime) -> "Iterator[Entity]":
    from tablewright.systems.tasks.model import Assignment, Priority, Status, Task

    for n in range(number):
        task_id, at = f"task-{n:06}", now - timedelta(minutes=n)
        yield Task(
            task_id=task_id,
            title=f"{ISSUES[n % len(ISSUES)]} ({n})",
            description="What to do about it, and how to see that it is done",
            status=list(Status)[n % 4],
            priority=list(Priority)[n % 3],
            due=now.date() + timedelta(days=n % 20) if n % 2 else None,
            created_by="ada",
            updated_by="ada",
            created_at=at,
        )
        for person in range(n % 3):
            yield Assignment(
                task_id=task_id, assigned_to=f"user-{(n + person) % 30}", assigned_by="ada", assigned_at=at
            )
