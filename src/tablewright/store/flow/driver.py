"""Flows: multi-step work as a generator, run by a thin driver.

A flow yields what it wants done (a ``Request`` to the service, ``Work`` beside it, or a ``Sleep``) and is sent the
response, or has the service's error thrown into it. It does no I/O itself, so one flow serves the synchronous and the
asynchronous store, and a test can run it step by step, or stop it between any two.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tablewright.store.errors import ServiceError

T = TypeVar("T")
Response = dict[str, Any]


# Not frozen, though no field is ever set anew: one is made for every call, and would take three times as long.
@dataclass(slots=True)
class Request:
    """One operation of DynamoDB, in its own JSON; ``pattern`` names the access pattern that it serves."""

    operation: str
    body: dict[str, Any]
    pattern: str = ""


@dataclass(slots=True)
class Work(Request):
    """A request that is not for the service, such as one to an object store; it blocks, and raises ServiceErrors."""

    perform: Callable[[], Response] = dict


@dataclass(slots=True)
class Sleep:
    seconds: float


Flow = Generator[Request | Sleep, Any, T]


class Backend(Protocol):
    """Something that answers DynamoDB's operations; refusals are raised as ServiceError."""

    def call(self, request: Request) -> Response: ...

    async def call_async(self, request: Request) -> Response: ...

    def close(self) -> None: ...


def run(flow: Flow[T], backend: Backend) -> T:
    """Run a flow to its end."""
    response: Response | None
    try:
        step = next(flow)
        while True:
            try:
                if isinstance(step, Sleep):
                    time.sleep(step.seconds)
                    response = None
                else:
                    response = step.perform() if isinstance(step, Work) else backend.call(step)
            except ServiceError as error:
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(flow: Flow[T], backend: Backend) -> T:
    """Run a flow to its end, without blocking the event loop."""
    response: Response | None
    try:
        step = next(flow)
        while True:
            try:
                if isinstance(step, Sleep):
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
