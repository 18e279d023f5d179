"""What the store promises, all of it documented: names, methods with what they take, settings, errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tablewright import store
from tablewright.store import (
    AsyncConsumer,
    AsyncTolerantReader,
    Consumer,
    Effects,
    Store,
    StoreError,
    TolerantReader,
)
from tablewright.store.base_store import Settings
from tablewright.store.streams.consumer_settings import ConsumerSettings

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "store.md").read_text("utf-8")

# Calls in the first column of a table: `query(selection, limit, ...)`
DOCUMENTED = {
    name: taken
    for row in re.findall(r"^\| ([^|]*) \|", PAGE, re.MULTILINE)
    for name, taken in re.findall(r"`(\w+)\(([^`]*)\)`", row)
}
# Calls of a reader: `reader.page(selection, limit, ...)`
OF_READERS = dict(re.findall(r"^\| `reader\.(\w+)\(([^`]*)\)` \|", PAGE, re.MULTILINE))
# Settings, as the only thing in the first column of a table.
LISTED = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))


def public_methods(face: type[Any]) -> list[Any]:
    found = inspect.getmembers(face, callable)
    return [pytest.param(member, id=f"{face.__name__}.{name}") for name, member in found if not name.startswith("_")]


def taken_by(call: Callable[..., Any]) -> str:
    """What a call takes, as the page writes it."""
    stars: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(call).parameters.values()
    return ", ".join(stars.get(each.kind, "") + each.name for each in parameters if each.name != "self")


def test_names_are_listed_once_and_in_order() -> None:
    assert store.__all__ == sorted(set(store.__all__))


@pytest.mark.parametrize("name", store.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    assert hasattr(store, name)
    assert re.search(rf"\b{name}\b", PAGE)


@pytest.mark.parametrize("method", [*public_methods(Store), *public_methods(Consumer), *public_methods(Effects)])
def test_every_method_is_documented_with_what_it_takes(method: Callable[..., Any]) -> None:
    assert DOCUMENTED.get(method.__name__) == taken_by(method)


def test_readers_are_documented_with_what_their_methods_take() -> None:
    for reader in (TolerantReader, AsyncTolerantReader):
        methods = [parameter.values[0] for parameter in public_methods(reader)]
        assert {method.__name__: taken_by(method) for method in methods} == OF_READERS


OPERATIONS = [store.Create, store.Put, store.Upsert, store.Update, store.Delete, store.Check, store.Absent]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_is_documented_with_what_it_takes(operation: type[store.Operation]) -> None:
    assert DOCUMENTED.get(operation.__name__) == taken_by(operation)


@pytest.mark.parametrize("function", [store.changes_in, store.changes_of, store.typed_changes])
def test_every_function_is_documented_with_what_it_takes(function: Callable[..., Any]) -> None:
    assert DOCUMENTED.get(function.__name__) == taken_by(function)


@pytest.mark.parametrize("setting", [*Settings.__annotations__, *ConsumerSettings.__annotations__])
def test_every_setting_is_documented(setting: str) -> None:
    assert setting in LISTED


def test_the_page_documents_no_call_that_is_not_there() -> None:
    classes = [Store, Consumer, Effects, *OPERATIONS]
    there = {name for each in classes for name, _ in inspect.getmembers(each, callable)} | set(store.__all__)
    assert set(DOCUMENTED) - there == set()


def test_the_asynchronous_consumer_has_the_methods_of_the_other_one() -> None:
    methods = {method.id: method.values[0] for method in public_methods(Consumer)}
    for name, method in methods.items():
        other = getattr(AsyncConsumer, name.removeprefix("Consumer."))
        assert taken_by(other) == taken_by(method)


def test_the_tree_of_errors_is_the_same_in_the_module_and_on_the_page() -> None:
    def tree(text: str) -> list[str]:
        return re.findall(r"^\s*([│├└─ ]*[A-Z]\w+)(?=\s{2,}|$)", text[text.index("StoreError\n") :], re.MULTILINE)

    drawn = tree(inspect.getdoc(store.errors) or "")
    assert tree(PAGE) == drawn
    names = {re.sub(r"\W", "", line) for line in drawn}
    assert names == {name for name in store.__all__ if issubclass_of_error(getattr(store, name))}


def issubclass_of_error(member: object) -> bool:
    return isinstance(member, type) and issubclass(member, StoreError)
