"""A call with a deadline ends by then, whatever it is waiting for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablewright.store.context import Context
from tablewright.store.errors import DeadlineExceeded, ServiceError
from tablewright.store.flow.driver import Flow, Request, Response, Sleep, run, run_async
from tablewright.store.flow.retry import is_undone, retrying

REQUEST = Request("GetItem", {"TableName": "t"})


class Failing:
    def __init__(self, code: str = "ServiceUnavailable") -> None:
        self.deadlines: list[float | None] = []
        self._code = code

    def call(self, request: Request) -> Response:
        self.deadlines.append(request.deadline)
        raise ServiceError(self._code, "not now")

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None:
        """There is nothing to close."""


Run = Callable[[Flow[Any], Any, float | None], Any]


@pytest.fixture(params=["threads", "asyncio"])
def run_flow(request: pytest.FixtureRequest) -> Iterator[Run]:
    if request.param == "threads":
        yield run
    else:
        yield lambda flow, backend, seconds: asyncio.run(run_async(flow, backend, seconds))


def test_retries_end_by_the_deadline(run_flow: Run) -> None:
    backend = Failing()
    before = time.monotonic()
    with pytest.raises(
        DeadlineExceeded, match=r"within 0.2 seconds; the last attempt ended with Serv.*: not now"
    ) as late:
        run_flow(retrying(Context(), REQUEST, 1000), backend, 0.2)
    assert time.monotonic() - before < 5
    assert late.value.seconds == 0.2
    assert not is_undone(late.value)
    # Each request knows by when there has to be a response.
    assert {each is not None and before < each < before + 5 for each in backend.deadlines} == {True}


def test_nothing_is_sent_after_the_deadline(run_flow: Run) -> None:
    def flow() -> Flow[str]:
        time.sleep(0.05)
        try:
            yield REQUEST
        except DeadlineExceeded:
            return "tidied up"
        return "sent"

    backend = Failing()
    assert run_flow(flow(), backend, 0.01) == "tidied up"
    assert backend.deadlines == []


def test_a_wait_that_would_end_too_late_is_not_begun(run_flow: Run) -> None:
    def flow() -> Flow[None]:
        yield Sleep(10.0)

    before = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        run_flow(flow(), Failing(), 0.5)
    assert time.monotonic() - before < 5


def test_without_a_deadline_there_is_none(run_flow: Run) -> None:
    backend = Failing("ValidationException")
    with pytest.raises(ServiceError, match="ValidationException"):
        run_flow(retrying(Context(), Request("GetItem", {"TableName": "t"})), backend, None)
    assert backend.deadlines == [None]
