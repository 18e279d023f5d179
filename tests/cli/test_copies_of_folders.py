"""``tablewright backup --to``, ``backups --from`` and ``restore --from``, as a user runs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tablewright import Engine
from tablewright.cli import main
from tests.cli.commands import run, tablewright
from tests.engine.storage.damage import flip
from tests.engine.storage.disk import create, keys, put


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        put(engine, "before")
    return tmp_path / "data"


def test_a_folder_in_use_is_copied_listed_and_restored(data: Path, tmp_path: Path) -> None:
    copies, restored = str(tmp_path / "copies"), tmp_path / "restored"
    assert tablewright("backups", "--from", copies).stdout == f"There are no copies in {copies}\n"
    with Engine.open(data) as engine:
        put(engine, "while in use")
        done = tablewright("backup", "--to", copies, "--data", str(data))
        assert done.returncode == 0, done.stderr
        made = re.match(rf"Copied {data} to {copies} as (\S+Z): [\d.]+ MB, of which [\d.]+ MB were new\n", done.stdout)
        assert made is not None
        assert done.stderr.splitlines()[-1] == "tablewright: writing the copy (MB)"
        put(engine, "later")
        assert tablewright("backup", "--to", copies, "--data", str(data)).returncode == 0
    first, second = tablewright("backups", "--from", copies).stdout.splitlines()
    listed = first.split()[0]
    assert listed == made[1]
    assert made[1] not in second
    done = tablewright("restore", "--from", copies, "--at", listed, "--data", str(restored))
    assert (done.returncode, done.stdout.startswith(f"Restored {restored} as of 2")) == (0, True)
    with Engine.open(restored) as engine:
        assert keys(engine) == {"before", "while in use"}
    assert tablewright("backup", "--to", copies, "--data", str(data), "--keep", "1").returncode == 0
    assert len(tablewright("backups", "--from", copies).stdout.splitlines()) == 1


def test_damage_is_exit_code_1(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copies = str(tmp_path / "copies")
    place = (data / "tablewright.db").read_bytes().index(b'"before"')
    flip(data / "tablewright.db", place + 2)
    status, out, _ = run(capsys, "backup", "--to", copies, "--data", str(data))
    assert status == 1
    assert out.splitlines()[-1] == "the data folder is damaged, and so is this copy; earlier copies are kept"
    assert "damaged: " in run(capsys, "backups", "--from", copies)[1]
    assert run(capsys, "restore", "--from", copies, "--data", str(tmp_path / "restored"))[0] == 1
    description = next((tmp_path / "copies" / "copies").iterdir())
    whole = description.read_bytes()
    flip(description, 10)
    assert run(capsys, "backups", "--from", copies)[0] == 1
    description.write_bytes(whole)
    flip(tmp_path / "copies" / "packs" / "00000001", 1000)
    status, _, err = run(capsys, "restore", "--from", copies, "--data", str(tmp_path / "again"))
    assert (status, "is damaged" in err) == (1, True)


def test_refusals_say_what_to_do(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refusal(*arguments: str) -> str:
        try:
            status = main(arguments)
        except SystemExit as error:  # of argparse
            status = int(error.code or 0)
        assert status == 2
        return capsys.readouterr().err.splitlines()[-1]

    copies, at = str(tmp_path / "copies"), ("--data", str(data))
    assert "not allowed with" in refusal("backup", "things", "--to", copies, *at)
    assert "is required" in refusal("backup", *at)
    assert "--name is for the backup of a table" in refusal("backup", "--to", copies, "--name", "one", *at)
    assert "--keep is for copies" in refusal("backup", "things", "--keep", "3", *at)
    assert "at least 1, not '0'" in refusal("backup", "--to", copies, "--keep", "0", *at)
    assert "omit TABLE" in refusal("backups", "things", "--from", copies, *at)
    assert "with --to" in refusal("restore", "things", *at)
    assert "with --data" in refusal("restore", "--from", copies, "--to", "things", *at)
    assert "there is no copy" in refusal("restore", "--from", copies, "--data", str(tmp_path / "new"))
    missing = str(tmp_path / "missing")
    assert "there is no data folder" in refusal("backup", "--to", copies, "--data", missing)
    assert not Path(copies).exists()
    assert main(["backup", "--to", copies, *at]) == 0
    assert "is not empty" in refusal("restore", "--from", copies, *at)
    assert "the oldest copy in" in refusal(
        "restore", "--from", copies, "--at", "2020-01-01T00:00:00Z", "--data", str(tmp_path / "new")
    )
