"""How requests are sent: again when the service is busy, not for ever, and metered."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tablewright.store.context import Context
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request, Response, Sleep, run
from tablewright.store.flow.retry import MAX_REQUEST_ATTEMPTS, backoff, is_transient, retrying

REQUEST = Request("GetItem", {"TableName": "t"}, "Call.by_id")


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
        run(retrying(Context(entropy=Hasty()), REQUEST), service)
    assert service.requests == MAX_REQUEST_ATTEMPTS


def test_the_wait_is_anything_up_to_a_ceiling_that_doubles_to_a_limit() -> None:
    context = Context(entropy=random.Random(1))
    for failures, ceiling in [(1, 0.05), (2, 0.1), (4, 0.4), (7, 3.2), (8, 5.0), (40, 5.0)]:
        waits = [backoff(context, failures).seconds for _ in range(400)]
        assert 0 <= min(waits) < 0.1 * ceiling
        assert 0.9 * ceiling < max(waits) <= ceiling


def test_capacity_is_asked_for_and_told_when_somebody_listens() -> None:
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
