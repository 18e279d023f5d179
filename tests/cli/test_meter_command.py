"""``tablewright meter``: any program, unchanged, and what it consumed of the embedded engine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import ROOT, error_line, json_output, tablewright

# A program that says what it was told it consumed.
STORE = """\
import asyncio, json, sys
from decimal import Decimal
from tablewright.model import attr
from tablewright.store import AsyncStore, Store
from tests.design.models import Line, Order, State, orders
from tablewright.design.sample_entities import samples

total = {"read": Decimal(0), "write": Decimal(0)}

def count(pattern, operation, consumed):
    kind = "read" if operation in ("GetItem", "Query", "BatchGetItem") else "write"
    for figures in [consumed] if isinstance(consumed, dict) else consumed:
        total[kind] += Decimal(str(figures["CapacityUnits"]))

store = Store.open(None, on_capacity=count)
store.ensure_tables(orders)
for order in samples(Order, 5):
    order.version = 0
    order.state = State.PLACED
    store.create(order)
    store.update(order, attr(Order.state).set(State.PICKED))
    store.get(Order.by_id(customer_id=order.customer_id, order_id=order.order_id))
for line in samples(Line, 3):
    line.position = 0
    store.create(line)
store.query(Order.in_state(state=State.PICKED), limit=3)
list(store.iterate(Order.of_customer(customer_id="customer-1")))

async def main():
    async with AsyncStore.open(None, on_capacity=count) as other:
        await other.ensure_tables(orders)
        order = samples(Order, 1)[0]
        order.version = 0
        await other.create(order)

asyncio.run(main())
print(json.dumps({kind: str(units) for kind, units in total.items()}))
sys.exit(3)
"""

BOTO = """\
from tablewright import Engine
from tablewright.wire import boto

client = boto.client(Engine.open())
client.create_table(
    TableName="things", BillingMode="PAY_PER_REQUEST",
    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
)
for number in range(3):
    client.put_item(TableName="things", Item={"pk": {"S": "a"}, "n": {"N": str(number)}})
assert "ConsumedCapacity" not in client.get_item(TableName="things", Key={"pk": {"S": "a"}})
"""

SUITE = """\
from tablewright.store import Store
from tests.design.models import Line, orders
from tablewright.design.sample_entities import sample

def test_a_line_is_kept():
    store = Store.open(None)
    store.ensure_tables(orders)
    store.create(sample(Line))
