"""Flows, driven by a test instead of a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tablewright.store import ServiceError
from tablewright.store.flow.driver import Flow, Request, Response, Sleep

T = TypeVar("T")


class Stopped(Exception):
    """Raised instead of an answer, to leave a flow where it is."""


def drive(flow: Flow[T], answer: Callable[[Request], Response]) -> T:
    """Runs a flow to its end without ever waiting; a ServiceError that ``answer`` raises is an answer too."""
    try:
        step = next(flow)
        while True:
            if isinstance(step, Sleep):
                step = flow.send(None)
                continue
            try:
                response = answer(step)
            except ServiceError as error:
                step = flow.throw(error)
            else:
                step = flow.send(response)
    except StopIteration as end:
        result: T = end.value
        return result
