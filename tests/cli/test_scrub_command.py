"""``tablewright scrub``, as a user runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tablewright import Engine
from tablewright.cli import main
from tablewright.engine import VerifyReport, verify_closed
from tablewright.store import Store
from tests.cli.commands import run, tablewright
from tests.engine.storage.damage import flip
from tests.store.large_value_design import Paper, long, papers


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "data") as store:
        store.ensure_tables(papers)
        store.put(Paper(folder="f", paper_id="1", body=long("b")))
    return tmp_path / "data"


def blob(data: Path) -> Path:
    (found,) = (path for path in (data / "blobs").rglob("*-*") if path.is_file())
    return found


def test_a_folder_in_use_is_scrubbed(data: Path, tmp_path: Path) -> None:
    with Engine.open(data):
        assert tablewright("backup", "--to", str(tmp_path / "copies"), "--data", str(data)).returncode == 0
        done = tablewright("scrub", str(data), "--rate", "1GB", "--copies", str(tmp_path / "copies"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"{data} is intact: 1 table, 1 item, 2 index entries, 1 stream record, 1 blob, 1 copy;"
    )


def test_a_folder_without_copies_is_not_taken_for_an_intact_one(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, error = run(capsys, "scrub", str(data), "--copies", str(tmp_path / "mistyped"))
    assert (status, error) == (
        2,
        f"tablewright: there is no copy in {tmp_path / 'mistyped'}; "
        "give the folder that `tablewright backup --to` writes to\n",
    )


@pytest.mark.parametrize("part", ["database", "blob", "missing blob", "copy"])
def test_damage_is_exit_code_1(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str) -> None:
    copies = tmp_path / "copies"
    assert main(["backup", "--to", str(copies), "--data", str(data)]) == 0
    if part == "database":
        flip(data / "tablewright.db", (data / "tablewright.db").read_bytes().index(b"PAPER#1") + 1)
    elif part == "blob":
        flip(blob(data), 300)
    elif part == "missing blob":
        blob(data).unlink()
    else:
        flip(copies / "packs" / "00000001", 100)
    capsys.readouterr()
    status, out, _ = run(capsys, "scrub", str(data), "--copies", str(copies), "--rate", "1GB")
    *problems, last = out.splitlines()
    assert status == 1
    assert problems
    assert all(line.startswith("problem: ") for line in problems)
    assert last.startswith(f"{data} is damaged: ")


def test_a_blob_that_was_replaced_meanwhile_is_not_missing(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def replaced(snapshot: Path, progress: Callable[[str, int, int], None]) -> VerifyReport:
        monkeypatch.undo()
        with Store.open(data) as store:
            store.put(Paper(folder="f", paper_id="1", body=long("c")))
        return verify_closed(snapshot, progress)

    monkeypatch.setattr("tablewright.engine.verify_closed", replaced)
    status, out, _ = run(capsys, "scrub", str(data), "--rate", "1GB")
    assert (status, out.startswith(f"{data} is intact")) == (0, True)


@pytest.mark.parametrize("rate", ["0", "5", "999", "fast", "-1MB", "1TB", "MB"])
def test_a_rate_that_is_none_is_refused(data: Path, capsys: pytest.CaptureFixture[str], rate: str) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["scrub", str(data), f"--rate={rate}"])
    assert refused.value.code == 2
    assert "a rate looks like 20MB or 500KB" in capsys.readouterr().err


def test_where_there_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "scrub", str(tmp_path / "nothing"))
    assert (status, "there is no data folder" in err) == (2, True)
