"""``verify``, and what other commands say of a data folder that is damaged."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from tablewright import Engine
from tablewright.store import Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tests.cli.commands import called
from tests.cli.served_folders import client, create_table, error_line
from tests.engine.table_requests import on_demand
from tests.store.large_value_design import Paper, long, papers
from tests.wire.server_process import server_process


def test_verify_reports_what_it_proved(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with server_process("--data", data) as (process, url):
        create_table(url)
        client(url).put_item(TableName="music", Item={"pk": {"S": "a"}})
        process.terminate()
        process.wait(10)
    result = called("verify", data)
    assert result.returncode == 0
    assert result.stdout == f"{data} is intact: 1 table, 1 item, 0 index entries, 0 stream records\n"


@pytest.mark.requirement("SU15")
def test_verify_reads_the_blobs_that_items_and_backups_refer_to(tmp_path: Path) -> None:
    data, text = tmp_path / "data", long("t")
    with Store.open(data) as store:
        store.ensure_tables(papers)
        for number in ("1", "2"):
            store.put(Paper(folder="f", paper_id=number, body=text))
        assert isinstance(store.backend, EmbeddedBackend)
        store.backend.engine.call("CreateBackup", {"TableName": "papers", "BackupName": "one"})
        store.put(Paper(folder="f", paper_id="2", body=text + "!"))
    intact = called("verify", str(data))
    assert (intact.returncode, intact.stdout.count("problem")) == (0, 0)
    assert "4 blobs" in intact.stdout
    files = sorted(path for path in (data / "blobs").rglob("*") if path.is_file() and path.suffix == "")
    for path in files:
        kept = path.read_bytes()
        path.unlink()
        gone = called("verify", str(data))
        assert (gone.returncode, "is missing; restore it" in gone.stdout) == (1, True), gone.stdout
        assert re.search(r"problem: (table papers|backup arn:\S+), item \{.*PAPER#", gone.stdout)
        path.write_bytes(kept[:-1])
        assert "is damaged; restore it" in called("verify", str(data)).stdout
        path.write_bytes(kept)
    (data / "blobs").rename(tmp_path / "elsewhere")
    lost = called("verify", str(data))
    assert (lost.returncode, "none of the 3 blobs that items refer to is in" in lost.stdout) == (1, True), lost.stdout
    assert called("verify", str(data), "--blobs", str(tmp_path / "elsewhere")).returncode == 0


def test_verify_makes_nothing(tmp_path: Path) -> None:
    assert error_line("verify", "missing", cwd=tmp_path) == "tablewright: there is no data folder at missing\n"
    assert error_line("verify", ".", cwd=tmp_path) == "tablewright: there is no Tablewright database in .\n"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "tablewright.db").touch()
    assert "there is no Tablewright database" in error_line("verify", str(tmp_path))
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("tablewright.db", 0)]


def test_a_database_that_is_not_whole_exits_with_1(tmp_path: Path) -> None:
    Engine.open(tmp_path).close()
    with sqlite3.connect(tmp_path / "tablewright.db") as database:
        database.execute("CREATE TABLE items_9 (id INTEGER)")
    database.close()
    result = called("verify", str(tmp_path))
    assert result.returncode == 1
    assert result.stdout == (
        "problem: the SQL table items_9 belongs to no table or backup\n"
        f"{tmp_path} is damaged: 0 tables, 0 items, 0 index entries, 0 stream records;"
        " restore an intact copy of the folder\n"
    )


def test_a_damaged_log_is_refused_until_the_loss_is_accepted(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "open") as engine:
        for number in range(3):
            engine.call("CreateTable", on_demand(TableName=f"table-{number}"))
        shutil.copytree(tmp_path / "open", tmp_path / "data")
    log = tmp_path / "data" / "tablewright.db-wal"
    content = bytearray(log.read_bytes())
    content[-100] ^= 1
    log.write_bytes(content)
    line = error_line("serve", "--port", "0", "--data", str(tmp_path / "data"), status=1)
    assert "commits that may be lost: 1. A copy of it is at" in line
    assert "--accept-loss" in line
    result = called("verify", str(tmp_path / "data"))
    assert result.returncode == 1
    assert "problem: the log is damaged: frame" in result.stdout
    with server_process("--accept-loss", "--data", str(tmp_path / "data")) as (process, url):
        assert client(url).list_tables()["TableNames"] == ["table-0", "table-1"]
        process.terminate()
        process.wait(10)
    assert called("verify", str(tmp_path / "data")).returncode == 0


@pytest.mark.parametrize("command", ["serve", "verify", "scrub", "backup"])
def test_a_lost_database_is_one_line_and_exits_with_1(tmp_path: Path, command: str) -> None:
    data = tmp_path / "data"
    Engine.open(data).close()
    (data / "tablewright.db").unlink()
    arguments = {
        "serve": ["--port", "0", "--data", str(data)],
        "backup": ["--to", str(tmp_path / "copies"), "--data", str(data)],
    }
    line = error_line(command, *arguments.get(command, [str(data)]), status=1)
    assert line == (
        f"tablewright: the database {data}/tablewright.db is missing or empty, but the folder has had one; restore a "
        "copy of the folder, or delete tablewright.end and tablewright.reserve to begin with an empty database\n"
    )
    assert not (data / "tablewright.db").exists()


def test_the_lost_database_of_a_region_is_noticed_at_the_start(tmp_path: Path) -> None:
    Engine.open(tmp_path / "eu-west-1").close()
    (tmp_path / "eu-west-1" / "tablewright.db").unlink()
    line = error_line("serve", "--by-region", "--port", "0", "--data", str(tmp_path), status=1)
    assert f"the database {tmp_path}/eu-west-1/tablewright.db is missing or empty" in line


@pytest.mark.parametrize("begin", [0, 16, 100])
def test_a_damaged_database_is_one_line_and_exits_with_1(tmp_path: Path, begin: int) -> None:
    Engine.open(tmp_path).close()
    with open(tmp_path / "tablewright.db", "r+b") as file:
        file.seek(begin)
        file.write(b"\xee" * 4000)
    for command in (["verify"], ["serve", "--port", "0", "--data"]):
        line = error_line(*command, str(tmp_path), status=1)
        assert f"tablewright: {tmp_path}/tablewright.db is damaged" in line
        assert "restore a copy of the folder" in line
