"""``tablewright calls verify``: what is wrong with booked times is listed, and repaired on demand."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tablewright.cli import main
from tablewright.store import Store
from tablewright.systems.calls.model import Call, calls

NOON = datetime(2030, 3, 17, 12, tzinfo=UTC)


def store_calls(folder: Path, *call_ids: str) -> None:
    """As a program stores calls that knows nothing of booked times, all of them at one time with one provider."""
    with Store.open(folder) as store:
        store.ensure_tables(calls)
        for call_id in call_ids:
            store.create(Call(user_id=f"u-{call_id}", call_id=call_id, provider_id="p", scheduled_for=NOON))


@pytest.mark.requirement("CA8")
def test_missing_bookings_are_listed_and_repaired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store_calls(tmp_path, "c-1")
    verify = ["calls", "verify", "--data", str(tmp_path)]
    assert main(verify) == 1
    missing = "on 2030-03-17: the time of the call is not booked"
    assert capsys.readouterr().out.splitlines() == [
        f"call c-1, provider p {missing}",
        f"call c-1, user u-c-1 {missing}",
        "2 bookings are wrong; --repair corrects what it can",
    ]
    assert main([*verify, "--repair"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"call c-1, provider p {missing} (repaired)",
        f"call c-1, user u-c-1 {missing} (repaired)",
        "2 bookings were repaired",
    ]
    assert main(verify) == 0
    assert capsys.readouterr().out == "all bookings are correct\n"


@pytest.mark.requirement("CA8")
def test_clashing_calls_are_reported_and_left_for_a_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store_calls(tmp_path, "c-1", "c-2")
    assert main(["calls", "verify", "--data", str(tmp_path), "--repair"]) == 1
    *findings, summary = capsys.readouterr().out.splitlines()
    assert summary == "1 bookings need a decision: reschedule or cancel one of the calls"
    (clash,) = [finding for finding in findings if "(repaired)" not in finding]
    assert "provider p on 2030-03-17: another call has the same time" in clash


def test_a_folder_without_a_database_is_refused_and_none_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "none"
    assert main(["calls", "verify", "--data", str(folder)]) == 2
    assert "there is no database in" in capsys.readouterr().err
    assert not folder.exists()
