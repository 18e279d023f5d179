"""``tablewright diff`` and ``tablewright workbench``, as they are typed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tablewright.cli import main
from tablewright.design import load
from tablewright.engine import Engine
from tablewright.store import Store
from tablewright.wire import serve_in_thread
from tests.cli.commands import run
from tests.design.subjects import SYSTEMS
from tests.design.workbench.data_models import DESK

OLD = """
from tablewright.model import Design, Entity, Get, Keys, Table

orders = Table("Orders", "PK", "SK", point_in_time_recovery=True)


class Order(Entity, table=orders):
    order_id: str
    shop: str

    keys = Keys(PK="ORDER#{order_id}", SK="METADATA")

    @Get()
    def by_id(self, order_id: str) -> None: ...


design = Design("Shop", tables=[orders])
"""
FREE = OLD.replace("    shop: str\n", '    shop: str\n    note: str = ""\n')
GRAVE = OLD.replace("    shop: str\n", "    shop: str\n    total: int\n").replace(", point_in_time_recovery=True", "")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("old_shop", OLD), ("free_shop", FREE), ("grave_shop", GRAVE)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


# -- diff -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_system_differs_from_itself(system: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, snapshot, _ = run(capsys, "diff", "--snapshot", system)
    assert status == 0
    (folder / "design.json").write_text(snapshot)
    for old in (system, "design.json"):
        status, out, _ = run(capsys, "diff", old, system)
        assert status == 0
        assert out.endswith(": no changes\n")


def test_a_design_that_is_new_is_added_and_one_that_is_gone_is_removed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = OLD + '\nreturns = Design("Returns", tables=[Table("Returns", "id")])\n'
    (folder / "more_shop.py").write_text(more)
    status, out, _ = run(capsys, "diff", "./old_shop.py", "./more_shop.py")
    assert status == 0
    assert "free  Returns  table added" in out
    status, out, _ = run(capsys, "diff", "./more_shop.py", "./old_shop.py")
    assert status == 1
    assert "unsafe  Returns  table removed" in out


def test_free_changes_pass(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "diff", "./old_shop.py", "./free_shop.py")
    assert status == 0
    assert "free  Order.note  added" in out
    assert "Shop: 1 free" in out


def test_what_takes_work_stops_until_it_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "diff", "./old_shop.py", "./grave_shop.py")
    assert status == 1
    assert "unsafe  Orders.point_in_time_recovery  disabled, which discards the recovery history" in out
    assert "backfill  Order.total" in out
    assert "1. give it a default" in out
    one = ("diff", "./old_shop.py", "./grave_shop.py", "--accept", "Order.total")
    assert run(capsys, *one)[0] == 1
    status, out, _ = run(capsys, *one, "--accept", "Orders.point_in_time_recovery")
    assert status == 0
    assert out.count("(accepted)") == 2


def test_json_has_the_same_changes(capsys: pytest.CaptureFixture[str]) -> None:
    accepted = ("--accept", "Order.total")
    status, out, _ = run(capsys, "diff", "./old_shop.py", "./grave_shop.py", "--json", *accepted)
    found = json.loads(out)
    assert status == 1
    assert found["ok"] is False
    assert [(each["impact"], each["place"], each["accepted"]) for each in found["changes"]["Shop"]] == [
        ("unsafe", "Orders.point_in_time_recovery", False),
        ("backfill", "Order.total", True),
    ]
    assert json.loads(run(capsys, "diff", "./old_shop.py", "./old_shop.py", "--json")[1]) == {
        "ok": True,
        "changes": {"Shop": []},
    }


def test_a_snapshot_stands_for_the_version_that_it_is_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "design.json").write_text(run(capsys, "diff", "--snapshot", "./old_shop.py")[1])
    assert run(capsys, "diff", "design.json", "./grave_shop.py")[0] == 1
    (folder / "design.json").write_text(run(capsys, "diff", "--snapshot", "./grave_shop.py")[1])
    assert run(capsys, "diff", "design.json", "./grave_shop.py")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diff", "./old_shop.py"], "the new version is missing: tablewright diff OLD NEW"),
        (["diff", "--snapshot", "./old_shop.py", "./free_shop.py"], "--snapshot takes one path"),
        (["diff", "gone.json", "./old_shop.py"], "gone.json cannot be read"),
        (["diff", "./gone.py", "./old_shop.py"], "there is no file gone.py"),
        (
            ["diff", "./old_shop.py", "./free_shop.py", "--accept", "Order.x"],
            "--accept Order.x: no change at this place",
        ),
        (["diff", "damaged.json", "./old_shop.py"], "damaged.json is damaged: write the snapshot again"),
        (["workbench", "export", "./gone.py"], "there is no file gone.py"),
        (["workbench", "import", "gone.json"], "gone.json cannot be read"),
        (["workbench", "import", "old_shop.py"], "old_shop.py is not JSON"),
        (["workbench", "import", "damaged.json"], "it has no DataModel"),
    ],
)
def test_usage_errors_are_reported_in_one_line(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = {"tablewright-snapshot": 2, "designs": [{"name": "Shop", "tables": {"Orders": {}}}]}
    (folder / "damaged.json").write_text(json.dumps(damaged))
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


# -- workbench ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_goes_to_workbench_and_comes_back(
    system: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, exported, _ = run(capsys, "workbench", "export", system)
    assert status == 0
    (folder / "model.json").write_text(exported)
    status, module, _ = run(capsys, "workbench", "import", "model.json")
    assert status == 0
    (folder / f"imported_{system.rpartition('.')[2]}.py").write_text(module)
    again = json.loads(run(capsys, "workbench", "export", f"./imported_{system.rpartition('.')[2]}.py")[1])
    tables = json.loads(exported)["DataModel"]
    for member in ("TableName", "KeyAttributes", "GlobalSecondaryIndexes"):
        assert [each.get(member) for each in again["DataModel"]] == [each.get(member) for each in tables]


def test_a_file_becomes_a_module_that_can_be_linted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "desk.json").write_text(json.dumps(DESK))
    (folder / "imported_desk.py").write_text(run(capsys, "workbench", "import", "desk.json")[1])
    assert main(["lint", "./imported_desk.py"]) in (0, 1)
    assert run(capsys, "diff", "./imported_desk.py", "./imported_desk.py")[0] == 0


def test_what_workbench_cannot_express_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "workbench", "export", "tests.design.models", "--design", "Orders")
    assert status == 0
    lost = [line.partition("cannot express this: ")[2] for line in err.splitlines()]
    assert lost[0] == "table Orders: a stream of NEW_AND_OLD_IMAGES, point-in-time recovery, the tags Team"
    assert "that number is unique" in lost[1]
    assert "when GSI3PK is present" in lost[1]
    assert "that GSI1PK is sharded" in lost[1]
    assert "that position is numbered" in lost[2]
    assert lost[-1].startswith("Orders: access patterns, writes, roles, reactions, collections")
    status, both, err = run(capsys, "workbench", "export", "tests.design.models", "--design", "Orders", "--json")
    assert (status, err) == (0, "")
    told = json.loads(both)
    assert told["lost"] == lost
    assert told["model"]["DataModel"] == json.loads(out)["DataModel"]


def test_a_design_that_loses_nothing_is_exported_in_silence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "from tablewright.model import *\nclass Row(Entity, table=Table('rows', 'id')):\n    id: str\n"
    (folder / "rows_alone.py").write_text(text)
    status, _, err = run(capsys, "workbench", "export", "./rows_alone.py")
    assert (status, err) == (0, "")


# -- migrate --------------------------------------------------------------------------------------------------------

RE_KEYED = OLD.replace('PK="ORDER#{order_id}", SK="METADATA"', 'PK="SHOP#{shop}", SK="ORDER#{order_id}"').replace(
    "by_id(self, order_id", "by_id(self, shop: str, order_id"
)
RETIRED = (
    RE_KEYED.replace("Keys, Table", "Keys, RetiredEntity, Table")
    + """
