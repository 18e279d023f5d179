"""Every system's suite runs on several endpoints: embedded, our own server, and moto's.

What writes and races runs on our own server in ``make test`` too (``ON_OWN_SERVER``). What is about requests, rights
and responses does the same wherever the tables are; on our own server it runs with the marker ``slow``, as all of them
do on moto's.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.systems import NAMES, load
from tablewright.wire import serve_in_thread
from tests.systems.harness import Served, serving
from tests.systems.moto_process import moto_process

_prefixes = count()

# Each transaction copies its table with all of its stream; the next tests would wait for what such a test leaves.
_TOO_SLOW = "many transactions at once take minutes and gigabytes"

# Where an endpoint answers otherwise than DynamoDB: the tests that show it.
KNOWN_DIFFERENCES: dict[str, dict[str, str]] = {
    "moto_server": {
        "test_a_comment_past_400_kb_is_refused_and_nothing_is_lost": "an item is taken for larger than it is",
        "test_at_the_edge_every_comment_is_either_kept_or_refused": "an item is taken for larger than it is",
        "test_a_comment_on_a_full_assigned_ticket_is_refused_with_413": "an item is taken for larger than it is",
        "test_nothing_is_published_for_what_failed_or_is_no_event": "after a transaction that fails, the stream stops",
        "test_events_of_other_tasks_are_published": "after a transaction that fails, the stream stops",
        "test_events_are_numbered_without_gaps_by_a_hundred_and_fifty_writers_at_once": _TOO_SLOW,
        "test_a_hundred_who_want_different_times_of_one_provider_all_get_theirs": _TOO_SLOW,
        "test_an_event_concerns_every_program_that_reacts_however_many_there_are": _TOO_SLOW,
    },
}


ON_OWN_SERVER = {
    "calls": {"test_bookings", "test_races", "test_creating", "test_changing", "test_reading"},
    "engagement": {"test_programs", "test_candidates", "test_customer_preferences"},
    "runs": {"test_runs"},
    "servicedesk": {"test_tickets", "test_table", "test_bounds_and_races"},
    "support": {"test_support", "test_metrics", "test_shards", "test_payloads", "test_operations"},
    "tasks": {"test_tasks", "test_assignments", "test_users", "test_events", "test_lockout"},
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        callspec = getattr(item, "callspec", None)
        on_own_server = callspec is not None and callspec.params.get("served") == "own_server"
        if on_own_server and item.path.stem not in ON_OWN_SERVER.get(item.path.parent.name, ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _known_difference(request: pytest.FixtureRequest) -> None:
    """A test that an endpoint is known to fail may fail there; it need not, as some depend on how fast it is."""
    endpoint = getattr(request.node, "callspec", None) and request.node.callspec.params.get("served")
    reason = KNOWN_DIFFERENCES.get(str(endpoint), {}).get(request.node.originalname)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=False, run=reason is not _TOO_SLOW))


@pytest.fixture(scope="session")
def own_server_url() -> Iterator[str]:
    with Engine.open() as engine, serve_in_thread(engine) as url:
        yield url


@pytest.fixture(scope="module")
def moto_server_url() -> Iterator[str]:
    """A server for each module: what it keeps of one is gone for the next."""
    with moto_process() as url:
        yield url


@pytest.fixture(scope="module", params=["embedded", "own_server", pytest.param("moto_server", marks=pytest.mark.slow)])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The system that a folder is about, on each endpoint in turn; all systems for the modules of this folder.

    A module's tests share it, so they use names of their own.
    """
    names = {request.path.parent.name} & set(NAMES)
    folder: Path = tmp_path_factory.mktemp("systems")
    settings: dict[str, object] = {"data": folder, "table_prefix": f"t{next(_prefixes)}-", "batch_window": 0}
    if request.param != "embedded":
        settings["endpoint"] = request.getfixturevalue(f"{request.param}_url")
    with serving(load(*names), **settings) as served:
        yield served
