"""Stream records as typed changes, and reading them shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, ExpiresAt, Get, Keys, Table
from tablewright.store import NotFound, Store, Unreadable
from tablewright.store.context import Context
from tablewright.store.errors import RecordsLost, ServiceError
from tablewright.store.flow.driver import Flow, Request, Sleep
from tablewright.store.streams.change_records import (
    Change,
    ChangeKind,
    RawChange,
    Record,
    changes_in,
    changes_of,
)
from tablewright.store.streams.shard_reader import Shard, ShardReader, describe_stream
from tests.clocks import Clock
from tests.store import endpoints

NOW = datetime.fromtimestamp(1_763_000_000, UTC)

shop = Table("Shop", "PK", "SK", type_attribute="kind", ttl="ttl", stream="NEW_AND_OLD_IMAGES")


class Order(Entity, table=shop):
    order_id: str
    total: int
    ttl: ExpiresAt = None

    keys = Keys(PK="ORDER#{order_id}", SK="ORDER")

    @Get()
    def by_id(self, order_id: str) -> None: ...


class Customer(Entity, table=shop):
    email: str
    photo: bytes = b""

    keys = Keys(PK="CUSTOMER#{email}", SK="PROFILE")

    @Get()
    def by_email(self, email: str) -> None: ...


@pytest.fixture(params=endpoints.ENDPOINTS)
def store(request: pytest.FixtureRequest, engine: Engine, clock: Clock) -> Iterator[Store]:
    endpoints.expect_known_differences(request, request.param)
    with endpoints.started(request.param, engine) as backend:
        store = Store(backend, clock=clock)
        store.ensure_tables(shop)
        yield store


@pytest.fixture(params=endpoints.OURS)
def timed(request: pytest.FixtureRequest, engine: Engine, clock: Clock) -> Iterator[Store]:
    """A store on our own engine, whose time is the test's."""
    with endpoints.started(request.param, engine) as backend:
        store = Store(backend, clock=clock)
        store.ensure_tables(shop)
        yield store


def put(store: Store, *entities: Entity) -> None:
    for entity in entities:
        store.run_flow(_sent("PutItem", TableName="Shop", Item=entity.item()))


def remove(store: Store, entity: Entity) -> None:
    item = entity.item()
    store.run_flow(_sent("DeleteItem", TableName="Shop", Key={"PK": item["PK"], "SK": item["SK"]}))


def _sent(operation: str, **body: Any) -> Flow[None]:
    yield Request(operation, body)


def read(store: Store) -> list[Record]:
    stream = store.run_flow(describe_stream(store.context, shop))
    records: list[Record] = []
    for shard in stream.shards:
        reader = ShardReader(stream.arn, shard, None)
        store.run_flow(reader.fill(store.context, 1000))
        records += reader.pending
    return records


def test_a_change_has_the_entity_before_and_after(store: Store) -> None:
    first, second = Order(order_id="o-1", total=5), Order(order_id="o-1", total=7)
    put(store, first, second)
    remove(store, second)
    inserted, modified, removed = changes_in(shop, read(store))
    assert isinstance(inserted, Change)
    assert (inserted.kind, inserted.before, inserted.after) == (ChangeKind.INSERT, None, first)
    assert (modified.kind, modified.before, modified.after) == (ChangeKind.MODIFY, first, second)
    assert (removed.kind, removed.before, removed.after) == (ChangeKind.REMOVE, second, None)
    assert inserted.entity is Order
    assert inserted.sequence < modified.sequence < removed.sequence
    assert not removed.by_expiry


def test_a_change_says_when_it_was(timed: Store) -> None:
    put(timed, Order(order_id="o-1", total=5))
    (change,) = changes_in(shop, read(timed))
    assert change.at == NOW


def test_a_removal_by_expiry_is_marked(timed: Store, engine: Engine, clock: Clock) -> None:
    store = timed
    put(store, Order(order_id="o-1", total=5, ttl=NOW + timedelta(hours=1)))
    clock.now += 7200
    engine.sweep()
    _, expired = changes_of(Order, read(store))
    assert expired.kind is ChangeKind.REMOVE
    assert expired.by_expiry
    assert expired.before is not None
    assert expired.before.total == 5


def test_changes_of_one_entity_leave_the_others_out(store: Store) -> None:
    customer = Customer(email="a@b.example", photo=b"\x00\xff")
    put(store, Order(order_id="o-1", total=5), customer)
    (change,) = changes_of(Customer, read(store))
    assert change.after == customer


