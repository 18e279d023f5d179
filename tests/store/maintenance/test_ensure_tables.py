"""Tables made from the model, and compared with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.model import GlobalIndex, LocalIndex, Table
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.context import Context
from tablewright.store.errors import NotReady, ServiceError, TableMismatch
from tablewright.store.flow.driver import Backend, Flow, Request, Sleep, run
from tablewright.store.maintenance.ensure_tables import ensure_tables
from tablewright.store.maintenance.table_differences import Aspect, Difference, Resolution
from tests.store import endpoints


@pytest.fixture(params=endpoints.ENDPOINTS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    endpoints.expect_known_differences(request, request.param)
    with Engine.open() as engine, endpoints.started(request.param, engine) as backend:
        yield backend


def plain(**settings: Any) -> Table:
    return Table("Orders", "PK", "SK", **settings)


def full() -> Table:
    return plain(
        indexes=[
            GlobalIndex("byStatus", "GSI1PK", "GSI1SK"),
            GlobalIndex("byDay", "GSI2PK", include=["total"]),
            LocalIndex("byTotal", "total"),
        ],
        types={"total": "N"},
        ttl="expires",
        stream="NEW_AND_OLD_IMAGES",
        deletion_protection=True,
        tags={"Project": "shop", "Environment": "test"},
    )


def ensured(backend: Backend, *tables: Table, dry_run: bool = False) -> list[Difference]:
    return run(ensure_tables(Context(), tables, dry_run=dry_run), backend)


def told(differences: list[Difference]) -> set[tuple[Aspect, str, Resolution]]:
    return {(difference.aspect, difference.name, difference.resolution) for difference in differences}


def description(backend: Backend, name: str = "Orders") -> dict[str, Any]:
    table: dict[str, Any] = backend.call(Request("DescribeTable", {"TableName": name}))["Table"]
    return table


def test_a_missing_table_is_created_with_everything_that_the_model_says(backend: Backend) -> None:
    assert told(ensured(backend, full())) == {
        (Aspect.TABLE, "", Resolution.APPLIED),
        (Aspect.TIME_TO_LIVE, "", Resolution.APPLIED),
    }
    made = description(backend)
    assert made["TableStatus"] == "ACTIVE"
    assert made["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert {index["IndexName"] for index in made["GlobalSecondaryIndexes"]} == {"byStatus", "byDay"}
    ttl = backend.call(Request("DescribeTimeToLive", {"TableName": "Orders"}))["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


def test_a_second_time_there_is_nothing_to_do(backend: Backend) -> None:
    ensured(backend, full())
    before = description(backend)
    assert ensured(backend, full()) == []
    assert description(backend) == before


def test_a_dry_run_tells_and_changes_nothing(backend: Backend) -> None:
    assert told(ensured(backend, full(), dry_run=True)) == {(Aspect.TABLE, "", Resolution.PLANNED)}
    assert backend.call(Request("ListTables", {}))["TableNames"] == []
    ensured(backend, plain())
    planned = told(ensured(backend, full(), dry_run=True))
    assert (Aspect.INDEX, "byStatus", Resolution.PLANNED) in planned
    assert (Aspect.INDEX, "byTotal", Resolution.REFUSED) in planned
    assert not description(backend).get("GlobalSecondaryIndexes")


def test_what_only_adds_is_applied_one_index_at_a_time(backend: Backend) -> None:
    ensured(backend, plain())
    key = {"PK": {"S": "a"}, "SK": {"S": "b"}}
    backend.call(
        Request("PutItem", {"TableName": "Orders", "Item": {**key, "GSI1PK": {"S": "x"}, "GSI1SK": {"S": "y"}}})
    )
    grown = plain(
        indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK"), GlobalIndex("byDay", "GSI2PK")],
        ttl="expires",
        stream="NEW_IMAGE",
        deletion_protection=True,
        tags={"Project": "shop"},
    )
    assert told(ensured(backend, grown)) == {
        (Aspect.INDEX, "byStatus", Resolution.APPLIED),
        (Aspect.INDEX, "byDay", Resolution.APPLIED),
        (Aspect.STREAM, "", Resolution.APPLIED),
        (Aspect.PROTECTION, "", Resolution.APPLIED),
        (Aspect.TIME_TO_LIVE, "", Resolution.APPLIED),
        (Aspect.TAG, "Project", Resolution.APPLIED),
    }
    assert ensured(backend, grown) == []
    assert {index["IndexStatus"] for index in description(backend)["GlobalSecondaryIndexes"]} == {"ACTIVE"}


def test_recovery_is_switched_on_where_the_endpoint_has_it(backend: Backend) -> None:
    wanted = plain(encryption=True, point_in_time_recovery=True)
    done = {difference.aspect: difference.resolution for difference in ensured(backend, wanted)}
    assert done[Aspect.RECOVERY] in (Resolution.APPLIED, Resolution.UNSUPPORTED)
    again = {difference.aspect for difference in ensured(backend, wanted)}
    assert again == {aspect for aspect, resolution in done.items() if resolution is Resolution.UNSUPPORTED}


@pytest.mark.requirement("X7")
def test_recovery_is_switched_on_in_the_embedded_engine() -> None:
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        ensured(backend, plain())
        wanted = plain(point_in_time_recovery=True)
        assert told(ensured(backend, wanted)) == {(Aspect.RECOVERY, "", Resolution.APPLIED)}
        assert ensured(backend, wanted) == []


def test_encryption_is_switched_on_later_too() -> None:
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        ensured(backend, plain())
        assert told(ensured(backend, plain(encryption=True))) == {(Aspect.ENCRYPTION, "", Resolution.APPLIED)}
        assert ensured(backend, plain(encryption=True)) == []


def test_a_changed_tag_is_set_and_others_are_left_alone(backend: Backend) -> None:
    ensured(backend, plain(tags={"Project": "shop", "Owner": "anna"}))
    (difference,) = ensured(backend, plain(tags={"Project": "store"}))
    assert (difference.name, difference.expected, difference.found) == ("Project", "store", "shop")
    tags = backend.call(Request("ListTagsOfResource", {"ResourceArn": description(backend)["TableArn"]}))["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"Project": "store", "Owner": "anna"}


@pytest.mark.parametrize(
    ("other", "aspect", "name"),
    [
        (Table("Orders", "PK"), Aspect.KEY, ""),
        (plain(types={"SK": "N"}), Aspect.ATTRIBUTE_TYPE, "SK"),
        (plain(indexes=[GlobalIndex("byStatus", "GSI1PK")]), Aspect.INDEX_KEY, "byStatus"),
        (plain(indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK", include=[])]), Aspect.PROJECTION, "byStatus"),
        (plain(indexes=[LocalIndex("byTotal", "total")]), Aspect.INDEX, "byTotal"),
        (plain(ttl="other"), Aspect.TIME_TO_LIVE, ""),
        (plain(stream="KEYS_ONLY"), Aspect.STREAM, ""),
    ],
)
def test_what_would_take_away_is_refused_before_anything_is_changed(other: Table, aspect: Aspect, name: str) -> None:
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        settings = {"ttl": "expires", "stream": "NEW_IMAGE"}
        ensured(backend, plain(indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK")], **settings))
        with pytest.raises(TableMismatch) as refusal:
            ensured(backend, Table("Another", "PK"), other)
        assert (aspect, name, Resolution.REFUSED) in told(list(refusal.value.differences))
        assert backend.call(Request("ListTables", {}))["TableNames"] == ["Orders"]


def test_what_exists_beyond_the_model_is_reported_and_left() -> None:
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        ensured(backend, plain(indexes=[GlobalIndex("old", "GSI1PK")], ttl="expires", stream="NEW_IMAGE"))
        left = ensured(backend, plain())
        assert told(left) == {
            (Aspect.INDEX, "old", Resolution.LEFT),
            (Aspect.STREAM, "", Resolution.LEFT),
            (Aspect.TIME_TO_LIVE, "", Resolution.LEFT),
        }
        assert str(left[0]) == "Orders: index old: none expected, GSI1PK found (left)"


def test_what_the_endpoint_lacks_is_reported_and_not_fatal() -> None:
    def backend_call(step: Request | Sleep) -> Any:
        assert isinstance(step, Request)
        if step.operation in ("DescribeContinuousBackups", "ListTagsOfResource"):
            raise ServiceError("UnknownOperationException", "")
        if "SSESpecification" in step.body:
            raise ServiceError("ValidationException", "Nothing to update")  # as DynamoDB Local does
        return engine.call(step.operation, step.body)

    class Old:
        def call(self, request: Request) -> Any:
            return backend_call(request)

        async def call_async(self, request: Request) -> Any:
            return backend_call(request)

        def close(self) -> None: ...

    with Engine.open() as engine:
        ensured(EmbeddedBackend(engine, owned=False), plain())
        missing = ensured(Old(), plain(encryption=True, point_in_time_recovery=True, tags={"a": "b"}))
        assert told(missing) == {
            (Aspect.ENCRYPTION, "", Resolution.UNSUPPORTED),
            (Aspect.RECOVERY, "", Resolution.UNSUPPORTED),
            (Aspect.TAG, "", Resolution.UNSUPPORTED),
        }


def test_tables_go_by_the_names_that_the_store_gives_them() -> None:
    with Engine.open() as engine:
        context = Context(table_names={"Orders": "staging-Orders"})
        run(ensure_tables(context, [plain()]), EmbeddedBackend(engine, owned=False))
        assert engine.call("ListTables", {})["TableNames"] == ["staging-Orders"]


def test_a_table_is_waited_for_and_not_for_ever() -> None:
    flow = ensure_tables(Context(), [plain()], wait=0.2)
    key = [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}]
    creating = {"Table": {"TableStatus": "CREATING", "KeySchema": key, "AttributeDefinitions": []}}
    slept: list[float] = []

    def wait_for_it() -> None:
        step = next(flow)
        while True:
            if isinstance(step, Sleep):
                slept.append(step.seconds)
                step = flow.send(None)
            else:
                assert step.operation == "DescribeTable"
                step = flow.send(creating)

    with pytest.raises(NotReady, match="Orders"):
        wait_for_it()
    assert sum(slept) == pytest.approx(0.2)


def interleaved(flow: Flow[list[Difference]], before: int, other: Callable[[], object]) -> Flow[list[Difference]]:
    """A flow, with something done by somebody else before one of its requests."""
    asked, answer, error = 0, None, None
    while True:
        try:
            step = flow.send(answer) if error is None else flow.throw(error)
        except StopIteration as end:
            return list(end.value)
        if not isinstance(step, Sleep):
            if asked == before:
                other()
            asked += 1
        answer, error = None, None
        try:
            answer = yield step
        except ServiceError as raised:
            error = raised


@pytest.mark.requirement("SH8")
@pytest.mark.parametrize("before", range(24))
@pytest.mark.parametrize("is_there", [False, True])
def test_two_processes_that_begin_at_once_both_succeed_in_any_interleaving(is_there: bool, before: int) -> None:
    wanted = plain(
        indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK"), GlobalIndex("byDay", "GSI2PK", include=["total"])],
        ttl="expires",
        stream="NEW_AND_OLD_IMAGES",
        point_in_time_recovery=True,
        deletion_protection=True,
        tags={"Project": "shop"},
    )
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        if is_there:
            ensured(backend, plain())
        first = ensure_tables(Context(), [wanted])
        differences = run(interleaved(first, before, lambda: ensured(backend, wanted)), backend)
        assert {difference.resolution for difference in differences} <= {Resolution.APPLIED}
        assert ensured(backend, wanted) == []


@pytest.mark.requirement("SH8")
def test_a_faster_process_with_another_design_is_not_taken_for_one_of_this() -> None:
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        ensured(backend, plain())
        wanted = plain(indexes=[GlobalIndex("byDay", "GSI2PK", include=["total"])])
        other = plain(indexes=[GlobalIndex("byDay", "GSI2PK")])
        updates = 4
        with pytest.raises(TableMismatch, match="byDay"):
            run(interleaved(ensure_tables(Context(), [wanted]), updates, lambda: ensured(backend, other)), backend)
