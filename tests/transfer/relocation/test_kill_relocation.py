"""kill -9 of every party of a relocation in every phase: nothing is lost, nothing done twice, no read goes back."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.commands import ROOT
from tests.examples import THOROUGH
from tests.transfer.copy_commands import ENVIRONMENT
from tests.transfer.relocation.histories import Event, clients, problems
from tests.transfer.relocation.relocation_servers import TABLE, Mover, Server, two_servers, until_done

pytestmark = [pytest.mark.requirement("SH6"), pytest.mark.timeout(300)]

PARTIES = ("mover", "source", "target", "client")
# The phase, by what the mover has told last, and how often it has.
PHASES = {
    "copying": ("reading the streams", 1),
    "following": ("following http", 1),
    "cut": ("are on hold", 1),
    "reversing": ("the tables are served by", 1),
    "back": ("are on hold", 2),
}
# So many, and written so fast, that copying them takes a second.
ITEMS = 1500
RATE = ("--write-rate", "2500")


class ClientProcess:
    """A client as a process of its own, started again under another name when it was killed."""

    def __init__(self, source: Server, target: Server) -> None:
        self._places = source.url, target.url
        self._lives = 0
        self.events: list[Event] = []
        self.start()

    def start(self) -> None:
        self._lives += 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.transfer.relocation.histories", f"p{self._lives}", *self._places, TABLE],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, args=[self._process])
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                # The last line of a process that was killed.
                return
            self.events.append(Event(**{**event, "seen": tuple(event["seen"])}))

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(60)
        self._reader.join(60)


@contextmanager
def client_process(source: Server, target: Server) -> Iterator[ClientProcess]:
    process = ClientProcess(source, target)
    try:
        yield process
    finally:
        process.kill()


def scenario(folder: Path, kills: list[tuple[str, str]], chance: random.Random, *, short: bool = False) -> None:
    """A cut and the way back under load, in which parties are killed in phases and started again.

    A short one has few items, and ends with the cut.
    """
    items = 50 if short else ITEMS
    with two_servers(folder, items) as (source, target):
        with (
            clients(source.url, target.url, TABLE, 2) as working,
            client_process(source, target) as alone,
            Mover(source, target, folder / "mover.log", *RATE) as mover,
        ):
            parties: dict[str, Mover | Server | ClientProcess] = {
                "mover": mover,
                "source": source,
                "target": target,
                "client": alone,
            }
            asking: threading.Thread | None = None

            def kill_in(phase: str) -> None:
                words, times = PHASES[phase]
                for party in [party for party, when in kills if when == phase]:
                    mover.until(words, times)
                    time.sleep(chance.uniform(0.0, 0.5))
                    parties[party].kill()
                    time.sleep(chance.uniform(0.0, 0.5))
                    parties[party].start()

            kill_in("copying")
            kill_in("following")
            mover.until("reading the streams")
            for step in ("cut",) if short else ("cut", "back"):
                asking = threading.Thread(target=until_done, args=(step, source, target))
                asking.start()
                kill_in(step)
                asking.join(120)
                assert not asking.is_alive(), mover.text
                time.sleep(0.5)
                if step == "cut":
                    kill_in("reversing")
            until_done("finish", source, target)
            assert mover.ended() == 0, mover.text
        events = [*alone.events, *(event for client in working for event in client.events)]
        last = target if short else source
        final = last.logs()
        assert problems(events, final) == [], mover.text
        assert sum(event.outcome == "ok" for event in events) > 50
        assert last.call("Scan", {"TableName": TABLE, "Select": "COUNT"})["Count"] == items + len(final)


def test_a_process_that_is_killed_while_it_holds_the_tables_is_started_again(tmp_path: Path) -> None:
    scenario(tmp_path, [("mover", "cut")], random.Random(5), short=True)


@pytest.mark.slow
def test_a_relocation_survives_kills_of_all_parties(tmp_path: Path) -> None:
    kills = [("mover", "cut"), ("target", "following"), ("source", "reversing"), ("client", "back")]
    scenario(tmp_path, kills, random.Random(None if THOROUGH else 5))


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("party", PARTIES)
def test_each_party_is_killed_in_each_phase(tmp_path: Path, party: str, phase: str) -> None:
    scenario(tmp_path, [(party, phase)], random.Random(None if THOROUGH else f"{party} {phase}"))
