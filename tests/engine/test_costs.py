"""What a request costs grows with its size, and not faster: a search for requests that cost more.

Each ``Shape`` is a family of requests by a size. A request of twice the size may take twice as many lines of Python,
and a little more. The search puts shapes together at random; it is long, and part of the slow tier.

A second search is for requests that keep others waiting: on items as large as there are, one by itself and as many as
go into a transaction or a page, no slice may take long, in processor time. What is done beside the slices does not
count.

A third is for requests of less than 256 KB, which are parsed on the event loop, with as many expressions as fit.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from string import ascii_letters
from time import thread_time
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.dynamo import DynamoError
from tablewright.engine import Engine
from tablewright.engine.slices import IS_LARGE, Unfinished
from tablewright.wire.long_requests import LARGE_BODY
from tablewright.wire.operation_targets import OF_ITEMS
from tests.engine.line_counts import counted_lines

SIZE = 60
# Twice the size may cost this many times as much: the clock of slices and caches come on top.
MAX_GROWTH = 2.6

Request = dict[str, Any]
Shape = Callable[[int], Request]
KEY = {"pk": {"S": "a"}, "sk": {"S": "a"}}


def number(value: int) -> Request:
    return {"N": str(value)}


def nested(size: int) -> Request:
    """A list of maps of sets."""
    return {"L": [{"M": {f"m{each}": {"SS": [f"{each}", "x"]}}} for each in range(size)]}


VALUES: dict[str, Callable[[int], Any]] = {
    "a list of numbers": lambda size: {"L": [number(each) for each in range(20 * size)]},
    "a list of texts": lambda size: {"L": [{"S": f"{each}é"} for each in range(20 * size)]},
    "a map": lambda size: {"M": {f"k{each}": number(each) for each in range(20 * size)}},
    "a set of texts": lambda size: {"SS": [f"{each}" for each in range(20 * size)]},
    "a set of numbers": lambda size: {"NS": [f"{each}.5" for each in range(20 * size)]},
    "a set of binaries": lambda size: {"BS": [f"{each:08}" for each in range(1, 20 * size)]},
    "nested": nested,
    "a long text": lambda size: {"S": "é" * 200 * size},
    "a long number": lambda size: {"N": "1" * 20 * size},
}

# Of attributes, for conditions and filters; ``v`` is a long value of the item.
LEAVES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "equal": ("v = :v{}", lambda each: {"L": [number(each)]}),
    "contains": ("contains(v, :v{})", lambda each: number(-each)),
    "begins_with": ("begins_with(x{0}, :v{0})", lambda each: {"S": f"{each}"}),
    "between": ("n BETWEEN :v{0} AND :v{0}", number),
    "size": ("size(v) < :v{}", number),
    "in": ("n IN (:v{0}, :v{0}, :v{0})", lambda each: number(-each)),
    "exists": ("attribute_exists(a.b{0}[1].c) AND n = :v{0}", number),
    "type": ("attribute_type(v, :v{})", lambda each: {"S": ("N", "S", "BOOL")[each % 3]}),
}

ACTIONS: dict[str, tuple[str, str, bool]] = {
    "set": ("SET", "y{0} = :v", True),
    "copy": ("SET", "y{0} = v", False),
    "default": ("SET", "y{0} = if_not_exists(z{0}, :v)", True),
    "nested": ("SET", "m.y{0} = :v", True),
    "remove": ("REMOVE", "v[{0}]", False),
    "remove names": ("REMOVE", "y{0}", False),
    "add": ("ADD", "y{0} :v", True),
}


def condition(leaf: str, joint: str, size: int) -> tuple[str, Request]:
    text, value = LEAVES[leaf]
    size = min(size, 45)
    return joint.join(text.format(each) for each in range(size)), {f":v{each}": value(each) for each in range(size)}


def putting(value: str) -> Shape:
    return lambda size: {"operation": "PutItem", "Item": {**KEY, "v": VALUES[value](size)}}


def filtering(operation: str, leaf: str, joint: str) -> Shape:
    def shape(size: int) -> Request:
        text, values = condition(leaf, joint, size)
        request: Request = {"operation": operation, "FilterExpression": text, "ExpressionAttributeValues": values}
        if operation == "Query":
            request["KeyConditionExpression"] = "pk = :pk"
            values[":pk"] = {"S": "a"}
        return request

    return shape


def updating(action: str) -> Shape:
    section, text, has_value = ACTIONS[action]

    def shape(size: int) -> Request:
        if action == "copy":
            # The value grows already: the item would be four times as large.
            size = SIZE
        request: Request = {
            "operation": "UpdateItem",
            "Key": KEY,
            "UpdateExpression": f"{section} {','.join(text.format(each) for each in range(size))}",
        }
        if has_value:
            request["ExpressionAttributeValues"] = {":v": number(1)}
        return request

    return shape


def of_the_older_kind(operator: str) -> Shape:
    def shape(size: int) -> Request:
        values = {} if operator == "NULL" else {"AttributeValueList": [{"S": "x"}]}
        conditions = {f"x{each}": {"ComparisonOperator": operator, **values} for each in range(10 * size)}
        return {"operation": "Scan", "ScanFilter": conditions}

    return shape


def defining(size: int) -> Request:
    definitions = [{"AttributeName": f"a{each}", "AttributeType": "S"} for each in range(10 * size)]
    return {
        "operation": "CreateTable",
        "TableName": "wide",
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "a0", "KeyType": "HASH"}],
        "AttributeDefinitions": definitions,
    }


def naming(size: int) -> Request:
    names = {f"#n{each}": f"x{each}" for each in range(10 * size)}
    return {"operation": "GetItem", "Key": KEY, "ProjectionExpression": "x", "ExpressionAttributeNames": names}


def projecting(size: int) -> Request:
    return {
        "operation": "GetItem",
        "Key": KEY,
        "ProjectionExpression": ",".join(f"v[{each}].m{each}" for each in range(size)),
    }


def batch(value: str) -> Shape:
    def shape(size: int) -> Request:
        puts = [
            {"PutRequest": {"Item": {**KEY, "sk": {"S": str(n)}, "v": VALUES[value](size // 10)}}} for n in range(9)
        ]
        return {"operation": "BatchWriteItem", "RequestItems": {"rows": puts}}

    return shape


def statement(text: str, part: str, joint: str) -> Shape:
    return lambda size: {
        "operation": "ExecuteStatement",
        "Statement": text.format(joint.join(part.format(each) for each in range(size))),
    }


shapes: st.SearchStrategy[Shape] = st.one_of(
    st.sampled_from(sorted(VALUES)).map(putting),
    st.sampled_from(sorted(VALUES)).map(batch),
    st.builds(
        filtering,
        st.sampled_from(["Scan", "Query"]),
        st.sampled_from(sorted(LEAVES)),
        st.sampled_from([" AND ", " OR ", " AND NOT "]),
    ),
    st.sampled_from(sorted(ACTIONS)).map(updating),
    st.sampled_from(["NULL", "EQ", "NE", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"]).map(of_the_older_kind),
    st.sampled_from([defining, naming, projecting]),
    st.builds(
        statement,
        st.sampled_from(
            [
                "SELECT * FROM \"rows\" WHERE pk = 'a' AND ({})",
                'SELECT {} FROM "rows"',
                "INSERT INTO \"rows\" VALUE {{'pk': 'i', 'sk': 's', 'l': [{}]}}",
                'SELECT * FROM "rows" WHERE pk IN [{}]',
            ]
        ),
        st.sampled_from(["x{0} = {0}", "x{0}", "{0}", "'{0}'", "contains(v, {0})"]),
        st.sampled_from([" OR ", " AND ", ", "]),
    ),
)


@pytest.mark.slow
@given(shape=shapes, value=st.sampled_from(sorted(VALUES)))
def test_twice_the_size_costs_at_most_twice_as_much(shape: Shape, value: str) -> None:
    small, large = lines(shape, value, SIZE), lines(shape, value, 2 * SIZE)
    assert large < MAX_GROWTH * small + 500


def lines(shape: Shape, value: str, size: int) -> int:
    """The lines of Python that a request takes, on a table whose items grow with it."""
    definitions = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]
    key = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    with Engine.open() as engine:
        engine.call(
            "CreateTable",
            {
                "TableName": "rows",
                "AttributeDefinitions": definitions,
                "KeySchema": key,
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        held = VALUES[value](size)
        if len(str(held)) < 350_000 and value != "a long number":
            engine.call("PutItem", {"TableName": "rows", "Item": {**KEY, "v": held, "n": number(1), "m": {"M": {}}}})
        request = shape(size)
        operation = request.pop("operation")
        if operation not in ("BatchWriteItem", "ExecuteStatement"):
            request.setdefault("TableName", "rows")
        # A refusal has its cost as well.
        with counted_lines() as count, suppress(DynamoError):
            engine.call(operation, request)
        return count()


# -- slices ---------------------------------------------------------------------------------------------------------

# A slice may take 50 ms; machines are slower than others, and busy.
MAX_SLICE_SECONDS = 4 * 0.050
MANY = 40

# As many as fit into so many bytes of an item.
LARGE_VALUES: dict[str, Callable[[int], Any]] = {
    "numbers": lambda size: {"L": [number(1)] * (size // 3)},
    "texts": lambda size: {"L": [{"S": "a"}] * (size // 2)},
    "booleans": lambda size: {"L": [{"BOOL": True}] * (size // 2)},
    "a mixture": lambda size: {"L": [{"S": ""}, {"NULL": True}] * (size // 3)},
    "lists": lambda size: {"L": [{"L": []}] * (size // 4)},
    "a map": lambda size: {"M": {f"{each}": number(1) for each in range(size // 8)}},
    "a set of numbers": lambda size: {"NS": [f"{each}" for each in range(size // 4, 0, -1)]},
    "a set of texts": lambda size: {"SS": [f"{each}" for each in range(size // 6)]},
    "a text": lambda size: {"S": "é" * (size // 2)},
    "empty texts": lambda size: {"L": [{"S": ""}] * size},
}
CONDITION = " OR ".join(f"contains(v, :v{each})" for each in range(100))
CONDITION_VALUES = {f":v{each}": number(-each) for each in range(100)}


def about(each: int) -> Request:
    return {"TableName": "rows", "Key": {"pk": {"S": "a"}, "sk": {"S": f"{each:03}"}}}


def updating_large(each: int, expression: str) -> Request:
    values = {"ExpressionAttributeValues": {":v": number(1)}} if ":v" in expression else {}
    return {**about(each), "UpdateExpression": expression, **values}


def with_condition(each: int, condition: str) -> Request:
    return {**about(each), "ConditionExpression": condition, "ExpressionAttributeValues": CONDITION_VALUES}


EXPRESSIONS = ["SET y = :v", "SET w = v REMOVE v", "SET v[0] = :v", "SET w = list_append(v, v)", "ADD n :v", "REMOVE v"]
# By the bytes of the value, and by how many items there are.
LongShape = Callable[[Any, int], tuple[str, Request]]


def one_update(text: str) -> LongShape:
    return lambda value, count: ("UpdateItem", updating_large(0, text))


def many_updates(text: str) -> LongShape:
    def shape(value: Any, count: int) -> tuple[str, Request]:
        members = [{"Update": updating_large(each, text)} for each in range(count)]
        return "TransactWriteItems", {"TransactItems": members}

    return shape


LONG_SHAPES: dict[str, LongShape] = {
    **{f"update {text}": one_update(text) for text in EXPRESSIONS},
    **{f"updates {text}": many_updates(text) for text in EXPRESSIONS},
    "checks": lambda value, count: (
        "TransactWriteItems",
        {"TransactItems": [{"ConditionCheck": with_condition(each, f"NOT ({CONDITION})")} for each in range(count)]},
    ),
    "deletes": lambda value, count: (
        "TransactWriteItems",
        {"TransactItems": [{"Delete": with_condition(each, CONDITION)} for each in range(count)]},
    ),
    "puts": lambda value, count: (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "rows", "Item": {**KEY, "v": value}}}]},
    ),
    "put": lambda value, count: (
        "PutItem",
        {"TableName": "rows", "Item": {**about(0)["Key"], "v": value}, "ReturnValues": "ALL_OLD"},
    ),
    "batch of puts": lambda value, count: (
        "BatchWriteItem",
        {
            "RequestItems": {
                "rows": [{"PutRequest": {"Item": {**about(each)["Key"], "v": value}}} for each in range(min(count, 25))]
            },
            "ReturnConsumedCapacity": "INDEXES",
        },
    ),
    "get": lambda value, count: ("GetItem", {**about(0), "ProjectionExpression": "v"}),
    "gets": lambda value, count: (
        "TransactGetItems",
        {"TransactItems": [{"Get": {**about(each), "ProjectionExpression": "v"}} for each in range(count)]},
    ),
    "batch of gets": lambda value, count: (
        "BatchGetItem",
        {
            "RequestItems": {
                "rows": {"Keys": [about(each)["Key"] for each in range(count)], "ProjectionExpression": "v"}
            }
        },
    ),
    "scan": lambda value, count: ("Scan", {"TableName": "rows"}),
    "filter": lambda value, count: (
        "Scan",
        {"TableName": "rows", "FilterExpression": CONDITION, "ExpressionAttributeValues": CONDITION_VALUES},
    ),
    "older filter": lambda value, count: (
        "Scan",
        {"TableName": "rows", "ScanFilter": {f"x{each}": {"ComparisonOperator": "NULL"} for each in range(20_000)}},
    ),
    "older condition": lambda value, count: (
        "PutItem",
        {"TableName": "rows", "Item": KEY, "Expected": {f"x{each}": {"Exists": False} for each in range(20_000)}},
    ),
    "older update": lambda value, count: (
        "UpdateItem",
        {**about(1), "AttributeUpdates": {"v": {"Action": "PUT", "Value": value}}},
    ),
    "addition": lambda value, count: (
        "UpdateItem",
        {
            **about(1),
            "UpdateExpression": "ADD w :v",
            "ExpressionAttributeValues": {":v": {"NS": [f"{each}" for each in range(90_000, 0, -1)]}},
        },
    ),
    "one more index": lambda value, count: (
        "UpdateTable",
        {
            "TableName": "rows",
            "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
            "GlobalSecondaryIndexUpdates": [
                {
                    "Create": {
                        "IndexName": "by-n",
                        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                }
            ],
        },
    ),
    "statements": lambda value, count: (
        "BatchExecuteStatement",
        {
            "Statements": [
                {"Statement": f"SELECT v FROM \"rows\" WHERE pk = 'a' AND sk = '{each:03}'"}
                for each in range(min(count, 25))
            ]
        },
    ),
    "insertions": lambda value, count: (
        "ExecuteTransaction",
        {
            "TransactStatements": [
                {"Statement": f"UPDATE \"rows\" SET y = 1 WHERE pk = 'a' AND sk = '{each:03}'"} for each in range(count)
            ]
        },
    ),
}


WORDS = {"AS", "AT", "BY", "DO", "GO", "IF", "IN", "IS", "NO", "OF", "ON", "OR", "PK", "SK", "TO"}
NAMES = [name for name in map("".join, product(ascii_letters, repeat=2)) if name.upper() not in WORDS]
SAME = " AND ".join(["a=1"] * 330)
ALL_KEYS = [about(each)["Key"] for each in range(MANY)]


def of_each(kind: str, **expressions: str) -> Request:
    """A hundred actions of a transaction; ``{}`` is another name in each, so that each expression is compiled."""
    return {
        "TransactItems": [
            {kind: {**about(each), **{name: text.replace("{}", f"x{each}") for name, text in expressions.items()}}}
            for each in range(100)
        ]
    }


def statements(member: str, count: int, text: str) -> Request:
    return {member: [{"Statement": text.replace("{}", f"pk = 'a' AND sk = '{each:03}'")} for each in range(count)]}


# In the body of each there is room for no more.
SMALL_SHAPES: dict[str, tuple[str, Request]] = {
    "removals": ("TransactWriteItems", of_each("Update", UpdateExpression=f"REMOVE {','.join(NAMES[:750])},{{}}")),
    "assignments": (
        "TransactWriteItems",
        of_each("Update", UpdateExpression=f"SET {','.join(f'{name}=pk' for name in NAMES[:380])},{{}}=pk"),
    ),
    "checks": ("TransactWriteItems", of_each("ConditionCheck", ConditionExpression=" AND ".join(["{}<>x"] * 145))),
    "gets": ("TransactGetItems", of_each("Get", ProjectionExpression=",".join([*NAMES[:750], "{}"]))),
    "batch of gets": (
        "BatchGetItem",
        {"RequestItems": {"rows": {"Keys": ALL_KEYS, "ProjectionExpression": ",".join(NAMES[:1360])}}},
    ),
    "batch of tables": (
        "BatchGetItem",
        {
            "RequestItems": {
                f"table-{each}": {"Keys": ALL_KEYS[:1], "ProjectionExpression": ",".join([*NAMES[:750], f"x{each}"])}
                for each in range(100)
            }
        },
    ),
    "older conditions": (
        "PutItem",
        {"TableName": "rows", "Item": KEY, "Expected": {f"{each:x}": {"Exists": False} for each in range(8500)}},
    ),
    "updates of a transaction": (
        "ExecuteTransaction",
        statements("TransactStatements", 90, f'UPDATE "rows" SET z = 1 WHERE {{}} AND {SAME}'),
    ),
    "reads of a transaction": (
        "ExecuteTransaction",
        statements("TransactStatements", 90, f'SELECT {",".join(NAMES[:700])} FROM "rows" WHERE {{}}'),
    ),
    "a wrong statement": (
        "ExecuteTransaction",
        {
            "TransactStatements": [
                *statements("TransactStatements", 88, f'DELETE FROM "rows" WHERE {{}} AND {SAME}')[
                    "TransactStatements"
                ],
                {"Statement": "DELETE"},
            ]
        },
    ),
    "batch of updates": (
        "BatchExecuteStatement",
        statements("Statements", 25, f'UPDATE "rows" SET z = 1 WHERE {{}} AND {SAME} AND {SAME} AND {SAME}'),
    ),
    "parameters": (
        "ExecuteStatement",
        {"Statement": 'SELECT * FROM "rows" WHERE pk = ?', "Parameters": [number(1)] * 17_000},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", sorted(SMALL_SHAPES))
def test_no_slice_of_a_small_request_takes_long(shape: str) -> None:
    operation, request = SMALL_SHAPES[shape]
    assert len(orjson.dumps(request)) < LARGE_BODY
    held = {"M": {name: number(1) for name in NAMES[:700]}}

    def longest() -> float:
        with rows(MANY, held) as engine:
            # As a server with metrics does.
            engine.meter(lambda record: None)
            return longest_of(engine, operation, engine.check(operation, request))

    assert any(longest() < MAX_SLICE_SECONDS / 2 for _ in range(3))


@pytest.mark.slow
@settings(max_examples=60)
@given(
    shape=st.sampled_from(sorted(LONG_SHAPES)),
    value=st.sampled_from(sorted(LARGE_VALUES)),
    is_one=st.booleans(),
    is_indexed=st.booleans(),
)
def test_no_slice_of_a_request_takes_long(shape: str, value: str, is_one: bool, is_indexed: bool) -> None:
    count = 1 if is_one else MANY
    held = LARGE_VALUES[value]((390_000 if is_one else 3_900_000 // MANY) // 2)
    # What was busy once is measured again.
    assert any(longest_slice(shape, held, count, is_indexed) < MAX_SLICE_SECONDS for _ in range(3))


def longest_slice(shape: str, held: Any, count: int, is_indexed: bool) -> float:
    """The processor time of the longest slice of a request, on a table of so many items."""
    with rows(count, held, is_indexed=is_indexed) as engine:
        operation, request = LONG_SHAPES[shape](held, count)
        checked = engine.check(operation, request)
        if operation in OF_ITEMS:
            # As the server does with a large body.
            checked[IS_LARGE] = True
        return longest_of(engine, operation, checked)


@contextmanager
def rows(count: int, held: Any, *, is_indexed: bool = False) -> Iterator[Engine]:
    """A table of so many items."""
    key = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    more: Request = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
    with Engine.open() as engine:
        engine.call(
            "CreateTable",
            {
                "TableName": "rows",
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
                "KeySchema": key,
                "BillingMode": "PAY_PER_REQUEST",
                **(more if is_indexed else {}),
            },
        )
        for each in range(count):
            engine.call("PutItem", {"TableName": "rows", "Item": {**about(each)["Key"], "n": number(1), "v": held}})
        yield engine


def longest_of(engine: Engine, operation: str, checked: Request) -> float:
    longest = 0.0
    gc.disable()
    try:
        work: Callable[[], Any] = lambda: engine.begin(operation, checked)  # noqa: E731
        while True:
            began = thread_time()
            with suppress(DynamoError):
                outcome = work()
                longest = max(longest, thread_time() - began)
                if isinstance(outcome, Unfinished):
                    if outcome.beside is not None:
                        outcome.beside()
                    work = outcome.resume
                    continue
            return max(longest, thread_time() - began)
    finally:
        gc.enable()
