"""The function of background work: a schedule calls it every few minutes, and each call is a turn."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from tablewright.runtime.start_up import starting

with starting():
    from tablewright.runtime.errors import ServiceUnavailable
    from tablewright.runtime.functions.function_process import process, variable
    from tablewright.runtime.system import Periodic

# Seconds before the end of a call in which the work is to stop: what it has begun is finished in them.
_TO_STOP = 30.0


@cache
def _work() -> Periodic:
    here, name = process(), variable("WORK")
    for each in here.system.background_work(here.runtime, here.service):
        if isinstance(each, Periodic) and each.name == name:
            return each
    raise ServiceUnavailable(
        f"{here.system.name} has no schedule {name}; run `tablewright deploy` again for this version"
    )


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Do the work that is due, until shortly before the call has to end."""
    end = time.monotonic() + max(0.0, context.get_remaining_time_in_millis() / 1000 - _TO_STOP)
    _work().turn(lambda: time.monotonic() >= end)
    return {}


with starting():
    _work()
