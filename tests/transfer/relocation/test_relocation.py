"""A relocation under load, as a user runs it: cut, back, cut again, finish; checked by the history of its clients."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.transfer.copy_commands import ENVIRONMENT
from tests.transfer.relocation.histories import clients, problems
from tests.transfer.relocation.relocation_servers import TABLE, Mover, asked, command, two_servers

pytestmark = [pytest.mark.requirement("SH6"), pytest.mark.timeout(300)]


@pytest.mark.slow
def test_tables_move_and_come_back_while_they_are_in_use(tmp_path: Path) -> None:
    with two_servers(tmp_path) as (source, target):
        with (
            clients(source.url, target.url, TABLE) as working,
            Mover(source, target, tmp_path / "mover.log") as mover,
        ):
            mover.until("reading the streams")
            cut = asked("cut", source, target)
            assert (cut.returncode, cut.stderr) == (0, ""), mover.text
            # Less than a second on a machine that is not busy.
            assert re.fullmatch(r"done; requests were held for \d+\.\d\d s\n", cut.stdout)
            state = json.loads(
                subprocess.run(
                    command("status", source, target, "--json"), env=ENVIRONMENT, capture_output=True, check=True
                ).stdout
            )
            assert (state["phase"], state["open"], state["tables"]) == ("reversing", target.url, [TABLE])
            assert asked("cut", source, target).returncode == 2
            time.sleep(0.5)
            back = asked("back", source, target)
            assert back.returncode == 0, back.stderr + mover.text
            time.sleep(0.5)
            again = asked("cut", source, target)
            assert again.returncode == 0, again.stderr + mover.text
            time.sleep(0.3)
            finished = asked("finish", source, target)
            assert (finished.returncode, finished.stdout) == (0, "done\n")
            assert mover.ended() == 0
            time.sleep(0.3)
        events = [event for client in working for event in client.events]
        assert problems(events, target.logs()) == []
        assert sum(event.outcome == "ok" for event in events) > 100
        assert "0 written again" in mover.text
        items = target.call("Scan", {"TableName": TABLE, "Select": "COUNT"})["Count"]
        assert items == 200 + len(target.logs())
        assert source.logs() != target.logs(), "clients went on in the target"
