"""Copies to files and from files, in every format."""

from __future__ import annotations

import asyncio
import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tablewright.dynamo import Item
from tablewright.engine import Engine
from tablewright.model import Design, Table
from tablewright.store import Store
from tablewright.transfer import CopyOptions, ItemChanges, TableCopy, TransferError, copy_tables, open_places
from tests.cli.commands import ROOT
from tests.transfer.samples import USERS, data_folder, every_type, folder_items
from tests.transfer.shop import customers, shop

pytestmark = pytest.mark.requirement("SH5")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def copied(source: str, target: str, changes: ItemChanges | None = None, **asked: Any) -> list[TableCopy]:
    with open_places(source, target) as (first, second):
        return asyncio.run(copy_tables(first, second, CopyOptions(**asked), changes))


def design_copied(source: str, target: str, **asked: Any) -> TableCopy:
    changes = ItemChanges(designs=[Design("Shop", tables=[shop])])
    with open_places(source, target, tables=[shop]) as (first, second):
        (done,) = asyncio.run(copy_tables(first, second, CopyOptions(**asked), changes))
    return done


def shop_folder(folder: Path, number: int = 30) -> Path:
    with Store.open(folder) as store:
        store.ensure_tables(shop)
        for entity in customers(number):
            store.put(entity)
    return folder


def stored(folder: Path, table: str = "Shop") -> list[Item]:
    with Engine.open(folder) as engine:
        items: list[Item] = engine.call("Scan", {"TableName": table})["Items"]
    return sorted(items, key=lambda item: str(sorted(item.items())))


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".parquet"])
def test_every_type_of_value_survives_a_file(tmp_path: Path, suffix: str) -> None:
    source = data_folder(tmp_path / "source", 2500)
    pattern = f"export/{{table}}{suffix}"
    out = copied("source", pattern, segments=3)
    assert [(table.source, table.ok, table.verified) for table in out] == [
        ("Orders", True, True),
        ("Users", True, True),
    ]
    files = sorted(path.name for path in (tmp_path / "export").iterdir())
    assert files == sorted(f"{table}{end}" for table in ("Orders", "Users") for end in (suffix, ".table.json"))
    back = copied(pattern, "back")
    assert [table.ok for table in back] == [True, True]
    for table in ("Orders", "Users"):
        assert folder_items(tmp_path / "back", table) == folder_items(source, table)
    with Engine.open(tmp_path / "back") as engine:
        described = engine.call("DescribeTable", {"TableName": "Orders"})["Table"]
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["by-status"]
    assert described["StreamSpecification"]["StreamEnabled"]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv", ".csv.gz"])
def test_with_a_design_plain_files_have_all_types(tmp_path: Path, suffix: str) -> None:
    source = shop_folder(tmp_path / "source")
    out = design_copied("source", f"shop{suffix}", tables=["Shop"])
    assert out.ok, out.differences
    back = design_copied(f"shop{suffix}", "back", renamed={"shop": "Shop"})
    assert back.ok, back.differences
    expected = stored(source)
    if suffix.startswith(".csv"):
        # An empty cell is a missing attribute.
        expected = [{name: value for name, value in item.items() if value != {"S": ""}} for item in expected]
        expected = [{name: value for name, value in item.items() if value != {"B": ""}} for item in expected]
    found = stored(tmp_path / "back")
    assert sorted(map(_key, found)) == sorted(map(_key, expected))
    for one, other in zip(sorted(found, key=_key), sorted(expected, key=_key), strict=True):
        # The store's own items are in no entity: what is in their maps is taken as it looks.
        assert one == other


def _key(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]


