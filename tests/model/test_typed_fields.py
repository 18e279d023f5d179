"""Declared patterns and fields as expressions: two type checkers and the run time agree on what is right and wrong."""

from __future__ import annotations

import json
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_type

import pytest
from mypy import api
from pydantic import ValidationError

import tablewright.model
from tablewright.model import (
    Entity,
    Lookup,
    ModelError,
    Selection,
    Table,
    attr,
    present,
)
from tablewright.store import Check, Page, Scan, Store, Update, WriteResult
from tests.model.typed import orders
from tests.model.typed.orders import Account, Address, Customer, Line, Order, Status, shop

ROOT = Path(__file__).resolve().parent.parent.parent
SNIPPETS = [
    line
    for line in (Path(__file__).parent / "typed" / "snippets.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
HEAD = """\
from datetime import UTC, datetime
from decimal import Decimal
from typing import assert_type
from tablewright.model import CollectionSelection, Design, FieldChange, FieldCondition, ItemWrite, Lookup
from tablewright.model import FieldGroup, Numbered, Query, RequiredRead, Selection, Unique, attr, count_of, present
from tablewright.model import sum_of
from tablewright.store import Check, Page, Scan, Store, Update, WriteResult
from tests.model.typed.orders import Account, Address, Customer, LatestOrders, Letter, Line, Mail, Order
from tests.model.typed.orders import OrderSummary, Parcel, Product, Status, shop
NOW = datetime(2026, 1, 1, tzinfo=UTC)
store = Store.open()
order = Order(customer_id="c", number=1, placed_at=NOW, address=Address(city="Rome"))
"""
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WRONG = (ModelError, TypeError, AttributeError, ValidationError)


def is_wrong(snippet: str) -> bool:
    return "# error" in snippet or "# checker" in snippet


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("typed") / "program.py"
    path.write_text(HEAD + "\n".join(SNIPPETS) + "\n")
    return path


def refused(lines: set[int]) -> set[str]:
    """The snippets of some lines of the program."""
    first = HEAD.count("\n") + 1
    assert min(lines, default=first) >= first, "the head of the program is refused"
    return {SNIPPETS[line - first] for line in lines}


def test_there_are_enough_of_them() -> None:
    assert len(SNIPPETS) >= 60
    assert len(list(filter(is_wrong, SNIPPETS))) >= 30


def test_mypy_refuses_exactly_what_is_wrong(program: Path) -> None:
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", "--no-color-output"]
    output, errors, _ = api.run([*settings, "--cache-dir", str(ROOT / ".mypy_cache" / "typing"), str(program)])
    assert not errors, errors
    found = [line.partition("program.py:")[2].split(":") for line in output.splitlines() if ": error:" in line]
    assert refused({int(line) for line, *_ in found}) == set(filter(is_wrong, SNIPPETS))


def test_pyright_refuses_exactly_what_is_wrong(program: Path) -> None:
    settings: dict[str, Any] = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT / "src"), str(ROOT)],
        "include": [str(program)],
    }
    settings |= {"pythonVersion": "3.11", "reportUnusedExpression": False, "reportUnnecessaryComparison": False}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(program.parent)]
    answer = subprocess.run(
        [*command, "--pythonpath", sys.executable], capture_output=True, text=True, timeout=300, check=False
    )
    report = json.loads(answer.stdout)
    assert report["summary"]["filesAnalyzed"] == 1, answer.stderr
    found = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    assert refused({each["range"]["start"]["line"] + 1 for each in found}) == set(filter(is_wrong, SNIPPETS))