"""


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "src")]))


def written(folder: Path, text: str, name: str = "program.py") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def metered(*arguments: str, cwd: Path = ROOT) -> Any:
    done = tablewright("meter", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.requirement("X5")
def test_what_is_metered_is_what_the_engine_says_to_the_unit(tmp_path: Path) -> None:
    program = written(tmp_path, STORE)
    done = tablewright("meter", "--json", "--", sys.executable, program)
    # The program's exit code is passed on, and what it prints goes out of the way.
    assert done.returncode == 3
    run = json.loads(done.stdout)
    said = json.loads(done.stderr.splitlines()[-1])
    assert {"read": run["read_units"], "write": run["write_units"]} == said
    patterns = {use["pattern"]: use for use in run["patterns"]}
    assert patterns["Order.create"]["requests"] == 6
    assert patterns["Order.update"]["requests"] == patterns["Order.by_id"]["requests"] == 5
    # Counters are read under the pattern that they are for.
    assert patterns["Line.create"]["requests"] == 6
    assert patterns["Order.in_state"]["requests"] >= 4
    for kind in ("read_units", "write_units"):
        by_place = sum(Decimal(place[kind]) for use in run["patterns"] for place in use["places"].values())
        assert by_place == Decimal(run[kind])
    costs = Decimal(run["write_units"]) * Decimal("0.625") + Decimal(run["read_units"]) * Decimal("0.125")
    assert Decimal(run["cost"]) == costs / 1_000_000


def test_boto3_in_the_process_is_metered(tmp_path: Path) -> None:
    run = metered("--json", "--", sys.executable, written(tmp_path, BOTO))
    assert [(use["pattern"], use["requests"]) for use in run["patterns"]] == [
        ("PutItem things", 3),
        ("GetItem things", 1),
    ]
    assert run["keys"] == [{"table": "things", "index": None, "key": "a", "read_units": "0.5", "write_units": "3.0"}]


def test_a_server_is_metered_until_it_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tablewright", "meter", "--json", "--", sys.executable, "-m", "tablewright"]
    process = subprocess.Popen(
        [*command, "serve", "--memory", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        found = re.search(r"http://[\w.]+:(\d+)", process.stderr.readline())
        assert found
        call(int(found[1]), "CreateTable", {**TABLE, "BillingMode": "PAY_PER_REQUEST"})
        call(int(found[1]), "PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}}})
    finally:
        # Ctrl-C goes to the whole group, as it does from a terminal.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert json.loads(out)["write_units"] == "1.0", err


TABLE = {
    "TableName": "things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}


def call(port: int, operation: str, body: object) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": "AWS4-HMAC-SHA256 Credential=any/20260831/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=any",
        "X-Amz-Date": "20260831T000000Z",
    }
    connection.request("POST", "/", json.dumps(body), headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    connection.close()


def test_a_test_suite_is_metered_in_all_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Plugins of others take seconds to load, in each process.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    written(tmp_path, SUITE, "test_one.py")
    written(tmp_path, SUITE.replace("a_line", "another_line"), "test_two.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", "-n", "2", str(tmp_path)]
    run = metered("--json", "--", *command, cwd=tmp_path)
    # Each looks at the counter of its number, and writes.
    assert {use["pattern"]: use["requests"] for use in run["patterns"]} == {"Line.create": 4}


@pytest.mark.requirement("X5")
def test_people_get_tables_and_a_page_with_charts(tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    done = tablewright("meter", "--keys", "3", "--html", str(page), "--", sys.executable, written(tmp_path, BOTO))
    assert done.returncode == 0, done.stderr
    for text in ("Access patterns", "Hottest keys", "PutItem things", "4 requests"):
        assert text in done.stdout
        assert text in page.read_text()
    assert page.read_text().count("<svg") == 2


@pytest.mark.requirement("X5")
def test_a_saved_run_is_traffic_for_a_plan(tmp_path: Path) -> None:
    saved = str(tmp_path / "run.jsonl")
    tablewright("meter", "--save", saved, "--", sys.executable, written(tmp_path, STORE))
    plans = json_output("plan", "tests.design.models", "--metered", saved, "--period", "10s", "--json")
    plan = next(each for each in plans if each["design"] == "Orders")
    (create,) = [each for each in plan["patterns"] if each["subject"] == "Order.create"]
    assert Decimal(create["per_second"]) == Decimal("0.6")
    assert Decimal(create["monthly"]) > 0
    assert {key["table"] for key in plan["hot_keys"]} == {"Orders"}


def test_a_run_of_other_tables_is_no_traffic(tmp_path: Path) -> None:
    saved = str(tmp_path / "run.jsonl")
    tablewright("meter", "--save", saved, "--", sys.executable, written(tmp_path, BOTO))
    assert "did not use any table of Orders, bare: Orders" in error_line(
        "plan", "tests.design.models", "--metered", saved, "--period", "10s"
    )


def test_a_program_that_uses_no_engine_is_reported(tmp_path: Path) -> None:
    done = tablewright("meter", "--", sys.executable, "-c", "print('hello')")
    assert done.returncode == 0
    assert "hello" in done.stdout
    assert "the program made no request to an embedded engine" in done.stderr


def test_usage_errors_are_reported_in_one_line(tmp_path: Path) -> None:
    assert "no-such-program cannot be run" in error_line("meter", "--", "no-such-program")
    assert "the following arguments are required: COMMAND" in error_line("meter")
    assert "cannot be written" in error_line("meter", "--save", str(tmp_path / "a" / "b"), "--", sys.executable)
    assert "--keys must be 0 or more" in error_line("meter", "--keys", "-1", "--", sys.executable)