TYPED: dict[str, Any] = {
    "TableName": "Odd",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "hash", "AttributeType": "B"},
        {"AttributeName": "rank", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-hash",
            "KeySchema": [{"AttributeName": "hash", "KeyType": "HASH"}, {"AttributeName": "rank", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def typed_folder(folder: Path) -> Path:
    """A data folder with a table whose keys have every type, and one that only looks like a number."""
    with Engine.open(folder) as engine:
        engine.call("CreateTable", TYPED)
        expiry = {"AttributeName": "until", "Enabled": True}
        engine.call("UpdateTimeToLive", {"TableName": "Odd", "TimeToLiveSpecification": expiry})
        for number in range(1, 12):
            item: Item = {"pk": {"S": "10"}, "sk": {"N": f"{number}.5"}, "until": {"N": str(4_000_000_000 + number)}}
            if number % 2:
                item |= {"hash": {"B": "AAH/"}, "rank": {"N": str(number)}}
            engine.call("PutItem", {"TableName": "Odd", "Item": item})
    return folder


@pytest.mark.parametrize("suffix", [".json", ".parquet", ".csv.gz"])
def test_a_single_file_is_read_with_the_definition_beside_it(tmp_path: Path, suffix: str) -> None:
    source = typed_folder(tmp_path / "source")
    copied("source", f"files/{{table}}{suffix}")
    (back,) = copied(f"files/Odd{suffix}", "back")
    assert back.ok
    assert folder_items(tmp_path / "back", "Odd") == folder_items(source, "Odd")
    with Engine.open(tmp_path / "back") as engine:
        described = engine.call("DescribeTable", {"TableName": "Odd"})["Table"]
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["by-hash"]
    (renamed,) = copied(f"files/Odd{suffix}", "back", renamed={"Odd": "Other"})
    assert renamed.ok
    assert folder_items(tmp_path / "back", "Other") == folder_items(source, "Odd")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"create": {}}', '{"create": {"KeySchema": [{}]}}'])
def test_a_definition_that_is_damaged_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "Odd.csv").write_text("pk\na\n")
    (tmp_path / "Odd.table.json").write_text(content)
    with pytest.raises(TransferError, match=r"Odd.table.json cannot be read: .*; repair or delete it"):
        copied("Odd.csv", "target")


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv", ".csv.gz"])
def test_plain_files_have_the_types_of_the_definition_beside_them(tmp_path: Path, suffix: str) -> None:
    source = typed_folder(tmp_path / "source")
    (out,) = copied("source", f"export/{{table}}{suffix}")
    assert out.ok
    (back,) = copied(f"export/{{table}}{suffix}", "back")
    assert back.ok
    assert folder_items(tmp_path / "back", "Odd") == folder_items(source, "Odd")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_an_attribute_without_the_type_of_an_index_is_exported(tmp_path: Path, suffix: str) -> None:
    """An item that was stored before its index was created is not in the index."""
    without = {name: value for name, value in TYPED.items() if name != "GlobalSecondaryIndexes"}
    with Engine.open(tmp_path / "source") as engine:
        engine.call("CreateTable", {**without, "AttributeDefinitions": TYPED["AttributeDefinitions"][:2]})
        key: Item = {"pk": {"S": "a"}, "sk": {"N": "1"}}
        engine.call("PutItem", {"TableName": "Odd", "Item": {**key, "hash": {"S": "no"}, "rank": {"S": "first"}}})
        added = [{"Create": each} for each in TYPED["GlobalSecondaryIndexes"]]
        types = TYPED["AttributeDefinitions"]
        body = {"TableName": "Odd", "AttributeDefinitions": types, "GlobalSecondaryIndexUpdates": added}
        engine.call("UpdateTable", body)
    (out,) = copied("source", f"export/{{table}}{suffix}")
    assert out.ok
    (again,) = copied(f"export/{{table}}{suffix}", "again.jsonl")
    assert again.ok
    assert json.loads(Path("again.jsonl").read_text())["rank"] == "first"


@pytest.mark.parametrize(
    ("name", "content", "needed"),
    [
        ("Odd.csv", b"pk,sk\na,1\n", r"sk of the item .* is text \(S\), and the key of table Odd needs a number \(N\)"),
        ("Odd.jsonl", b'{"pk": "a", "sk": "1"}\n', r"sk of the item .* is text \(S\)"),
        ("Odd.jsonl", b'{"pk": "a", "sk": 1, "hash": "AAE="}\n', r"an index of table Odd needs a binary value \(B\)"),
    ],
)
def test_without_types_the_message_names_the_design(tmp_path: Path, name: str, content: bytes, needed: str) -> None:
    with Engine.open(tmp_path / "target") as engine:
        engine.call("CreateTable", TYPED)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TransferError, match=needed) as caught:
        copied(name, "target")
    assert "name the design with --design" in str(caught.value)
    assert "Odd.table.json" in str(caught.value)
    assert "--transform" not in str(caught.value)
    assert folder_items(tmp_path / "target", "Odd") == []


