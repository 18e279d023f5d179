"""Flows: work of several requests as a generator, executed by a thin driver.

A flow yields its next step (a ``Request`` to the service, ``Work`` elsewhere, or a ``Sleep``) and is sent the response,
or has the service's error thrown into it. It does no I/O itself, so one flow serves the synchronous and the
asynchronous store, and a test can run it step by step, or stop it between any two. Steps that only an event loop can
do, such as to ``Begin`` a request and continue meanwhile, are a pause of no length for other drivers. So are flows to
be run ``Together``, by threads or on an event loop: a driver without support returns no results, and the flow runs them
one after the other.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from tablewright.model import ModelError
from tablewright.store.errors import DeadlineExceeded, ServiceError
from tablewright.store.gc_pause import resume_collection

T = TypeVar("T")
Response = dict[str, Any]


# Not frozen, though its fields never change: one is made for every call, and a frozen one takes three times as long.
@dataclass(slots=True)
class Request:
    """One operation of DynamoDB, with its JSON body; ``pattern`` names the access pattern that it serves.

    A backend may ignore ``deadline`` and ``hedge_after`` if it always responds at once.
    """

    operation: str
    body: dict[str, Any]
    pattern: str = ""
    # The deadline of the response, as a time of time.monotonic.
    deadline: float | None = None
    # Seconds after which a read that has no response yet is sent a second time.
    hedge_after: float | None = None
    # Its response to be, if it has been begun already.
    begun: asyncio.Future[Response] | None = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Work(Request):
    """A request to something other than the service, such as a blob store; it blocks, and raises ServiceError."""

    perform: Callable[[], Response] = dict


@dataclass(slots=True)
class Sleep:
    """A pause of a flow."""

    seconds: float


@dataclass(slots=True)
class Begin(Sleep):
    """A pause of no length, in which an event loop sends a request that the flow will yield later."""

    request: Request


Flow = Generator[Request | Sleep, Any, T]


@dataclass(frozen=True, slots=True)
class FlowResult(Generic[T]):
    """The outcome of one of several flows: its result, or its error."""

    result: T | None
    error: Exception | None = None

    def unwrap(self) -> T:
        """The result; the error is raised."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # There is no error, so there is a result.


@dataclass(slots=True)
class Together(Sleep):
    """A pause of no length, in which several flows are run, so many at a time; the step is sent their results."""

    flows: Sequence[Flow[Any]]
    concurrency: int


def together(flows: Sequence[Flow[T]], concurrency: int) -> Flow[list[FlowResult[T]]]:
    """Run flows, so many at a time; returns the result of each, in their order."""
    results: list[FlowResult[T]] | None = None
    if len(flows) > 1 and concurrency > 1:
        results = yield Together(0.0, flows, concurrency)
    if results is None:
        results = []
        for flow in flows:
            try:
                results.append(FlowResult((yield from flow)))
            except Exception as error:
                results.append(FlowResult(None, error))
    return results


class Backend(Protocol):
    """Where a store sends its requests: it responds to DynamoDB's operations, and raises errors as ServiceError.

    Implement it to put something between a store and its service, such as a meter or a fault injector.
    """

    def call(self, request: Request) -> Response:
        """The response to a request; blocks until it arrives."""

    async def call_async(self, request: Request) -> Response:
        """The response to a request, without blocking the event loop."""

    def close(self) -> None:
        """Release the engine or the connections."""


def relay(
    flow: Flow[T],
    *,
    on_sleep: Callable[[], Exception] | None = None,
    on_error: Callable[[ServiceError], None] = lambda _: None,
) -> Flow[T]:
    """The same flow, watched: it is sent an error where it would wait, and its service's errors are noted."""
    try:
        step = next(flow)
        while True:
            if on_sleep is not None and isinstance(step, Sleep) and step.seconds:
                step = flow.throw(on_sleep())
                continue
            try:
                response = yield step
            except ServiceError as error:
                on_error(error)
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration as end:
        result: T = end.value
        return result


# -- threads and asyncio: what differs between them is here, in pairs ------------------------------------------------


