"""Copies between tables: what arrives, what is refused, and what happens when something goes wrong on the way."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import Item
from tablewright.engine import Engine
from tablewright.store import EmbeddedBackend, Request, Response, ServiceError
from tablewright.transfer import CopyOptions, ItemChanges, TableCopy, TransferError, copy_tables, open_places
from tablewright.transfer.copy_state import CopyState
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.table_place import TablePlace
from tablewright.wire import serve_in_thread
from tests.store.endpoints import moto_url
from tests.transfer.samples import ORDERS, data_folder, every_type, fill, folder_items, items_of, orders

pytestmark = pytest.mark.requirement("SH5")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State files are written to the current folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def copied(source: Path | str, target: Path | str, changes: ItemChanges | None = None, **asked: Any) -> list[TableCopy]:
    with open_places(str(source), str(target)) as (first, second):
        return asyncio.run(copy_tables(first, second, CopyOptions(**asked), changes))


@pytest.fixture
def engines() -> Iterator[Callable[[], Engine]]:
    opened: list[Engine] = []

    def make() -> Engine:
        opened.append(Engine.open())
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


def test_every_type_of_value_survives_the_way_to_a_server_and_back(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source")
    with Engine.open() as engine, serve_in_thread(engine) as url:
        out = copied(source, url)
        back = copied(url, tmp_path / "back")
    assert [(table.source, table.written, table.verified, table.ok) for table in out] == [
        ("Orders", 300 + len(every_type()), True, True),
        ("Users", 5, True, True),
    ]
    assert [table.ok for table in back] == [True, True]
    for table in ("Orders", "Users"):
        assert folder_items(tmp_path / "back", table) == folder_items(source, table)
    assert list(Path.cwd().iterdir()) == [], "a copy that is done leaves no state"


def test_a_table_is_created_as_the_source_has_it(tmp_path: Path) -> None:
    copied(data_folder(tmp_path / "source", 3), tmp_path / "target")
    described = []
    for folder in ("source", "target"):
        with Engine.open(tmp_path / folder) as engine:
            found = [engine.call("DescribeTable", {"TableName": name})["Table"] for name in ("Orders", "Users")]
            expiry = engine.call("DescribeTimeToLive", {"TableName": "Orders"})
        described.append([{**each, "expiry": expiry} for each in found])
    same = (
        "AttributeDefinitions",
        "KeySchema",
        "StreamSpecification",
        "DeletionProtectionEnabled",
        "ItemCount",
        "expiry",
    )
    for one, other in zip(*described, strict=True):
        assert {name: one.get(name) for name in same} == {name: other.get(name) for name in same}
        for indexes in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            shapes = [
                [(index["IndexName"], index["KeySchema"], index["Projection"]) for index in each.get(indexes, [])]
                for each in (one, other)
            ]
            assert shapes[0] == shapes[1]
    users = described[1][1]
    assert (users["ProvisionedThroughput"]["ReadCapacityUnits"], users["DeletionProtectionEnabled"]) == (7, True)


def test_copied_items_are_not_in_the_stream(tmp_path: Path) -> None:
    (table,) = copied(data_folder(tmp_path / "source", 3), tmp_path / "target", tables=["Orders"])
    assert table.ok
    with Engine.open(tmp_path / "target") as engine:
        arn = engine.call("DescribeTable", {"TableName": "Orders"})["Table"]["LatestStreamArn"]
        shards = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
        for shard in shards:
            where = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = engine.call("GetShardIterator", where)["ShardIterator"]
            records = engine.call("GetRecords", {"ShardIterator": iterator})["Records"]
            assert [each for each in records if each["eventName"] == "INSERT"] == []


def test_a_table_with_a_stream_is_written_to_only_on_demand(engines: Callable[[], Engine]) -> None:
    source, target = engines(), engines()
    for table in ("First", "Orders"):
        source.call("CreateTable", {**ORDERS, "TableName": table})
        fill(source, table, orders(3))
    target.call("CreateTable", ORDERS)
    places = place(source, name="one"), place(target, name="two")
    with pytest.raises(TransferError, match="Orders of two has a stream, whose consumers would act on every item"):
        asyncio.run(copy_tables(*places, CopyOptions()))
    # Nothing of the other table either, and no state.
    assert target.call("ListTables", {})["TableNames"] == ["Orders"]
    assert list(Path.cwd().iterdir()) == []
    done = asyncio.run(copy_tables(*places, CopyOptions(with_stream=True)))
    assert [table.ok for table in done] == [True, True]
    assert items_of(target, "Orders") == items_of(source, "Orders")


def test_tables_whose_stream_the_copy_has_turned_on_are_no_reason_to_refuse_to_go_on(
    engines: Callable[[], Engine],
) -> None:
    source, target = engines(), engines()
    for table in ("First", "Second"):
        source.call("CreateTable", {**ORDERS, "TableName": table})
        fill(source, table, orders(3))
    failing = True

    def fail(request: Request) -> None:
        if request.operation == "BatchWriteItem" and "Second" in request.body["RequestItems"] and failing:
            raise ServiceError("AccessDeniedException", "no")

    places = place(source, name="one"), place(target, fail, name="two")
    with pytest.raises(ServiceError, match="no"):
        asyncio.run(copy_tables(*places, CopyOptions()))
    failing = False
    assert [table.ok for table in asyncio.run(copy_tables(*places, CopyOptions()))] == [True, True]


def test_tables_are_chosen_and_renamed(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", 10)
    (table,) = copied(source, source, tables=["Orders"], renamed={"Orders": "Orders-2"})
    assert (table.source, table.target, table.ok) == ("Orders", "Orders-2", True)
    assert folder_items(source, "Orders") == folder_items(source, "Orders-2")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tables": ["Nope"]}, "has no table Nope; it has Orders, Users"),
        ({"renamed": {"Nope": "New"}}, "has no table Nope"),
        ({"renamed": {"Orders": "Users"}}, "two tables would have the name Users in the target"),
        ({"renamed": {"Users": "a/b"}}, "'a/b' is not the name of a table: those have 3 to 255 letters"),
    ],
)
def test_what_cannot_be_copied_is_refused(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    source = data_folder(tmp_path / "source", 1)
    with pytest.raises(TransferError, match=message):
        copied(source, tmp_path / "target", **asked)
    with Engine.open(tmp_path / "target") as engine:
        assert engine.call("ListTables", {})["TableNames"] == []


def test_a_place_is_not_copied_onto_itself(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", 1)
    with pytest.raises(TransferError, match="source and target are the same place"):
        copied(source, source)


def test_a_source_that_is_no_data_folder_is_refused_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="there is no data folder at"):
        copied(tmp_path / "nothing", tmp_path / "target")
    assert not (tmp_path / "nothing").exists()
    assert not (tmp_path / "target").exists()


def test_a_data_folder_in_use_is_refused(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", 1)
    with Engine.open(source), pytest.raises(TransferError, match="in use by another engine"):
        copied(source, tmp_path / "target")


def test_a_target_with_items_is_refused_and_added_to_on_demand(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", 30)
    with Engine.open(tmp_path / "target") as engine:
        engine.call("CreateTable", ORDERS)
        fill(engine, "Orders", [{"pk": {"S": "kept"}, "sk": {"N": "1"}}])
    with pytest.raises(TransferError, match="already has items; add to them with --into-existing"):
        copied(source, tmp_path / "target", tables=["Orders"], with_stream=True)
    assert list(Path.cwd().iterdir()) == []
    (table,) = copied(source, tmp_path / "target", tables=["Orders"], into_existing=True, with_stream=True)
    assert table.ok
    assert len(folder_items(tmp_path / "target", "Orders")) == table.written + 1


def test_a_target_with_another_key_is_refused(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", 1)
    with Engine.open(tmp_path / "target") as engine:
        types = [{"AttributeName": "pk", "AttributeType": "S"}]
        key = [{"AttributeName": "pk", "KeyType": "HASH"}]
        engine.call(
            "CreateTable",
            {"TableName": "Orders", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": types, "KeySchema": key},
        )
    with pytest.raises(TransferError, match=r"has the key pk \(S\), and Orders has pk \(S\), sk \(N\)"):
        copied(source, tmp_path / "target", tables=["Orders"])


# -- what is copied, and what is made of it ---------------------------------------------------------------------------


def test_a_condition_chooses_items(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", 100)
    changes = ItemChanges(where="status = 'open' AND total >= 50000")
    (table,) = copied(source, tmp_path / "target", changes, tables=["Orders"])
    expected = [
        item
        for item in folder_items(source, "Orders")
        if item["status"] == {"S": "open"} and int(item["total"]["N"]) >= 50_000
    ]
    assert table.ok
    assert table.read == 100 + len(every_type())
    assert folder_items(tmp_path / "target", "Orders") == expected


def test_a_function_changes_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("shop_changes.py").write_text(
        "def without_notes(item):\n"
        "    item.pop('note', None)\n"
        "    return None if item['status'] == {'S': 'odd'} else item\n"
    )
    source = data_folder(tmp_path / "source", 20)
    changes = ItemChanges(transform="shop_changes:without_notes")
    (table,) = copied(source, tmp_path / "target", changes, tables=["Orders"])
    found = folder_items(tmp_path / "target", "Orders")
    assert (table.ok, table.written, len(found)) == (True, 20, 20)
    assert not any("note" in item for item in found)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nothing", "name a function as module:function"),
        ("no_such_module:f", "No module named"),
        ("json:nothing", "there is no function nothing in json"),
    ],
)
def test_a_function_that_is_not_there_is_refused(path: str, message: str) -> None:
    with pytest.raises(TransferError, match=message):
        ItemChanges(transform=path)


def test_two_items_that_get_one_key_are_reported(tmp_path: Path) -> None:
    Path("one_key.py").write_text(
        "def same(item):\n    item['sk'] = {'N': '1'}\n    item['pk'] = {'S': 'one'}\n    return item\n"
    )
    source = data_folder(tmp_path / "source", 2)
    changes = ItemChanges(where="attribute_exists(total)", transform="one_key:same")
    (table,) = copied(source, tmp_path / "target", changes, tables=["Orders"])
    assert not table.ok
    assert [each.kind for each in table.differences] == ["twice"]


# -- verification -----------------------------------------------------------------------------------------------------


class Between:
    """A backend that does something before a request is answered."""

    def __init__(self, engine: Engine, before: Callable[[Request], None]) -> None:
        self._inner, self._before = EmbeddedBackend(engine, owned=False), before

    def call(self, request: Request) -> Response:
        self._before(request)
        return self._inner.call(request)

    async def call_async(self, request: Request) -> Response:
        self._before(request)
        return await self._inner.call_async(request)

    def close(self) -> None:
        pass


def place(engine: Engine, before: Callable[[Request], None] = lambda _: None, name: str = "memory") -> TablePlace:
    return TablePlace(name, PatientCalls(Between(engine, before)))


def test_what_differs_in_the_target_is_listed_and_copied_again(engines: Callable[[], Engine]) -> None:
    source, target = engines(), engines()
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(60))

    def tamper(request: Request) -> None:
        if request.operation == "Scan" and "Segment" in request.body and not tampered:
            tampered.append(True)
            first, second, *_ = items_of(target, "Orders")
            target.call("DeleteItem", {"TableName": "Orders", "Key": {name: first[name] for name in ("pk", "sk")}})
            target.call("PutItem", {"TableName": "Orders", "Item": {**second, "note": {"S": "other"}}})
            target.call("PutItem", {"TableName": "Orders", "Item": {"pk": {"S": "extra"}, "sk": {"N": "1"}}})

    tampered: list[bool] = []
    places = place(source, name="one"), place(target, tamper, name="two")
    (table,) = asyncio.run(copy_tables(*places, CopyOptions()))
    assert sorted(each.kind for each in table.differences) == ["different", "extra", "missing"]
    assert '{"pk":{"S":"extra"},"sk":{"N":"1"}} is in the target only' in [str(each) for each in table.differences]
    target.call("DeleteItem", {"TableName": "Orders", "Key": {"pk": {"S": "extra"}, "sk": {"N": "1"}}})
    (table,) = asyncio.run(copy_tables(*places, CopyOptions()))
    assert table.ok
    assert items_of(target, "Orders") == items_of(source, "Orders")
    assert target.call("DescribeTable", {"TableName": "Orders"})["Table"]["StreamSpecification"]["StreamEnabled"]


def test_items_in_the_target_only_are_left_out_on_demand(engines: Callable[[], Engine]) -> None:
    source, target = engines(), engines()
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(60))
    tampered: list[bool] = []

    def tamper(request: Request) -> None:
        if request.operation == "Scan" and not tampered:
            tampered.append(True)
            fill(target, "Orders", [{"pk": {"S": "extra"}, "sk": {"N": "1"}}])
            first = items_of(target, "Orders")[0]
            target.call("PutItem", {"TableName": "Orders", "Item": {**first, "note": {"S": "other"}}})

    places = place(source, name="one"), place(target, tamper, name="two")
    (table,) = asyncio.run(copy_tables(*places, CopyOptions()))
    assert sorted(each.kind for each in table.differences) == ["different", "extra"]
    for _ in range(2):
        (table,) = asyncio.run(copy_tables(*places, CopyOptions()))
        assert [each.kind for each in table.differences] == ["extra"]
    tampered.clear()
    (table,) = asyncio.run(copy_tables(*places, CopyOptions(into_existing=True)))
    assert [each.kind for each in table.differences] == ["different"], "other differences are still found"
    (table,) = asyncio.run(copy_tables(*places, CopyOptions(into_existing=True)))
    assert table.ok
    assert len(items_of(target, "Orders")) == 61
    described = target.call("DescribeTable", {"TableName": "Orders"})["Table"]
    assert described["StreamSpecification"]["StreamEnabled"], "the table is still one that the copy has created"
    assert list(Path.cwd().iterdir()) == []


def test_a_source_that_is_written_meanwhile_is_copied_as_it_was_read(engines: Callable[[], Engine]) -> None:
    source, target = engines(), engines()
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(3000))
    stop, written = threading.Event(), []

    def write() -> None:
        number = 10_000
        while not stop.is_set():
            number += 1
            item: Item = {"pk": {"S": f"customer-{number}"}, "sk": {"N": str(number)}}
            source.call("PutItem", {"TableName": "Orders", "Item": item})
            written.append(item)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        (table,) = asyncio.run(copy_tables(place(source, name="one"), place(target, name="two"), CopyOptions()))
    finally:
        stop.set()
        writer.join()
    assert table.ok, table.differences
    there = {str(item) for item in items_of(source, "Orders")}
    copies = {str(item) for item in items_of(target, "Orders")}
    assert copies <= there
    assert {str(item) for item in items_of(source, "Orders") if int(item["sk"]["N"]) < 10_000} <= copies


# -- trouble on the way -----------------------------------------------------------------------------------------------


def test_a_target_that_throttles_gets_everything_in_the_end(engines: Callable[[], Engine]) -> None:
    source, target, chance = engines(), engines(), random.Random(7)
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(500))
    throttled = []

    class Throttling(Between):
        async def call_async(self, request: Request) -> Response:
            if request.operation != "BatchWriteItem":
                return await super().call_async(request)
            if chance.random() < 0.3:
                throttled.append(request)
                raise ServiceError("ProvisionedThroughputExceededException", "slow down")
            ((table, puts),) = request.body["RequestItems"].items()
            keep = chance.randrange(1, len(puts) + 1)
            body = {**request.body, "RequestItems": {table: puts[:keep]}}
            response = await super().call_async(Request(request.operation, body))
            left = {table: puts[keep:]} if puts[keep:] else {}
            return {**response, "UnprocessedItems": left}

    busy = TablePlace("two", PatientCalls(Throttling(target, lambda _: None)))
    (table,) = asyncio.run(copy_tables(place(source, name="one"), busy, CopyOptions()))
    assert throttled
    assert table.ok
    assert items_of(target, "Orders") == items_of(source, "Orders")


def test_a_copy_that_failed_goes_on_where_it_was(engines: Callable[[], Engine]) -> None:
    source, target = engines(), engines()
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(6000))
    writes: list[int] = []
    limit = 60

    def fail(request: Request) -> None:
        if request.operation == "BatchWriteItem":
            writes.append(len(request.body["RequestItems"]["Orders"]))
            if len(writes) > limit:
                raise ServiceError("AccessDeniedException", "no longer")

    places = place(source, name="one"), place(target, fail, name="two")
    with pytest.raises(ServiceError, match="no longer"):
        asyncio.run(copy_tables(*places, CopyOptions(segments=2)))
    (state,) = Path.cwd().iterdir()
    limit, first = 10**9, len(writes)
    (table,) = asyncio.run(copy_tables(*places, CopyOptions(segments=2)))
    assert table.ok
    assert table.written == 6000
    assert len(writes) - first < 6000 / 25, "what was noted is not written again"
    assert not state.exists()
    assert items_of(target, "Orders") == items_of(source, "Orders")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("pk,sk\na,1\n", "name the design with --design"),
        ("pk,sk\na,1,2\n", "item 1 cannot be read"),
        ("id\na\n", "the source does not know its key"),
    ],
)
def test_a_copy_that_is_refused_leaves_nothing(tmp_path: Path, content: str, message: str) -> None:
    name = "Orders" if content.startswith("pk") else "Unknown"
    data_folder(tmp_path / "target", 0)
    with Engine.open(tmp_path / "target") as engine:
        for item in items_of(engine, "Orders"):
            engine.call("DeleteItem", {"TableName": "Orders", "Key": {each: item[each] for each in ("pk", "sk")}})
    file = tmp_path / f"{name}.csv"
    file.write_text(content)
    with pytest.raises(TransferError, match=message):
        copied(file, tmp_path / "target", with_stream=True)
    assert list(Path.cwd().iterdir()) == []
    with Engine.open(tmp_path / "target") as engine:
        assert engine.call("ListTables", {})["TableNames"] == ["Orders", "Users"]


@pytest.mark.parametrize("target", ["target", "files/{table}.json"])
def test_after_a_refusal_the_corrected_command_is_a_copy_of_its_own(tmp_path: Path, target: str) -> None:
    Path("no_changes.py").write_text("def fail(item):\n    raise ValueError('no')\n\n\ndef keep(item): return item\n")
    source = data_folder(tmp_path / "source", 5)
    target = f"{tmp_path}/{target}"
    with pytest.raises(TransferError, match="--transform failed"):
        copied(source, target, ItemChanges(transform="no_changes:fail"), tables=["Orders"])
    assert not [path for path in Path.cwd().iterdir() if path.name.startswith(".tablewright")]
    assert not list(tmp_path.glob("files/.*"))
    (table,) = copied(source, target, ItemChanges(transform="no_changes:keep"), tables=["Orders"])
    assert table.ok
    assert table.written == 5 + len(every_type())


@pytest.mark.parametrize("created", [False, True])
def test_a_state_says_which_tables_the_copy_has_created(engines: Callable[[], Engine], created: bool) -> None:
    source, target = engines(), engines()
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(10))
    failing = True

    def fail(request: Request) -> None:
        if request.operation == "CreateTable" and failing:
            if created:
                target.call("CreateTable", dict(request.body))
            raise ServiceError("AccessDeniedException", "no")

    places = place(source, name="one"), place(target, fail, name="two")
    with pytest.raises(ServiceError, match="no"):
        asyncio.run(copy_tables(*places, CopyOptions()))
    assert len(list(Path.cwd().iterdir())) == created
    failing = False
    (table,) = asyncio.run(copy_tables(*places, CopyOptions()))
    assert table.ok
    assert target.call("DescribeTable", {"TableName": "Orders"})["Table"]["StreamSpecification"]["StreamEnabled"]


def test_a_refusal_keeps_the_state_of_what_was_written(engines: Callable[[], Engine]) -> None:
    source, target = engines(), engines()
    for table in ("Orders", "Others"):
        source.call("CreateTable", {**ORDERS, "TableName": table})
        fill(source, table, orders(10))
    target.call("CreateTable", {**ORDERS, "TableName": "Others"})
    fill(target, "Others", orders(1))
    places = place(source, name="one"), place(target, name="two")
    for _ in range(2):
        with pytest.raises(TransferError, match="Others of two already has items"):
            asyncio.run(copy_tables(*places, CopyOptions(with_stream=True)))
        assert len(list(Path.cwd().iterdir())) == 1
    for item in items_of(target, "Others"):
        target.call("DeleteItem", {"TableName": "Others", "Key": {each: item[each] for each in ("pk", "sk")}})
    assert [table.ok for table in asyncio.run(copy_tables(*places, CopyOptions(with_stream=True)))] == [True, True]
    assert list(Path.cwd().iterdir()) == []


def test_the_state_of_another_copy_is_refused(engines: Callable[[], Engine], tmp_path: Path) -> None:
    source, target = engines(), engines()
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(10))

    def fail(request: Request) -> None:
        if request.operation == "BatchWriteItem":
            raise ServiceError("AccessDeniedException", "no")

    options = CopyOptions(state=tmp_path / "state.json")
    with pytest.raises(ServiceError):
        asyncio.run(copy_tables(place(source, name="one"), place(target, fail, name="two"), options))
    changes = ItemChanges(where="total > 3")
    with pytest.raises(TransferError, match=r"state of another copy, with where null; run that command again"):
        asyncio.run(copy_tables(place(source, name="one"), place(target, name="two"), options, changes))
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(TransferError, match="is not the state of a copy"):
        asyncio.run(copy_tables(place(source, name="one"), place(target, name="two"), options))


def test_two_processes_do_not_run_the_same_copy(engines: Callable[[], Engine], tmp_path: Path) -> None:
    source, target = engines(), engines()
    source.call("CreateTable", ORDERS)
    fill(source, "Orders", orders(10))
    options = CopyOptions(state=tmp_path / "state.json")

    async def both() -> None:
        await copy_tables(place(source, name="one"), place(target, name="two"), options)

    async def secure() -> None:
        pass

    async def held() -> None:
        state = CopyState(tmp_path / "state.json", {}, secure)
        try:
            with pytest.raises(TransferError, match="this copy is running already"):
                await both()
        finally:
            state.close(finished=False)
        await both()

    asyncio.run(held())
    assert items_of(target, "Orders") == items_of(source, "Orders")


@pytest.mark.slow
def test_moto_takes_a_copy(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", 200)
    # To moto, an item of 400 KB is too large.
    changes = ItemChanges(where="attribute_not_exists(large)")
    with moto_url() as url:
        with pytest.raises(TransferError, match=r'refuses the item .*"every#large"'):
            copied(source, url, tables=["Orders"], renamed={"Orders": "Orders-refused"})
        for state in Path.cwd().iterdir():
            state.unlink()
        out = copied(source, url, changes, tables=["Orders"], renamed={"Orders": "Orders-of-a-copy"})
        assert out[0].ok, out[0].differences
        back = copied(url, tmp_path / "back", tables=["Orders-of-a-copy"], renamed={"Orders-of-a-copy": "Orders"})
    assert back[0].ok
    expected = [item for item in folder_items(source, "Orders") if "large" not in item]
    assert folder_items(tmp_path / "back", "Orders") == expected