def test_a_design_knows_a_file_by_the_name_of_its_table(tmp_path: Path) -> None:
    numbers = Table("Numbers", "PK", "SK", types={"SK": "N"})
    (tmp_path / "plain.csv").write_text("PK,SK\na,1\n")
    designs = [Design("Two", tables=[shop, numbers])]
    with open_places("plain.csv", "back", tables=[shop, numbers]) as places:
        options = CopyOptions(renamed={"plain": "Numbers"})
        (done,) = asyncio.run(copy_tables(*places, options, ItemChanges(designs=designs)))
    assert done.ok
    assert stored(tmp_path / "back", "Numbers") == [{"PK": {"S": "a"}, "SK": {"N": "1"}}]


def test_files_are_what_other_programs_read(tmp_path: Path) -> None:
    data_folder(tmp_path / "source", 5)
    for name in ("orders.json.gz", "orders.jsonl", "orders.csv", "orders.parquet"):
        changes = ItemChanges(where="attribute_exists(total)")
        copied("source", name, changes, tables=["Orders"])
    with gzip.open("orders.json.gz") as file:
        lines = [json.loads(line) for line in file]
    assert lines[0].keys() == {"Item"}
    plain = [json.loads(line) for line in Path("orders.jsonl").read_text().splitlines()]
    assert [int(line["Item"]["sk"]["N"]) for line in lines] == [line["sk"] for line in plain]
    with open("orders.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["pk"] for row in rows] == [line["pk"] for line in plain]
    with duckdb.connect() as connection:
        found = connection.execute("SELECT sum(total), count(*) FROM 'orders.parquet'").fetchone()
    assert found == (sum(line["total"] for line in plain), 5)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".parquet"])
def test_plain_files_are_copied_to_other_files(tmp_path: Path, suffix: str) -> None:
    Path("plain.jsonl").write_text('{"id": 1, "amounts": [1.50, -2e3, {"n": 12345678901234567890}]}\n')
    (done,) = copied("plain.jsonl", f"other{suffix}")
    assert done.ok
    (back,) = copied(f"other{suffix}", "back.jsonl")
    assert back.ok
    found = json.loads(Path("back.jsonl").read_text())
    amounts = json.loads(found["amounts"]) if suffix == ".csv" else found["amounts"]
    assert (int(found["id"]), amounts) == (1, [1.5, -2000, {"n": 12345678901234567890}])


def test_an_export_of_amazon_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "AWSDynamoDB" / "01700000000000-abcdef"
    (folder / "data").mkdir(parents=True)
    arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/Orders"
    (folder / "manifest-summary.json").write_text(json.dumps({"tableArn": arn, "itemCount": 4}))
    (folder / "manifest-files.json").write_text("{}")
    items = every_type()
    for number in range(2):
        with gzip.open(folder / "data" / f"file{number}.json.gz", "wb") as file:
            for item in items[number::2]:
                file.write(json.dumps({"Item": item}).encode() + b"\n")
    data_folder(tmp_path / "target", 0)
    (done,) = copied(str(folder), "target", into_existing=True, with_stream=True)
    assert done.ok
    assert (done.source, done.written) == ("Orders", len(items))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("source", "one.json", "one.json is one file, and source has 2 tables"),
        ("nothing.json", "target", "there is no file nothing.json"),
        ("bad.json", "target", "has no table bad, and the source does not know its key"),
        ("source", "{table}/x.json", "once, in the name of the file"),
        ("source", "export/{table}.table.json", "files that end like this are definitions"),
        ("source", "taken/{table}.json", "exists already; delete it, or choose another name"),
    ],
)
def test_what_cannot_be_copied_is_refused(tmp_path: Path, source: str, target: str, message: str) -> None:
    data_folder(tmp_path / "source", 1)
    (tmp_path / "bad.json").write_text('{"Item": {"pk": {"S": "a"}}}\n{"Item": \n')
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "Orders.json").write_text("")
    with pytest.raises(TransferError, match=message):
        copied(source, target)
    assert (tmp_path / "taken" / "Orders.json").read_text() == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("Orders.json", b'{"Item": {"pk": {"S": "a"}, "sk": {"N": "1"}}}\n{"Item": \n'),
        ("Orders.json", b'{"Item": {"pk": {"S": "a"}, "sk": {"N": "1"}}}\n[1]\n'),
        ("Orders.jsonl", b'{"pk": "a", "sk": 1}\nnothing\n'),
        ("Orders.csv", b"pk,sk\na,1,2\nb\n"),
        ("Orders.json.gz", b"no gzip"),
    ],
)
def test_a_file_that_is_damaged_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    data_folder(tmp_path / "target", 0)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TransferError, match=rf"{name}: item \d cannot be read: .*; repair the file"):
        copied(name, "target", into_existing=True, with_stream=True)