class OrderBefore(RetiredEntity, Order):
    keys = Keys(PK="ORDER#{order_id}", SK="METADATA")
"""
)


def stored_keys(folder: Path) -> list[str]:
    with Engine.open(folder) as engine:
        return sorted(item["PK"]["S"] for item in engine.call("Scan", {"TableName": "Orders"})["Items"])


@pytest.fixture
def data(folder: Path) -> Path:
    """Two orders under the keys of the old version."""
    (folder / "re_keyed_shop.py").write_text(RE_KEYED)
    (folder / "retired_shop.py").write_text(RETIRED)
    with Engine.open(folder / "data") as engine:
        store = Store.on(engine)
        (design,) = load("./old_shop.py")
        store.ensure_tables(*design.tables)
        order: Any = design.tables[0].entities[0]
        for name in "ab":
            store.put(order(order_id=name, shop="s"))
    return folder / "data"


def test_what_to_declare_is_printed_ready_to_be_pasted(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "./old_shop.py", "./re_keyed_shop.py"]) == 1
    printed = capsys.readouterr().out
    assert "class OrderBefore(RetiredEntity, Order):" in printed
    assert 'keys = Keys(PK="ORDER#{order_id}", SK="METADATA")' in printed


def test_a_migration_moves_items_and_verifies_them(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "./retired_shop.py", "--data", str(data), "--dry-run"]) == 1
    assert "2 to do" in capsys.readouterr().out
    assert stored_keys(data) == ["ORDER#a", "ORDER#b"]
    for _ in range(2):
        assert main(["migrate", "./retired_shop.py", "--data", str(data)]) == 0
        assert capsys.readouterr().out == "Shop: everything is as the design says\n"
    assert stored_keys(data) == ["SHOP#s", "SHOP#s"]


def test_what_a_migration_leaves_is_printed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Engine.open(data) as engine:
        taken = {"PK": {"S": "SHOP#s"}, "SK": {"S": "ORDER#a"}, "order_id": {"S": "a"}, "shop": {"S": "s"}}
        engine.call("PutItem", {"TableName": "Orders", "Item": taken})
    assert main(["migrate", "./retired_shop.py", "--data", str(data)]) == 1
    printed = capsys.readouterr().out
    assert "OrderBefore order_id a: item of a retired entity" in printed
    assert "1 findings are left" in printed


def test_a_migration_of_nothing_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "./old_shop.py", "--data", "nowhere"]) == 2
    assert "no data folder" in capsys.readouterr().err


def test_a_migration_runs_against_a_server_that_is_in_use(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    with Engine.open(data) as engine, serve_in_thread(engine) as url:
        assert main(["migrate", "./retired_shop.py", "--endpoint", url, "--region", "us-east-1"]) == 0
    assert stored_keys(data) == ["SHOP#s", "SHOP#s"]
