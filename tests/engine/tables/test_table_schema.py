"""Tables: the keys of their rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import DynamoError, checked
from tablewright.engine.items.item_operations import checked_key
from tablewright.engine.tables.table_schema import Table


def table(**types: str) -> Table:
    kinds = zip(types, ("HASH", "RANGE"), strict=False)
    description = {
        "TableName": "rows",
        "TableStatus": "ACTIVE",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": tag} for name, tag in types.items()],
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in kinds],
    }
    return Table(number=1, description=description, seed=1)


TABLES = [table(pk="S", sk="S"), table(pk="S"), table(pk="S", sk="N"), table(pk="B")]
VALUES = st.one_of(
    st.text(max_size=4).map(lambda text: {"S": text}),
    st.sampled_from(["x" * 600, "x" * 2048, "x" * 2049, "\0", "a\0b"]).map(lambda text: {"S": text}),
    st.integers(-99, 99).map(lambda number: {"N": str(number)}),
    st.sampled_from([{"B": "eA=="}, {"BOOL": True}, {}, {"S": "x", "N": "1"}]),
)
KEYS = st.dictionaries(st.sampled_from(["pk", "sk", "other", ""]), VALUES, max_size=3)


@given(st.sampled_from(TABLES), KEYS)
def test_the_short_way_to_a_row_key_ends_where_the_long_one_does(table: Table, key: dict[str, Any]) -> None:
    short = table.text_key(key)
    if short is None:
        return
    long = checked_key(key)
    table.check_key(long)
    assert (short, long) == (table.row_key(long), key)


@given(KEYS)
def test_a_key_comes_out_as_it_was_or_canonical(key: dict[str, Any]) -> None:
    try:
        expected = {name: checked(value)[0] for name, value in key.items()}
    except DynamoError:
        expected = None
    if expected is None or "" in key:
        with pytest.raises(DynamoError):
            checked_key(key)
    else:
        assert checked_key(key) == expected


def test_most_keys_take_the_short_way() -> None:
    assert TABLES[0].text_key({"pk": {"S": "a"}, "sk": {"S": "b"}}) is not None
    assert TABLES[1].text_key({"pk": {"S": "a"}}) is not None