@pytest.mark.parametrize("form", ["export/{table}.json", "export/{table}.jsonl.gz", "export/x-{table}.json"])
def test_every_name_of_a_table_comes_back_from_its_file(form: str) -> None:
    names = sorted([".hidden", "foo", "foo.table", ".table", "a.b", "foo.table.json", "...", "x-foo.TABLE", "y" * 200])
    with Engine.open("source") as engine:
        for name in names:
            engine.call("CreateTable", {**USERS, "TableName": name, "DeletionProtectionEnabled": False})
            engine.call("PutItem", {"TableName": name, "Item": {"id": {"B": "AA=="}, "name": {"S": name}}})
    assert all(table.ok for table in copied("source", form))
    assert sorted(table.source for table in copied(form, "target")) == names
    for name in names:
        assert folder_items(Path("target"), name) == [{"id": {"B": "AA=="}, "name": {"S": name}}]


def test_plain_names_are_those_of_their_files() -> None:
    data_folder(Path("source"), 1)
    copied("source", "export/{table}.json")
    found = {path.name for path in Path("export").iterdir()}
    assert found == {"Orders.json", "Orders.table.json", "Users.json", "Users.table.json"}
    Path("more").mkdir()
    for name in ("a%20b", "%2Edot", "x.table"):
        Path(f"more/{name}.jsonl").write_text('{"id": 1}\n')
    done = copied("more/{table}.jsonl", "again/{table}.csv")
    assert sorted(table.source for table in done) == [".dot", "a%20b", "x.table"]
    assert {path.name for path in Path("again").iterdir()} == {"%2Edot.csv", "a%20b.csv", "x%2Etable.csv"}


@pytest.mark.parametrize(
    ("renamed", "message"),
    [
        ("a/b", "'a/b' is not the name of a table; give the table another name with --rename a/b=NEW"),
        ("x" * 255, "is too long for files; give the table another name with --rename"),
    ],
)
def test_a_name_that_no_file_can_have_is_refused_before_anything_is_written(renamed: str, message: str) -> None:
    data_folder(Path("source"), 1)
    with pytest.raises(TransferError, match=message):
        copied("source", "export/{table}.json", renamed={"Users": renamed})
    assert not Path("export").exists()


def test_a_folder_that_cannot_be_used_is_named() -> None:
    data_folder(Path("source"), 1)
    Path("export").touch()
    with pytest.raises(TransferError, match="export cannot be used: File exists"):
        copied("source", "export/{table}.json")


@pytest.mark.timeout(200)
@pytest.mark.parametrize("suffix", [pytest.param(".json", marks=pytest.mark.slow), ".parquet"])
def test_a_copy_to_a_file_that_is_killed_is_finished_without_duplicates(tmp_path: Path, suffix: str) -> None:
    source = data_folder(tmp_path / "source", 4000)
    target = f"orders{suffix}"
    command = [sys.executable, "-m", "tablewright", "copy", "source", target, "--table", "Orders"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for delay in (0.2, 0.7, 0.4):
        slow = [*command, "--read-rate", "150"]
        process = subprocess.Popen(slow, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until = time.monotonic() + 60
        while not list(tmp_path.glob(".tablewright-copy-*.json")) and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    (back,) = copied(target, "back-file.json")
    items = [json.loads(line)["Item"] for line in (tmp_path / "back-file.json").read_bytes().splitlines()]
    expected = folder_items(source, "Orders")
    assert len(items) == len(expected) == back.written
    assert sorted(items, key=lambda item: str([item["pk"], item["sk"]])) == expected
    leftovers = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert leftovers == []
