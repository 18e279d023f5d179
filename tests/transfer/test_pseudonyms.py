"""Pseudonyms: consistent, of the same form, and nothing personal is left in a copy."""

from __future__ import annotations

import asyncio
import json
import stat
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tablewright.engine import Engine
from tablewright.model import Design
from tablewright.store import NotUnique, Store
from tablewright.transfer import CopyOptions, ItemChanges, Pseudonyms, TransferError, copy_tables, open_places
from tests.cli.commands import run
from tests.transfer.shop import Customer, Order, customers, shop

pytestmark = pytest.mark.requirement("SH5")
KEY = b"k" * 32


class Colour(Enum):
    RED = "red"
    BLUE = "blue"
    GREEN = "green"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def filled(folder: Path, number: int = 12) -> Path:
    with Store.open(folder) as store:
        store.ensure_tables(shop)
        for entity in customers(number):
            store.put(entity)
    return folder


def copied(source: str, target: str, **changes: Any) -> None:
    pseudonyms = changes.pop("pseudonyms", Pseudonyms(KEY))
    made = ItemChanges(designs=[Design("Shop", tables=[shop])], pseudonyms=pseudonyms, **changes)
    with open_places(source, target, tables=[shop]) as (first, second):
        (done,) = asyncio.run(copy_tables(first, second, CopyOptions(), made))
    assert done.ok, done.differences


def raw(folder: str) -> str:
    with Engine.open(folder) as engine:
        return json.dumps(engine.call("Scan", {"TableName": "Shop"})["Items"])


def test_nothing_personal_is_left_and_relations_hold(tmp_path: Path) -> None:
    filled(tmp_path / "source")
    copied("source", "target")
    content = raw("target")
    for personal in ("ada.", "+49 151 0000", "Weg 1", "example.com"):
        assert personal not in content
    pseudonyms = Pseudonyms(KEY)
    with Store.open("target") as store:
        for number in range(12):
            mail = pseudonyms.of(f"ada.{number}@example.com")
            (found,) = store.query(Customer.by_mail(email=mail)).items
            assert (found.customer_id, found.email) == (f"c-{number}", mail)
            (order,) = store.query(Order.of_customer(customer_id=f"c-{number}")).items
            assert order.email == mail
            assert found.points == Decimal("12345678901234567890.5") + number
        # Unique values are guarded as before.
        with pytest.raises(NotUnique):
            store.create(found.model_copy(update={"customer_id": "new"}))
        assert store.verify(shop).findings == []


def test_the_same_key_gives_the_same_copy_and_another_one_another(tmp_path: Path) -> None:
    filled(tmp_path / "source", 3)
    copied("source", "one")
    copied("source", "two")
    copied("source", "three", pseudonyms=Pseudonyms(b"x" * 32))
    assert raw("one") == raw("two") != raw("three")


@pytest.mark.parametrize(
    "value",
    [
        "ada@example.com",
        "Ada Lovelace",
        "ada",
        "+49 151 234",
        "0049-7",
        12,
        -12345,
        7,
        Decimal("12.50"),
        3.25,
        date(1815, 12, 10),
        datetime(1990, 1, 2, 3, 4, tzinfo=UTC),
        UUID(int=5),
        b"abc",
        Colour.RED,
        ["ada@example.com", "Ada Lovelace"],
        ("a", "b"),
        {"name": "Ada"},
    ],
)
def test_a_pseudonym_has_the_type_of_its_value_and_is_always_the_same(value: Any) -> None:
    found = Pseudonyms(KEY).of(value)
    assert type(found) is type(value)
    assert found == Pseudonyms(KEY).of(value)
    assert not isinstance(value, str | list | dict | UUID) or found != value


@pytest.mark.parametrize("value", [None, "", b""])
def test_what_is_empty_stays(value: Any) -> None:
    assert Pseudonyms(KEY).of(value) == value


def test_mail_stays_mail_and_digits_stay_digits() -> None:
    pseudonyms = Pseudonyms(KEY)
    assert pseudonyms.of("Ada@Example.com") == pseudonyms.of("ada@example.com")
    assert pseudonyms.of("ada@example.com").endswith("@example.invalid")
    phone = pseudonyms.of("+49 (151) 2345-678")
    assert phone.startswith("+49 (")
    assert [each for each in phone if not each.isdigit()] == [
        each for each in "+49 (151) 2345-678" if not each.isdigit()
    ]


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_no_two_numbers_become_one(width: int) -> None:
    pseudonyms = Pseudonyms(KEY)
    texts = {pseudonyms.of(f"{number:0{width}d}") for number in range(10**width)}
    assert len(texts) == 10**width
    numbers = {pseudonyms.of(number) for number in range(10 ** (width - 1), 10**width)}
    assert len(numbers) == 9 * 10 ** (width - 1)


def test_what_the_model_does_not_know_is_refused_or_left_out(tmp_path: Path) -> None:
    filled(tmp_path / "source", 2)
    with Engine.open(tmp_path / "source") as engine:
        item = {"PK": {"S": "SECRET#1"}, "SK": {"S": "x"}, "name": {"S": "Ada"}}
        engine.call("PutItem", {"TableName": "Shop", "Item": item})
    with pytest.raises(TransferError, match="belongs to no entity of the design"):
        copied("source", "target")
    for state in tmp_path.glob(".tablewright-copy-*"):
        state.unlink()
    copied("source", "target2", drop_unknown=True)
    assert "SECRET" not in raw("target2")


def test_attributes_that_the_model_does_not_know_are_refused_or_left_out(tmp_path: Path) -> None:
    filled(tmp_path / "source", 1)
    with Engine.open(tmp_path / "source") as engine:
        engine.call(
            "UpdateItem",
            {
                "TableName": "Shop",
                "Key": {"PK": {"S": "CUSTOMER#c-0"}, "SK": {"S": "PROFILE"}},
                "UpdateExpression": "SET nick = :nick",
                "ExpressionAttributeValues": {":nick": {"S": "Countess"}},
            },
        )
    with pytest.raises(TransferError, match="has the attributes nick, which are not in the model"):
        copied("source", "target")
    copied("source", "target2", drop_unknown=True)
    assert "Countess" not in raw("target2")


def test_pseudonyms_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "source", 2)
    status, _, error = run(capsys, "copy", "source", "target", "--pseudonymize")
    assert (status, error) == (
        2,
        "tablewright: --pseudonymize needs the model, which declares personal fields; give it with --design\n",
    )
    command = ["copy", "source", "target", "--pseudonymize", "--design", "tests.transfer.shop"]
    status, out, error = run(capsys, *command)
    assert (status, out) == (0, "Shop: 4 items, 2 left out, verified\n")
    assert "the key of the pseudonyms is in pseudonyms.key" in error
    assert stat.S_IMODE((tmp_path / "pseudonyms.key").stat().st_mode) == 0o600
    key = (tmp_path / "pseudonyms.key").read_text()
    assert key not in error + out
    status, _, _ = run(capsys, *command[:2], "again.jsonl", *command[3:], "--pseudonym-key", "pseudonyms.key")
    assert status == 0
    mails = {json.loads(line).get("email") for line in Path("again.jsonl").read_text().splitlines()}
    assert mails <= {json.loads(text)["S"] for text in _values(raw("target"))}


def _values(text: str) -> list[str]:
    return [json.dumps(item["email"]) for item in json.loads(text) if "email" in item]


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short.key").write_text("abc")
    with pytest.raises(TransferError, match="at least 16 bytes"):
        Pseudonyms.from_file(tmp_path / "short.key")