def run(flow: Flow[T], backend: Backend, seconds: float | None = None) -> T:
    """Run a flow to its end, within so many seconds."""
    if seconds is not None:
        flow = _bounded(flow, seconds)
    response: Any
    try:
        step = next(flow)
        while True:
            try:
                # By type, the commonest first: every call of a store gets here.
                if type(step) is Request:
                    response = backend.call(step)
                elif isinstance(step, Sleep):
                    time.sleep(step.seconds)
                    response = _run_all(step, backend) if isinstance(step, Together) else None
                else:
                    response = step.perform() if isinstance(step, Work) else backend.call(step)
            except ServiceError as error:
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration as end:
        result: T = end.value
        return result


def _run_all(step: Together, backend: Backend) -> list[FlowResult[Any]]:
    """The results of flows, which threads run."""

    def result(flow: Flow[Any]) -> FlowResult[Any]:
        try:
            return FlowResult(run(flow, backend))
        except Exception as error:
            return FlowResult(None, error)

    with ThreadPoolExecutor(min(step.concurrency, len(step.flows)), "tablewright-store") as threads:
        return list(threads.map(result, step.flows))


async def run_async(flow: Flow[T], backend: Backend, seconds: float | None = None) -> T:
    """Run a flow to its end, within so many seconds, without blocking the event loop."""
    if seconds is not None:
        flow = _bounded(flow, seconds)
    response: Any
    try:
        step = next(flow)
        while True:
            try:
                if type(step) is Request:
                    begun = step.begun
                    if begun is None:
                        response = await backend.call_async(step)
                    else:
                        step.begun = None
                        response = await begun
                elif isinstance(step, Together):
                    response = await _run_all_async(step, backend)
                elif isinstance(step, Sleep):
                    if isinstance(step, Begin):
                        begun = step.request.begun = asyncio.ensure_future(backend.call_async(step.request))
                        begun.add_done_callback(_noted)
                    await asyncio.sleep(step.seconds)
                    response = None
                elif isinstance(step, Work):
                    response = await asyncio.to_thread(step.perform)
                else:
                    response = await backend.call_async(step)
            except ServiceError as error:
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        resume_collection()


async def _run_all_async(step: Together, backend: Backend) -> list[FlowResult[Any]]:
    """The results of flows, which tasks run."""
    gate = asyncio.Semaphore(step.concurrency)

    async def result(flow: Flow[Any]) -> FlowResult[Any]:
        async with gate:
            try:
                return FlowResult(await run_async(flow, backend))
            except Exception as error:
                return FlowResult(None, error)

    return list(await asyncio.gather(*map(result, step.flows)))


def _noted(begun: asyncio.Future[Response]) -> None:
    """The response may no longer be awaited; then its error is not reported."""
    if not begun.cancelled():
        begun.exception()


def _bounded(flow: Flow[T], seconds: float, deadline: float | None = None) -> Flow[T]:
    """The same flow with a deadline: its requests have it, and it is sent an error instead of waiting or going on."""
    if deadline is None:
        deadline = time.monotonic() + seconds
    last: ServiceError | None = None
    try:
        step = next(flow)
        while True:
            wait = step.seconds if isinstance(step, Sleep) else 0.0
            if time.monotonic() + wait >= deadline:
                step = flow.throw(DeadlineExceeded(seconds, last))
                continue
            if isinstance(step, Request):
                step.deadline = deadline
            elif isinstance(step, Together):
                step.flows = [_bounded(each, seconds, deadline) for each in step.flows]
            try:
                response = yield step
            except ServiceError as error:
                last = error
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration as end:
        result: T = end.value
        return result


def call(work: Callable[[], T]) -> T:
    """The result of a function of the caller's."""
    result = work()
    if isinstance(result, Coroutine):
        result.close()
        raise ModelError("a Store does not await the function that it is given: use a plain function, or an AsyncStore")
    return result


async def call_async(work: Callable[[], Awaitable[T]]) -> T:
    """The result of an asynchronous function of the caller's."""
    result = work()
    if not isinstance(result, Awaitable):
        raise ModelError("an AsyncStore awaits the function that it is given: declare it with async def")
    return await result


def wait(event: threading.Event, seconds: float) -> None:
    """Wait for an event, so many seconds at most."""
    event.wait(seconds)


async def wait_async(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, so many seconds at most."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
