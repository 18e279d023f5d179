"""``tablewright copy``, as a user runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tablewright.dynamo import Item
from tablewright.engine import Engine
from tablewright.store import Store
from tablewright.wire import serve_in_thread
from tests.cli.commands import error_line, run
from tests.store.large_value_design import Paper, long, papers
from tests.transfer.samples import ORDERS, data_folder, every_type, folder_items

pytestmark = pytest.mark.requirement("SH5")
ALL = 12 + len(every_type())


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_tables_are_copied_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_folder(tmp_path / "source", 12)
    status, out, error = run(capsys, "copy", "source", "target", "--rename", "Users=People")
    assert (status, out) == (0, f"Orders: {ALL} items, verified\nUsers as People: 5 items, verified\n")
    assert "tablewright: Copying Orders\n" in error
    assert folder_items(tmp_path / "target", "People") == folder_items(tmp_path / "source", "Users")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


def test_options_of_a_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_folder(tmp_path / "source", 12)
    options = ["--where", "status = 'odd'", "--segments", "3", "--read-rate", "1e6", "--write-rate", "1e6"]
    status, out, _ = run(capsys, "copy", "source", "target", "--table", "Orders", "--no-verify", *options)
    assert (status, out) == (0, f"Orders: {len(every_type())} items, 12 left out\n")
    status, out, _ = run(capsys, "copy", "source", "target", "--table", "Orders", "--into-existing", "--with-stream")
    assert (status, out) == (0, f"Orders: {ALL} items, verified\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "target"), "there is no data folder at"),
        (("ftp://somewhere", "target"), "ftp://somewhere is not an endpoint"),
        (("aws:", "target"), "aws: does not name a region; write it as aws:eu-west-1"),
        (("source", "target", "--segments", "0"), "segments are a number from 1 to 1000, not '0'"),
        (("source", "target", "--write-rate", "none"), "a rate is a number of units per second above 0"),
        (("source", "target", "--rename", "Orders"), "'Orders' is not OLD=NEW"),
        (("source", "target", "--where", "status ="), "Syntax error"),
        (("source", "target", "--drop-unknown"), "--drop-unknown is about --pseudonymize"),
        (("source", "source", "--table", "Users", "--rename", "Users=Orders"), "Orders of source has a stream"),
        (("source", "target", "--design", "no_such_design"), "there is no module 'no_such_design'"),
        (("source", "http://127.0.0.1:1", "--table", "Nope"), "source has no table Nope"),
    ],
)
def test_mistakes_are_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    data_folder(tmp_path / "source", 1)
    status, _, error = run(capsys, "copy", *arguments)
    assert (status, len(error.splitlines())) == (2, 1)
    assert message in error


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x.xml", "x.xml has the suffix of a file, .xml, and no such format is known"),
        ("orders.JSON", "orders.JSON has the suffix of a file, .JSON, and no such format is known"),
        ("orders.parquet.gz", "orders.parquet.gz has the suffix of a file, .parquet.gz, and no such format is known"),
        ("export/{table}.xml", "export/{table}.xml has the suffix of a file, .xml, and no such format is known"),
        ("export/{table}", "export/{table} stands for files, and has no suffix"),
    ],
)
@pytest.mark.parametrize("role", ["source", "target"])
def test_a_file_of_an_unknown_format_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], role: str, name: str, reason: str
) -> None:
    data_folder(tmp_path / "data", 1)
    places = ("data", name) if role == "target" else (name, "target")
    status, _, error = run(capsys, "copy", *places, "--table", "Orders")
    assert (status, len(error.splitlines())) == (2, 1)
    assert f"{reason}; use .json, .jsonl or .csv, also with .gz, or .parquet" in error
    assert ("for a data folder with this name, write" in error) == ("{table}" not in name)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_data_folder_may_have_a_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_folder(tmp_path / "data", 1)
    for target in ("new.old/", "data-1.2", ".data"):
        assert run(capsys, "copy", "data", target, "--table", "Users")[0] == 0
        assert folder_items(tmp_path / target, "Users")
    status, out, _ = run(capsys, "copy", "new.old", "again", "--table", "Users")
    assert (status, out) == (0, "Users: 5 items, verified\n"), "an existing folder is one without a / as well"
    (tmp_path / "empty.d").mkdir()
    assert run(capsys, "copy", "data", "empty.d", "--table", "Users")[0] == 0


def test_items_in_the_target_only_come_with_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_folder(tmp_path / "source", 12)
    with Engine.open() as engine, serve_in_thread(engine) as url:
        engine.call("CreateTable", ORDERS)

        def meddle(item: Item) -> Item:
            engine.call("PutItem", {"TableName": "Orders", "Item": {"pk": {"S": "extra"}, "sk": {"N": "1"}}})
            return item

        monkeypatch.setitem(sys.modules, "meddling", SimpleNamespace(meddle=meddle))
        command = ("copy", "source", url, "--table", "Orders", "--transform", "meddling:meddle", "--with-stream")
        for _ in range(2):
            status, out, _ = run(capsys, *command)
            assert status == 1
            assert out.splitlines()[1:] == [
                '  {"pk":{"S":"extra"},"sk":{"N":"1"}} is in the target only',
                "  Orders differs from what was copied in 1 of 256 parts of its keys; items that are in the target "
                "only stay there: delete them there, or exclude them from the comparison with --into-existing, and run "
                "the same command again to copy the table once more",
            ]
        status, out, _ = run(capsys, *command, "--into-existing")
        assert (status, out) == (0, f"Orders: {ALL} items, verified\n")


def test_a_folder_in_use_is_told(tmp_path: Path) -> None:
    data_folder(tmp_path / "source", 1)
    with Engine.open(tmp_path / "source"):
        assert "in use by another engine" in error_line("copy", "source", "target", cwd=tmp_path)


def test_large_values_are_copied_along_between_data_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(tmp_path / "source") as store:
        store.ensure_tables(papers)
        store.put(Paper(folder="f", paper_id="1", body=long("b")))
        store.put(Paper(folder="f", paper_id="2", body="short"))
    status, out, _ = run(capsys, "copy", "source", "target")
    assert status == 0
    assert out == "papers: 2 items, verified\n  with the large values of 1 item\n"
    with Store.open(tmp_path / "target") as store:
        found = store.query(Paper.in_folder(folder="f")).items
    assert len(found[0].body or "") == len(long("b"))
