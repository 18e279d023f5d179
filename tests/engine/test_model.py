"""The engine against a plain model of it (model.py), over sequences of operations that Hypothesis makes up.

After each step both sides hold the same items, and the engine's own proof (``verify``) finds nothing;
queries, scans and the stream must give what follows from the model. In between the engine is closed and
opened again, or killed: what is on disk at that moment is copied, and opened in its place.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tablewright.dynamo import (
    ConditionalCheckFailedException,
    DynamoError,
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from tablewright.engine import Engine
from tablewright.engine.tables import index_backfill
from tests.engine.model import (
    INDEXES,
    KEY_NAMES,
    START,
    Change,
    Condition,
    Invalid,
    Item,
    Key,
    Model,
    Update,
    by_key,
    colours,
    conditions,
    decoded,
    definitions,
    encoded,
    friend_sets,
    from_dynamo,
    index,
    key_of,
    key_range,
    key_schema,
    small,
    to_dynamo,
    updates,
    with_expressions,
)
from tests.engine.table_requests import on_demand

# -- what may happen -----------------------------------------------------------------------------------------

table_names = st.sampled_from(["rich", "rich", "rich", "plain"])
raw_keys = st.tuples(st.sampled_from("abc"), small)
attributes = st.fixed_dictionaries(
    {},
    optional={
        "colour": colours,
        "weight": small,
        "mood": st.one_of(st.sampled_from(["calm", "cross"]), small),
        "friends": friend_sets,
        "notes": st.lists(small, max_size=2),
        "place": st.just({"street": "here", "rooms": [1, {"beds": 2}]}),
        "expires": st.integers(1, 2000),
    },
)
maybe_conditions = st.one_of(st.none(), st.none(), st.none(), conditions())
ranges = st.one_of(
    st.none(),
    st.tuples(st.sampled_from(["=", "<", "<=", ">", ">="]), small),
    st.tuples(st.just("BETWEEN"), small, st.integers(0, 6)),
)


class Machine(RuleBasedStateMachine):
    """Both sides of the comparison; ``folder`` None for an engine in memory."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self.model = Model()
        self.folder = None if folder is None else folder / "0"
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        self.engine = self._open()
        self.tokens = 0

    def _open(self) -> Engine:
        return Engine.open(self.folder, clock=lambda: float(self.model.now))

    def teardown(self) -> None:
        self.engine.close()

    @initialize(items=st.lists(st.tuples(raw_keys, attributes), min_size=5, max_size=25))
    def create_tables(self, items: list[tuple[tuple[str, int], Item]]) -> None:
        call = self.engine.call
        call("CreateTable", on_demand(TableName="plain"))
        call(
            "CreateTable",
            {
                "TableName": "rich",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": definitions("pk", "sk", "colour", "weight"),
                "KeySchema": key_schema("pk", "sk"),
                "LocalSecondaryIndexes": [index("by-weight", "ALL")],
                "GlobalSecondaryIndexes": [index("by-colour", "ALL")],
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            },
        )
        call(
            "UpdateTimeToLive",
            {
                "TableName": "rich",
                "TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True},
            },
        )
        for raw, values in items:
            self.put_without_looking("rich", raw, values)

    # -- writes ----------------------------------------------------------------------------------------------

    def _item(self, table: str, key: tuple[str, int], values: Item) -> tuple[Key, Item]:
        item = {**dict(zip(KEY_NAMES[table], key, strict=False)), **deepcopy(values)}
        if "expires" in item:
            item["expires"] += self.model.now
        return key[: len(KEY_NAMES[table])], item

    @rule(table=table_names, raw=raw_keys, values=attributes, condition=maybe_conditions)
    def put(self, table: str, raw: tuple[str, int], values: Item, condition: Condition | None) -> None:
        key, item = self._item(table, raw, values)
        request = {"TableName": table, "Item": to_dynamo(item), "ReturnValues": "ALL_OLD"}
        old = self.model.tables[table].get(key)
        with expected(self._refusal(table, key, condition, lambda: self.model.check(table, item), False)) as refused:
            response = self.engine.call("PutItem", with_expressions(request, condition))
        if not refused:
            assert from_dynamo(response.get("Attributes")) == old
            self.model.change(table, key, item)

    @rule(table=table_names, raw=raw_keys, values=attributes)
    def put_without_looking(self, table: str, raw: tuple[str, int], values: Item) -> None:
        key, item = self._item(table, raw, values)
        with expected(self._refusal(table, key, None, lambda: self.model.check(table, item), False)) as refused:
            self.engine.call("PutItem", {"TableName": table, "Item": to_dynamo(item)})
        if not refused:
            self.model.change(table, key, item)

    @rule(place=st.integers(0, 100))
    def put_again(self, place: int) -> None:
        """The item that is there, its attributes and sets in another order: nothing has changed."""
        items = list(self.model.tables["rich"].values())
        if items:
            item = items[place % len(items)]
            reordered = {name: encoded(item[name]) for name in reversed(item)}
            if "friends" in reordered:
                reordered["friends"]["SS"].reverse()
            with expected(self._refusal("rich", (), None, lambda: self.model.check("rich", item))):
                self.engine.call("PutItem", {"TableName": "rich", "Item": reordered})

    @rule(
        table=table_names,
        raws=st.lists(raw_keys, min_size=1, max_size=6),
        update=updates(),
        condition=maybe_conditions,
    )
    def update(self, table: str, raws: list[tuple[str, int]], update: Update, condition: Condition | None) -> None:
        for raw in raws:
            self._update(table, raw[: len(KEY_NAMES[table])], update, condition)

    def _update(self, table: str, key: Key, update: Update, condition: Condition | None) -> None:
        request = {"TableName": table, "Key": key_of(table, key), "ReturnValues": "ALL_NEW"}
        outcome = self._refusal(table, key, condition, lambda: self.model.updated(table, key, update))
        with expected(outcome) as refused:
            response = self.engine.call("UpdateItem", with_expressions(request, condition, update))
        if not refused:
            new = self.model.updated(table, key, update)
            assert from_dynamo(response.get("Attributes")) == new
            self.model.change(table, key, new)

    @rule(table=table_names, raw=raw_keys, condition=maybe_conditions)
    def delete(self, table: str, raw: tuple[str, int], condition: Condition | None) -> None:
        key = raw[: len(KEY_NAMES[table])]
        request = {"TableName": table, "Key": key_of(table, key), "ReturnValues": "ALL_OLD"}
        with expected(self._refusal(table, key, condition, lambda: None)) as refused:
            response = self.engine.call("DeleteItem", with_expressions(request, condition))
        if not refused:
            assert from_dynamo(response.get("Attributes")) == self.model.tables[table].get(key)
            self.model.change(table, key, None)

    def _refusal(
        self,
        table: str,
        key: Key,
        condition: Condition | None,
        attempt: Callable[[], object],
        condition_first: bool = True,
    ) -> type[DynamoError] | None:
        """How a write has to be refused, if at all."""
        fails = not self.model.holds(table, key, condition)
        if fails and condition_first:
            return ConditionalCheckFailedException
        try:
            attempt()
        except Invalid:
            return ValidationException
        return ConditionalCheckFailedException if fails else None

    @rule(
        writes=st.dictionaries(
            st.tuples(table_names, raw_keys), st.one_of(st.none(), attributes), min_size=1, max_size=6
        )
    )
    def write_batch(self, writes: dict[tuple[str, tuple[str, int]], Item | None]) -> None:
        planned: dict[tuple[str, Key], Item | None] = {}
        for (table, raw), values in writes.items():
            key, item = self._item(table, raw, values or {})
            planned[table, key] = None if values is None else item
        requests: dict[str, list[dict[str, Any]]] = {}
        invalid = False
        for (table, key), new in planned.items():
            try:
                self.model.check(table, new or {})
            except Invalid:
                invalid = True
            write: dict[str, Any] = {"DeleteRequest": {"Key": key_of(table, key)}}
            if new is not None:
                write = {"PutRequest": {"Item": to_dynamo(new)}}
            requests.setdefault(table, []).append(write)
        with expected(ValidationException if invalid else None) as refused:
            self.engine.call("BatchWriteItem", {"RequestItems": requests})
        if not refused:
            for (table, key), new in planned.items():
                self.model.change(table, key, new)

    @rule(
        actions=st.dictionaries(
            st.tuples(table_names, raw_keys),
            st.tuples(st.sampled_from(["Put", "Update", "Delete", "ConditionCheck"]), attributes, updates()),
            min_size=1,
            max_size=4,
        ),
        guard=maybe_conditions,
        check=conditions(),
        with_token=st.booleans(),
    )
    def transact(
        self,
        actions: dict[tuple[str, tuple[str, int]], tuple[str, Item, Update]],
        guard: Condition | None,
        check: Condition,
        with_token: bool,
    ) -> None:
        changes: dict[tuple[str, Key], Item | None] = {}
        reasons: dict[tuple[str, Key], str] = {}
        members: dict[tuple[str, Key], dict[str, Any]] = {}
        for (table, raw), (kind, values, update) in actions.items():
            key, item = self._item(table, raw, {k: v for k, v in values.items() if k != "mood"})
            place = (table, key)
            condition = check if kind == "ConditionCheck" else None if members else guard
            request: dict[str, Any] = {"TableName": table, "Key": key_of(table, key)}
            if kind == "Put":
                request = {"TableName": table, "Item": to_dynamo(item)}
            request = with_expressions(request, condition, update if kind == "Update" else None)
            members[place] = {kind: request}
            changes.pop(place, None)
            reasons[place] = "None"
            if not self.model.holds(table, key, condition):
                reasons[place] = "ConditionalCheckFailed"
            elif kind == "Put":
                changes[place] = item
            elif kind == "Delete":
                changes[place] = None
            elif kind == "Update":
                try:
                    changes[place] = self.model.updated(table, key, update)
                except Invalid:
                    reasons[place] = "ValidationError"
        expected_reasons = list(reasons.values())
        if "ValidationError" in expected_reasons:
            # Nothing is looked at beyond the first write that is not valid.
            first = expected_reasons.index("ValidationError") + 1
            expected_reasons[first:] = ["None"] * (len(expected_reasons) - first)
        request = {"TransactItems": list(members.values())}
        if with_token:
            self.tokens += 1
            request["ClientRequestToken"] = f"token {self.tokens}"
        cancelled = any(reason != "None" for reason in reasons.values())
        with expected(TransactionCanceledException if cancelled else None) as refused:
            self.engine.call("TransactWriteItems", request)
        if refused:
            told = [reason["Code"] for reason in refused[0].extra["CancellationReasons"]]
            assert told == expected_reasons
            return
        for (table, key), new in changes.items():
            self.model.change(table, key, new)
        if with_token:
            self._repeat(request)

    def _repeat(self, request: dict[str, Any]) -> None:
        """The same token again, at once and after a restart: the same answer, and no second effect."""
        self.engine.call("TransactWriteItems", request)
        self.reopen()
        self.engine.call("TransactWriteItems", request)
        other = {"Delete": {"TableName": "plain", "Key": {"pk": {"S": "never there"}}}}
        with pytest.raises(IdempotentParameterMismatchException):
            self.engine.call("TransactWriteItems", {**request, "TransactItems": [other]})

    # -- time, indexes and restarts --------------------------------------------------------------------------

    @rule(seconds=st.one_of(st.integers(1, 900), st.integers(1, 4 * 3600)))
    def let_time_pass(self, seconds: int) -> None:
        # Beyond a day the stream would begin to forget.
        self.model.now = min(self.model.now + seconds, START + 23 * 3600)
        self.engine.sweep()
        self.model.expire()

    @rule(really=st.sampled_from([True, False, False]))
    def add_or_drop_index(self, really: bool) -> None:
        """Items there are entered behind the back of whoever writes next."""
        if not really:
            return
        self.engine.sweep()
        if "by-mood" in self.model.indexes:
            change: dict[str, Any] = {"Delete": {"IndexName": "by-mood"}}
            self.model.indexes.remove("by-mood")
        else:
            change = {"Create": index("by-mood", "KEYS_ONLY")}
            self.model.indexes.add("by-mood")
        self.engine.call(
            "UpdateTable",
            {
                "TableName": "rich",
                "AttributeDefinitions": definitions("pk", "sk", "colour", "weight", "mood"),
                "GlobalSecondaryIndexUpdates": [change],
            },
        )

    @rule()
    def reopen(self) -> None:
        if self.folder is not None:
            self.engine.close()
            self.engine = self._open()

    @rule()
    def crash(self) -> None:
        """What a killed process leaves behind is what is in its files at that moment."""
        if self.folder is not None:
            left = self.folder.with_name(str(int(self.folder.name) + 1))
            with self.engine._storage.turn():
                shutil.copytree(self.folder, left)
            self.engine.close()
            self.folder = left
            self.engine = self._open()

    # -- reads -----------------------------------------------------------------------------------------------

    def _pages(self, operation: str, request: dict[str, Any]) -> list[Item]:
        """All items of a read, page by page."""
        items: list[Item] = []
        start: dict[str, Any] = {}
        for _ in range(1000):
            page = self.engine.call(operation, {**request, **start})
            assert page["Count"] == len(page["Items"]) <= request.get("Limit", 1000)
            items.extend({name: decoded(value) for name, value in item.items()} for item in page["Items"])
            if "LastEvaluatedKey" not in page:
                return items
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        raise AssertionError("the pages do not come to an end")

    @rule(
        partition=st.tuples(st.sampled_from("abc"), colours, st.sampled_from(["calm", "cross"])),
        sort=ranges,
        prefix=st.sampled_from([None, "gr", "green"]),
        limit=st.integers(1, 4),
    )
    def query(self, partition: tuple[str, str, str], sort: Any, prefix: str | None, limit: int) -> None:
        self.engine.sweep()
        for name in (None, *self.model.indexes):
            for forward in (True, False):
                self._query(name, partition, sort, prefix, forward, limit)

    def _query(
        self,
        name: str | None,
        partition: tuple[str, str, str],
        sort: Any,
        prefix: str | None,
        forward: bool,
        limit: int,
    ) -> None:
        hash_name, sort_name = KEY_NAMES["rich"] if name is None else tuple(INDEXES[name])
        wanted = partition[("pk", "colour", "mood").index(hash_name)]
        condition, values, matches = key_range(sort_name, prefix if sort_name == "colour" else sort)
        request: dict[str, Any] = {
            "TableName": "rich",
            "KeyConditionExpression": f"{hash_name} = :h{condition}",
            "ExpressionAttributeValues": to_dynamo({":h": wanted, **values}),
            "ScanIndexForward": forward,
            "Limit": limit,
        }
        if name is not None:
            request["IndexName"] = name
        found = self._pages("Query", request)
        candidates = list(self.model.tables["rich"].values()) if name is None else self.model.entries(name)
        expected_items = [item for item in candidates if item[hash_name] == wanted and matches(item[sort_name])]
        assert by_key(found) == by_key(expected_items)
        order = [item[sort_name] for item in found]
        assert order == sorted(order, reverse=not forward)

    @rule(table=table_names, segments=st.integers(1, 5), limit=st.integers(1, 4))
    def scan_in_segments(self, table: str, segments: int, limit: int) -> None:
        found: list[Item] = []
        for segment in range(segments):
            request = {"TableName": table, "Segment": segment, "TotalSegments": segments, "Limit": limit}
            found += self._pages("Scan", request)
        assert by_key(found) == by_key(self.model.tables[table].values())

    @rule(name=st.sampled_from(list(INDEXES)), limit=st.integers(1, 4))
    def scan_index(self, name: str, limit: int) -> None:
        if name in self.model.indexes:
            self.engine.sweep()
            found = self._pages("Scan", {"TableName": "rich", "IndexName": name, "Limit": limit})
            assert by_key(found) == by_key(self.model.entries(name))

    @rule(limit=st.integers(1, 20))
    def read_stream(self, limit: int) -> None:
        told: dict[Key, list[Change]] = {}
        for record in self._records(limit):
            change = record["dynamodb"]
            old, new = from_dynamo(change.get("OldImage")), from_dynamo(change.get("NewImage"))
            key = tuple(decoded(change["Keys"][name]) for name in KEY_NAMES["rich"])
            assert record["eventName"] == ("INSERT" if old is None else "REMOVE" if new is None else "MODIFY")
            told.setdefault(key, []).append((old, new, "userIdentity" in record))
        assert told == self.model.history

    def _records(self, limit: int) -> Iterator[dict[str, Any]]:
        call = self.engine.call
        arn = call("DescribeTable", {"TableName": "rich"})["Table"]["LatestStreamArn"]
        for shard in call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
            request = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = call("GetShardIterator", request)["ShardIterator"]
            while iterator is not None:
                page = call("GetRecords", {"ShardIterator": iterator, "Limit": limit})
                yield from page["Records"]
                # An open shard never ends.
                iterator = page.get("NextShardIterator") if page["Records"] else None

    # -- always ----------------------------------------------------------------------------------------------

    @invariant()
    def both_hold_the_same_items(self) -> None:
        for table, items in self.model.tables.items():
            if table in self.engine.call("ListTables", {})["TableNames"]:
                assert by_key(self._pages("Scan", {"TableName": table})) == by_key(items.values())

    @invariant()
    def the_engine_proves_itself_whole(self) -> None:
        report = self.engine.verify()
        assert report.ok, report.problems


class expected:
    """The block raises exactly this error, or nothing; gives a list that holds what was raised."""

    def __init__(self, error: type[DynamoError] | None) -> None:
        self._error = error
        self._raised: list[DynamoError] = []

    def __enter__(self) -> list[DynamoError]:
        return self._raised

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if self._error is None:
            return False
        assert kind is not None, f"{self._error.__name__} was expected"
        if not isinstance(error, self._error):
            return False
        self._raised.append(error)
        return True


# -- the tests -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _backfill_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_backfill, "_CHUNK", 2)


def check(folder: Path | None, examples: int, steps: int) -> None:
    class Placed(Machine):
        def __init__(self) -> None:
            super().__init__(folder)

    run_state_machine_as_test(
        Placed,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_engine_in_memory_does_what_the_model_does() -> None:
    check(None, examples=30, steps=40)


def test_the_engine_on_disk_does_what_the_model_does(tmp_path: Path) -> None:
    check(tmp_path / "data", examples=20, steps=40)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_the_engine_does_what_the_model_does_for_long(where: str, tmp_path: Path) -> None:
    check(None if where == "memory" else tmp_path / "data", examples=600, steps=80)
