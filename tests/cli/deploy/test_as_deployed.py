"""``tablewright up --as-deployed``: the functions of a stack, on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tablewright.cli import main

pytestmark = pytest.mark.requirement("SH3")


@pytest.mark.slow
def test_a_call_that_was_booked_by_functions_is_there_after_a_restart(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tablewright", "up", "--as-deployed", "--system", "calls"]
    command += ["--data", str(tmp_path / "data"), "--port", "0"]
    environment = {**os.environ, "TABLEWRIGHT_LOG_LEVEL": "WARNING"}
    body = {"userId": "ada", "providerId": "p-1", "scheduledFor": 4_070_944_800_000, "callId": "c-1"}
    for attempt in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            try:
                found = re.search(r"http://\S+:\d+", process.stdout.readline())
                assert found is not None
                # The first function that starts makes the key that tokens are signed with.
                assert httpx.get(f"{found[0]}/healthz", timeout=60).status_code == 200
                issue = [sys.executable, "-m", "tablewright", "token", "--user", "cleo", "--role", "calls:Schedulers"]
                issue += ["--data", str(tmp_path / "data")]
                token = subprocess.run(issue, capture_output=True, text=True, check=True).stdout.strip()
                headers = {"Authorization": f"Bearer {token}"}
                if not attempt:
                    made = httpx.post(f"{found[0]}/calls/calls", json=body, headers=headers, timeout=60)
                    assert made.status_code == 201, made.text
                seen = httpx.get(f"{found[0]}/calls/calls/c-1", headers=headers, timeout=60)
                assert seen.json()["providerId"] == "p-1"
            finally:
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "add --system tasks"),
        (["--system", "calls", "--system", "tasks"], "one stack"),
        (["--system", "calls", "--endpoint", "http://127.0.0.1:1"], "on the embedded engine"),
        (["--system", "calls", "--demo"], "runs functions, for which there is no --demo; leave it out"),
        (["--system", "calls", "--studio-write", "--dynamodb-port", "0"], "no --studio-write or --dynamodb-port"),
    ],
)
def test_what_cannot_be_run_as_deployed_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", "--as-deployed", "--port", "0", *arguments]) == 2
    assert message in capsys.readouterr().err
