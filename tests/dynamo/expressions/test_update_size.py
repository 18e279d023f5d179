"""What an update expression counts against the limit of an item: figures measured on the service."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo.expressions import compile_update

V = {"S": "y" * 10}
ONE = {"N": "1"}


@pytest.mark.parametrize(
    ("expression", "values", "size"),
    [
        ("SET a = :v", {":v": V}, 19 + 1 + 10),
        ("SET #long = :v", {":v": V}, 19 + 1 + 10),
        ("SET a = :v, b = :v", {":v": V}, 2 * (19 + 1 + 10)),
        ("SET a.leaf = :v", {":v": V}, 19 + 1 + 4 + 4 + 10),
        ("SET a[10] = :v", {":v": V}, 19 + 1 + 4 + 2 + 10),
        ("SET a = abcdefghij", {}, 19 + 1 + 1 + 14 + 10),
        ("SET a = m.a.z", {}, 19 + 1 + 1 + 3 * 15),
        ("SET a = l[10]", {}, 19 + 1 + 1 + 15 + 16),
        ("SET a = :v", {":v": {"M": {"k": V}}}, 19 + 1 + 3 + 1 + 1 + 10),
        ("SET a = a + :one", {":one": ONE}, 19 + 1 + 34 + 1 + 15 + 2),
        ("SET a = a - :one", {":one": ONE}, 19 + 1 + 37 + 1 + 15 + 2),
        ("SET a = if_not_exists(a, :v)", {":v": V}, 19 + 1 + 39 + 1 + 15 + 10),
        ("SET a = list_append(a, :l)", {":l": {"L": [V]}}, 19 + 1 + 37 + 1 + 15 + 3 + 1 + 10),
        (
            "SET a = list_append(if_not_exists(a, :l), :l)",
            {":l": {"L": []}},
            19 + 1 + 37 + (39 + 1 + 15 + 3) + 3,
        ),
        ("ADD abcdefghij :one", {":one": ONE}, 19 + 10 + 2),
        ("ADD ss :s", {":s": {"SS": ["s" * 500]}}, 19 + 2 + 500),
        ("REMOVE r", {}, 1 + 1),
        ("REMOVE m.yyyyyyyyyy", {}, 1 + 1 + 4 + 10),
        ("REMOVE l[10]", {}, 1 + 1 + 4 + 2),
        ("DELETE ss :s", {":s": {"SS": ["s" * 500]}}, 1 + 2),
        ("SET a = :v REMOVE r DELETE s :s", {":v": V, ":s": {"SS": ["x"]}}, 30 + 2 + 2),
    ],
)
def test_the_size_of_an_update_expression(expression: str, values: dict[str, Any], size: int) -> None:
    names = {"#long": "a"} if "#long" in expression else None
    assert compile_update(expression, names).statement_size.of(values) == 3 + size
