"""The function of a consumer: Lambda reads the stream, tracks the position, and calls it with batches of records."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

from tablewright.runtime.start_up import starting

with starting():
    from tablewright.runtime.background.consumer_threads import ConsumerSpec
    from tablewright.runtime.errors import ServiceUnavailable
    from tablewright.runtime.events.event_bridge import BRIDGE, event_bridge
    from tablewright.runtime.functions.function_process import FunctionProcess, process, variable
    from tablewright.runtime.internal_tables import events_table
    from tablewright.store import Consumer

# Lambda gives a shard to one call at a time, so nothing competes for this lease.
_LEASE = timedelta(minutes=1)


@cache
def _consumer() -> Consumer:
    here = process()
    spec = _spec(here, variable("WORK"))
    return spec.consumer(here.runtime.consumer_store, spec.handler, _LEASE)


def _spec(here: FunctionProcess, name: str) -> ConsumerSpec:
    settings = here.runtime.settings
    if name == BRIDGE and settings.event_bus is not None:
        send = event_bridge(settings.event_bus, settings.region, settings.aws_endpoint)
        return ConsumerSpec(BRIDGE, events_table, send)
    for spec in here.system.consumers(here.runtime, here.service):
        if spec.name == name:
            return spec
    raise ServiceUnavailable(
        f"{here.system.name} has no consumer {name}; run `tablewright deploy` again for this version"
    )


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Handle a batch of records. A record that still fails after the retries becomes a dead letter of the consumer."""
    return _consumer().on_lambda(event, context, dead_letters=True)


with starting():
    _consumer()
