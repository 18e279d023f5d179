"""A system whose tables are relocated, with the policies that ``tablewright iam --relocation`` prints, in both places.

Those of its own roles have the switch, and whoever relocates has a policy of their own; nothing is refused, and that
policy has nothing that is not used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.store import PlaceSwitch
from tablewright.systems import load
from tablewright.systems.tasks.model import task_management
from tablewright.wire import serve_in_thread
from tests.cli.commands import ROOT
from tests.policy_proxy import PolicyProxy
from tests.systems.harness import wait_for
from tests.systems.policy_enforced_system import (
    ADMINISTRATOR,
    CONSUMERS,
    RELOCATION,
    REQUESTS,
    Guarded,
    guard,
    serving_guarded,
)
from tests.systems.policy_stories import STORIES, ok

WAIT = 90.0
OPERATOR = {
    **os.environ,
    "PYTHONPATH": str(ROOT / "src"),
    "AWS_ACCESS_KEY_ID": RELOCATION,
    "AWS_SECRET_ACCESS_KEY": "secret",
}
# What is not needed for every table: items that were deleted, or changed while they moved; recovery, where it is off.
RARELY = {"dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateContinuousBackups"}


@pytest.fixture
def proxies() -> Iterator[tuple[PolicyProxy, PolicyProxy]]:
    with ExitStack() as stack:
        found = []
        for _ in range(2):
            url = stack.enter_context(serve_in_thread(stack.enter_context(Engine.open())))
            found.append(stack.enter_context(PolicyProxy(url)))
        yield found[0], found[1]


@contextmanager
def relocating(guarded: Guarded, target: PolicyProxy, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    (system,) = load(guarded.name)
    tables = [f"--table={guarded.table_name(table)}" for table in system.design.all_tables]
    with open(log, "wb") as file:
        command = [sys.executable, "-m", "tablewright", "relocate", "start", guarded.proxy.url, target.url, *tables]
        process = subprocess.Popen(command, env=OPERATOR, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.kill()
        process.wait(WAIT)


def ask(guarded: Guarded, target: PolicyProxy, step: str) -> None:
    """Ask until it is done: on a busy machine a cut may take too long, and changes nothing then."""
    command = [sys.executable, "-m", "tablewright", "relocate", step, guarded.proxy.url, target.url]
    until = time.monotonic() + WAIT
    while True:
        done = subprocess.run(command, env=OPERATOR, capture_output=True, text=True, timeout=WAIT)
        if done.returncode == 0:
            return
        assert time.monotonic() < until, done.stdout + done.stderr
        assert done.returncode == 1, done.stderr
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.requirement("SH6", "X3")
def test_tables_are_relocated_with_the_policies_that_are_printed_while_a_system_runs(
    proxies: tuple[PolicyProxy, PolicyProxy], tmp_path: Path
) -> None:
    source, target = proxies
    guarded = guard(source, "tasks", "moving", target)
    guarded.client(ADMINISTRATOR).update_continuous_backups(
        TableName=guarded.table_name(task_management),
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    with serving_guarded(guarded, tmp_path, relocate_to=target.url) as served:
        STORIES["tasks"](served)
        with relocating(guarded, target, tmp_path / "relocation.log") as process:
            wait_for(lambda: "following" in (tmp_path / "relocation.log").read_text(), seconds=WAIT)
            ask(guarded, target, "cut")
            STORIES["tasks"](served)
            ask(guarded, target, "back")
            ask(guarded, target, "cut")
            ask(guarded, target, "finish")
            assert process.wait(WAIT) == 0, (tmp_path / "relocation.log").read_text()
        STORIES["tasks"](served)
        consumers = ok(served.client("root", "Admins").get("/runtime/consumers"))
        assert [each for each in consumers if each["dead_letters"]] == []
        assert served.client().get("/readyz").json() == {"status": "ready", "failing": {}}
    assert (source.denied, target.denied) == ([], [])
    for access_key in (REQUESTS, CONSUMERS):
        for proxy in proxies:
            assert ("dynamodb:GetItem", proxy.arn(PlaceSwitch.TABLE)) in proxy.used_by(access_key)
    used = {(action, _anonymous(each)) for proxy in proxies for action, each in proxy.used_by(RELOCATION)}
    unused = {(action, _anonymous(each)) for action, each in guarded.granted(RELOCATION)} - used
    assert {action for action, _ in unused} <= RARELY
    for action in RARELY:
        assert any(each == action and PlaceSwitch.TABLE not in resource for each, resource in used), action
    assert not any(resource.endswith(PlaceSwitch.TABLE) for _, resource in unused)


def _anonymous(resource: str) -> str:
    """A resource without the label of a stream."""
    place, stream, _ = resource.partition("/stream/")
    return place + stream