@pytest.fixture(scope="module")
def names() -> Iterator[dict[str, Any]]:
    """What the snippets use, with an order in the store."""
    with Store.open() as store:
        store.ensure_tables(shop, orders.depots)
        order = Order(customer_id="c", number=1, placed_at=NOW, address=Address(city="Rome"))
        store.put(order)
        store.put(Customer(customer_id="c", name="Ada"))
        known = dict(
            vars(tablewright.model) | vars(orders),
            store=store,
            order=order,
            NOW=NOW,
            Lookup=Lookup,
            Selection=Selection,
            Page=Page,
        )
        known |= {"Update": Update, "Check": Check, "Scan": Scan, "WriteResult": WriteResult}
        known["assert_type"] = assert_type
        yield known | {"Account": Account, "Line": Line, "Status": Status, "Decimal": Decimal}


@pytest.mark.parametrize("snippet", [snippet for snippet in SNIPPETS if "# checker" not in snippet])
def test_the_run_time_refuses_the_same(names: dict[str, Any], snippet: str) -> None:
    if is_wrong(snippet):
        with pytest.raises(WRONG):
            exec(snippet, dict(names))
    else:
        exec(snippet, dict(names))


def test_attr_takes_fields_of_classes_only() -> None:
    with pytest.raises(ModelError, match=r"such as attr\(Ticket.status\), not 5"):
        attr(5)
    with pytest.raises(ModelError, match="not 'open'"):
        attr("open")


def test_a_path_leads_into_models_maps_and_lists_only() -> None:
    visits: Any = Order.visits
    with pytest.raises(ModelError, match=r"'visits.real': visits is neither a model nor a map, so it has no 'real'"):
        attr(visits.real)
    with pytest.raises(ModelError, match="note is not a list"):
        attr(Order.note[0])  # type: ignore[index]
    with pytest.raises(ModelError, match=r"Order.counts\['a.b'\]: a path cannot name a key that .* has a dot"):
        attr(Order.counts["a.b"])
    with pytest.raises(ModelError, match=r"present takes a field of an entity class"):
        present(5)


def test_a_field_that_is_declared_again_has_its_own_path(recwarn: pytest.WarningsRecorder) -> None:
    class Special(Order, table=Table("Special", "PK", "SK", indexes=shop.indexes)):
        visits: int = 3

    assert not recwarn.list
    assert repr(Special.visits) == "Special.visits"
    assert repr(Order.visits) == "Order.visits"
    assert Special.model_fields["visits"].default == 3
    assert Special.by_number("c", 1).entity is Special


def test_help_shows_what_a_pattern_takes_and_returns() -> None:
    shown = pydoc.plain(pydoc.render_doc(Order.of_customer))
    assert "of_customer(customer_id: 'str', *, since: 'int | None' = None) -> 'Selection[Order]'" in shown
    assert "The orders of a customer, newest first." in shown
    assert "-> 'Lookup[Order]'" in pydoc.plain(pydoc.render_doc(Order.by_number))
    assert "-> 'CollectionSelection[Account]'" in pydoc.plain(pydoc.render_doc(Account.of_customer))
    with pytest.raises(TypeError, match=r"^Order.of_customer\(\) got an unexpected keyword argument 'custmer'"):
        Order.of_customer(custmer="c")  # type: ignore[call-arg]


# -- comparisons that were made before --------------------------------------------------------------------------------


def test_equal_values_of_different_types_are_not_taken_for_each_other() -> None:
    class Reading(Entity, table=Table("readings", "id")):
        id: str
        number: int = 0
        flag: bool = False
        anything: Any = None

    for _ in range(2):
        assert (attr(Reading.anything) == 1).node != (attr(Reading.anything) == True).node  # noqa: E712
        assert (attr(Reading.anything) == "1").node != (attr(Reading.anything) == 1).node
        with pytest.raises(ModelError):
            assert attr(Reading.flag) == "maybe"


def test_comparisons_are_remembered_up_to_a_bound() -> None:
    class Row(Entity, table=Table("remembered", "id")):
        id: str
        name: str = ""

    field = attr(Row.name)
    assert (field == "a") is (field == "a")
    for number in range(1000):
        assert (field == str(number)).text == f"name = {number}"
        assert (field > "x" * 1000).text
    assert len(field._made) <= 128
