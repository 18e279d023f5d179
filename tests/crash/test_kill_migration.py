"""kill -9 at any moment of a migration: run again, it goes on; in the end nothing is lost and nothing is left over."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tablewright.engine import Engine

ROOT = Path(__file__).parents[2]
ITEMS = 400

MODEL = """
from collections.abc import Iterable

from tablewright.model import Design, Entity, Keys, RetiredEntity, Table

shop = Table("Shop", "PK", "SK")


class Customer(Entity, table=shop):
    customer_id: str
    name: str

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="CUSTOMER")


class Address(Entity, table=shop):
    customer_id: str
    place: int
    street: str

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="ADDRESS#{place:03}")


class CustomerBefore(RetiredEntity, Customer):
    streets: list[str]

    keys = Keys(PK="C#{customer_id}", SK="CUSTOMER")

    def becomes(self) -> Iterable[object]:
        yield Customer(customer_id=self.customer_id, name=self.name)
        for place, street in enumerate(self.streets):
            yield Address(customer_id=self.customer_id, place=place, street=street)


design = Design("Shop", tables=[shop])
"""


def streets(number: int) -> list[str]:
    # Some have more than a transaction has room for.
    return [f"Street {number}-{place}" for place in range(120 if number % 50 == 0 else number % 4)]


def filled(folder: Path) -> None:
    with Engine.open(folder) as engine:
        key = [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}]
        types = [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")]
        engine.call(
            "CreateTable",
            {"TableName": "Shop", "KeySchema": key, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"},
        )
        for number in range(ITEMS):
            item = {
                "PK": {"S": f"C#c{number}"},
                "SK": {"S": "CUSTOMER"},
                "customer_id": {"S": f"c{number}"},
                "name": {"S": f"Name {number}"},
                "streets": {"L": [{"S": street} for street in streets(number)]},
            }
            engine.call("PutItem", {"TableName": "Shop", "Item": item})


def contents(folder: Path) -> list[tuple[str, str, str]]:
    found, start = [], None
    with Engine.open(folder) as engine:
        while True:
            body = {"TableName": "Shop", **({"ExclusiveStartKey": start} if start else {})}
            page = engine.call("Scan", body)
            for item in page["Items"]:
                text = item.get("street", item.get("name", {"S": ""}))["S"]
                found.append((item["PK"]["S"], item["SK"]["S"], text))
            start = page.get("LastEvaluatedKey")
            if start is None:
                return sorted(found)


def wanted() -> list[tuple[str, str, str]]:
    found = []
    for number in range(ITEMS):
        key = f"CUSTOMER#c{number}"
        found.append((key, "CUSTOMER", f"Name {number}"))
        found += [(key, f"ADDRESS#{place:03}", street) for place, street in enumerate(streets(number))]
    return sorted(found)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_migration_that_is_killed_is_run_again(tmp_path: Path) -> None:
    folder, model = tmp_path / "data", tmp_path / "model.py"
    model.write_text(MODEL)
    filled(folder)
    command = [sys.executable, "-m", "tablewright", "migrate", str(model), "--data", str(folder)]
    choices = random.Random()
    killed = 0
    for _ in range(40):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        try:
            process.wait(choices.uniform(0.3, 1.6))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        if process.wait() == 0:
            break
        time.sleep(0.01)
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "Shop: everything is as the design says\n"), done.stderr
    assert contents(folder) == wanted()
    assert killed