def test_items_of_other_writers_are_skipped_or_given_raw(store: Store) -> None:
    foreign = {"PK": {"S": "LOG#1"}, "SK": {"S": "x"}, "kind": {"S": "Log"}}
    store.run_flow(_sent("PutItem", TableName="Shop", Item=foreign))
    records = read(store)
    assert changes_in(shop, records) == []
    (raw,) = changes_in(shop, records, include_raw=True)
    assert isinstance(raw, RawChange)
    assert raw.after == foreign


def test_an_item_that_does_not_fit_its_entity_is_an_error_and_not_passed_over(store: Store) -> None:
    broken = {"PK": {"S": "ORDER#1"}, "SK": {"S": "ORDER"}, "kind": {"S": "Order"}, "total": {"S": "many"}}
    store.run_flow(_sent("PutItem", TableName="Shop", Item=broken))
    with pytest.raises(Unreadable, match=r"Order order_id 1 cannot be read: "):
        changes_in(shop, read(store))


def test_a_lambda_event_has_the_same_records() -> None:
    record = {
        "eventID": "1",
        "eventName": "REMOVE",
        "userIdentity": {"principalId": "dynamodb.amazonaws.com", "type": "Service"},
        "dynamodb": {
            "ApproximateCreationDateTime": NOW.timestamp(),
            "Keys": {"PK": {"S": "ORDER#o-1"}, "SK": {"S": "ORDER"}},
            "SequenceNumber": "111",
            "StreamViewType": "KEYS_ONLY",
        },
    }
    (change,) = changes_in(shop, [record])
    assert isinstance(change, Change)
    assert change.by_expiry
    assert (change.entity, change.before, change.after, change.at) == (Order, None, None, NOW)


def test_shards_are_in_order_parents_first_and_read_to_their_end(timed: Store, engine: Engine, clock: Clock) -> None:
    store = timed
    for total in range(3):
        put(store, Order(order_id="o-1", total=total))
        clock.now += 5 * 3600
        engine.sweep()
    stream = store.run_flow(describe_stream(store.context, shop))
    assert len(stream.shards) > 1
    for parent, child in zip(stream.shards, stream.shards[1:], strict=False):
        assert child.parent == parent.id
        assert parent.closed
    totals = [change.after.total for change in changes_of(Order, read(store)) if change.after is not None]
    assert totals == [0, 1, 2]


def test_a_table_without_a_stream_says_so(store: Store) -> None:
    plain = Table("Plain", "PK")
    store.ensure_tables(plain)
    with pytest.raises(NotFound, match="the stream of table Plain"):
        store.run_flow(describe_stream(store.context, plain))


def test_a_reader_whose_place_was_trimmed_says_that_records_are_lost() -> None:
    reader = ShardReader("arn", Shard("s-1", None, closed=False), "100")
    flow = reader.fill(Context(), 10)
    asked = next(flow)
    assert isinstance(asked, Request)
    assert asked.body["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER"
    with pytest.raises(RecordsLost, match="s-1"):
        flow.throw(ServiceError("TrimmedDataAccessException", ""))


def test_an_iterator_that_expired_is_replaced_at_the_same_place() -> None:
    reader = ShardReader("arn", Shard("s-1", None, closed=False), None)
    flow = reader.fill(Context(), 10)
    steps: list[Request | Sleep] = [next(flow)]
    steps.append(flow.send({"ShardIterator": "first"}))
    steps.append(flow.send({"Records": [{"dynamodb": {"SequenceNumber": "7"}}], "NextShardIterator": "second"}))
    steps.append(flow.throw(ServiceError("ExpiredIteratorException", "")))
    again = steps[-1]
    assert isinstance(again, Request)
    assert again.operation == "GetShardIterator"
    assert again.body["SequenceNumber"] == "7"


def test_a_closed_shard_that_never_ends_is_left_for_now() -> None:
    reader = ShardReader("arn", Shard("s-1", None, closed=True), None)
    flow = reader.read(Context())
    next(flow)
    flow.send({"ShardIterator": "first"})
    for _ in range(99):
        flow.send({"Records": [], "NextShardIterator": "again"})
    with pytest.raises(StopIteration, match="False"):
        flow.send({"Records": [], "NextShardIterator": "again"})
    assert not reader.ended
