"""How requests are sent: again when the service is busy, not for ever, and metered."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tablewright.store.context import Context
from tablewright.store.errors import OutcomeUnknown, ServiceError
from tablewright.store.flow.driver import Request, Response, Sleep, run
from tablewright.store.flow.retry import MAX_REQUEST_ATTEMPTS, backoff, is_transient, retrying

REQUEST = Request("GetItem", {"TableName": "t"}, "Call.by_id")
# Of no table, so that no send rate holds it back, which takes time.
TABLELESS = Request("ListTables", {})


def refused(code: str, *reasons: str) -> ServiceError:
    return ServiceError(
        code, "", {"CancellationReasons": [{"Code": reason} for reason in reasons]} if reasons else None
    )


@pytest.mark.parametrize(
    "error",
    [
        refused("ProvisionedThroughputExceededException"),
        refused("ThrottlingException"),
        refused("RequestLimitExceeded"),
        refused("InternalServerError"),
        refused("TransactionConflictException"),
        refused("TransactionCanceledException", "None", "TransactionConflict"),
        refused("TransactionCanceledException", "ThrottlingError", "TransactionConflict"),
    ],
    ids=str,
)
def test_a_passing_failure_is_tried_again_after_a_while(error: ServiceError) -> None:
    flow = retrying(Context(), REQUEST)
    assert next(flow) == REQUEST
    assert isinstance(flow.throw(error), Sleep)
    assert flow.send(None) == REQUEST
    with pytest.raises(StopIteration) as end:
        flow.send({"Item": {}})
    assert end.value.value == {"Item": {}}


@pytest.mark.parametrize(
    "error",
    [
        refused("ValidationException"),
        refused("ConditionalCheckFailedException"),
        refused("ResourceNotFoundException"),
        refused("TransactionCanceledException", "ConditionalCheckFailed", "TransactionConflict"),
        refused("TransactionCanceledException", "None"),
        refused("TransactionCanceledException"),
    ],
    ids=str,
)
def test_a_lasting_failure_is_not(error: ServiceError) -> None:
    assert not is_transient(error)
    flow = retrying(Context(), REQUEST)
    next(flow)
    with pytest.raises(ServiceError):
        flow.throw(error)


class Busy:
    """A service that refuses everything, with a client that does not wait."""

    def __init__(self) -> None:
        self.requests = 0

    def call(self, request: Request) -> Response:
        self.requests += 1
        raise refused("ThrottlingException")

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None:
        """There is nothing to close."""


class Hasty(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return a


@pytest.mark.requirement("SU17")
def test_there_is_an_end_to_trying() -> None:
    service = Busy()
    with pytest.raises(ServiceError, match="ThrottlingException"):
        run(retrying(Context(entropy=Hasty()), TABLELESS), service)
    assert service.requests == MAX_REQUEST_ATTEMPTS


def test_the_wait_is_anything_up_to_a_ceiling_that_doubles_to_a_limit() -> None:
    context = Context(entropy=random.Random(1))
    for failures, ceiling in [(1, 0.05), (2, 0.1), (4, 0.4), (7, 3.2), (8, 5.0), (40, 5.0)]:
        waits = [backoff(context, failures).seconds for _ in range(400)]
        assert 0 <= min(waits) < 0.1 * ceiling
        assert 0.9 * ceiling < max(waits) <= ceiling


def test_capacity_is_requested_and_reported_if_there_is_a_listener() -> None:
    told: list[tuple[str, str, Any]] = []
    context = Context(on_capacity=lambda pattern, operation, consumed: told.append((pattern, operation, consumed)))
    flow = retrying(context, REQUEST)
    request = next(flow)
    assert isinstance(request, Request)
    assert request.body == {"TableName": "t", "ReturnConsumedCapacity": "INDEXES"}
    assert REQUEST.body == {"TableName": "t"}
    with pytest.raises(StopIteration):
        flow.send({"ConsumedCapacity": {"CapacityUnits": 0.5}})
    assert told == [("Call.by_id", "GetItem", {"CapacityUnits": 0.5})]


def test_operations_that_consume_nothing_are_not_asked() -> None:
    context = Context(on_capacity=lambda *_: None)
    request = Request("DescribeTable", {"TableName": "t"})
    assert next(retrying(context, request)) == request


# -- writes whose response got lost -----------------------------------------------------------------------------------

LOST = [refused("ConnectionError"), refused("InternalServerError"), refused("502"), refused("DeadlineExceeded")]
UNDONE = [refused("NotConnected"), refused("ThrottlingException")]
WRITE = Request("UpdateItem", {"TableName": "t"})


@pytest.mark.parametrize("lost", LOST, ids=str)
def test_what_would_count_twice_is_not_sent_again_once_it_may_have_been_executed(lost: ServiceError) -> None:
    flow = retrying(Context(), WRITE, repeatable=False)
    next(flow)
    with pytest.raises(OutcomeUnknown, match="may or may not have been executed") as unknown:
        flow.throw(lost)
    assert unknown.value.code == lost.code


@pytest.mark.parametrize("error", UNDONE, ids=str)
def test_what_has_not_been_executed_is_sent_again_whatever_it_is(error: ServiceError) -> None:
    flow = retrying(Context(), WRITE, repeatable=False)
    next(flow)
    assert isinstance(flow.throw(error), Sleep)
    assert flow.send(None) == WRITE


@pytest.mark.parametrize("lost", LOST, ids=str)
def test_a_write_that_is_refused_after_its_response_got_lost_may_have_refused_itself(lost: ServiceError) -> None:
    flow = retrying(Context(), WRITE)
    next(flow)
    assert isinstance(flow.throw(lost), Sleep)
    assert flow.send(None) == WRITE
    # Even if it was throttled in between.
    assert isinstance(flow.throw(refused("ThrottlingException")), Sleep)
    assert flow.send(None) == WRITE
    with pytest.raises(OutcomeUnknown):
        flow.throw(refused("ConditionalCheckFailedException"))


def test_a_write_that_was_throttled_and_is_then_refused_is_refused() -> None:
    flow = retrying(Context(), WRITE)
    next(flow)
    flow.throw(refused("ThrottlingException"))
    flow.send(None)
    with pytest.raises(ServiceError, match="ConditionalCheckFailed") as found:
        flow.throw(refused("ConditionalCheckFailedException"))
    assert not isinstance(found.value, OutcomeUnknown)


# -- a service that fails ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("R11")
def test_a_service_that_keeps_failing_is_not_hammered() -> None:
    service, context = Busy(), Context(entropy=Hasty())
    for _ in range(200):
        with pytest.raises(ServiceError):
            run(retrying(context, TABLELESS), service)
    # A hundred retries, and then none.
    assert service.requests == 200 + 100


def test_successes_give_retries_back() -> None:
    service, context = Busy(), Context(entropy=Hasty())
    for _ in range(200):
        with pytest.raises(ServiceError):
            run(retrying(context, TABLELESS), service)
    before = service.requests
    for _ in range(10):
        flow = retrying(context, TABLELESS)
        next(flow)
        with pytest.raises(StopIteration):
            flow.send({})
    with pytest.raises(ServiceError):
        run(retrying(context, TABLELESS), service)
    assert service.requests == before + 1 + 2


def test_contention_between_writers_costs_no_budget() -> None:
    context = Context(entropy=Hasty())
    for _ in range(200):
        flow = retrying(context, WRITE)
        next(flow)
        assert isinstance(flow.throw(refused("TransactionConflictException")), Sleep)


def test_a_table_that_throttles_is_asked_less_and_others_are_not() -> None:
    context = Context()
    context.pacing.throttled(["t"])
    rate = context.pacing.rates["t"]
    rate._measured = 10.0
    context.pacing.throttled(["t"])
    waits = [context.pacing.wait(["t"]) for _ in range(20)]
    assert waits[-1] > 1.0
    assert context.pacing.wait(["other"]) == 0.0
    step = next(retrying(context, REQUEST))
    assert isinstance(step, Sleep)
    assert isinstance(next(retrying(context, Request("GetItem", {"TableName": "other"}))), Request)


def test_reads_are_hedged_by_choice_and_writes_never() -> None:
    context = Context(hedge_after=0.05)
    read, write = next(retrying(context, Request("GetItem", {"TableName": "t"}))), next(retrying(context, WRITE))
    assert isinstance(read, Request)
    assert isinstance(write, Request)
    assert (read.hedge_after, write.hedge_after) == (0.05, None)
