"""A subscriber that forwards events to Amazon EventBridge.

The bus gets each event at least once, with its id in the detail (``eventId``), so that consumers can recognise repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import orjson

from tablewright.runtime.aws_clients import client, transient
from tablewright.runtime.events.event_log import Event, events_in
from tablewright.store import AnyChange, Effects, Handler, Unavailable

# What other packages use.
__all__ = ["BRIDGE"]

# The name of the consumer that forwards events.
BRIDGE = "runtime.event-bridge"

_AT_ONCE = 10
# Error codes of an event that is invalid; after all others it would be sent again.
_WRONG = frozenset({"InvalidArgument", "MalformedDetail"})


class EventRefused(Exception):
    """The bus permanently rejects an event."""


def event_bridge(bus: str, region: str | None, endpoint: str | None = None) -> Handler:
    """A handler that puts events on a bus: for ``ConsumerSpec(..., events_table, event_bridge(bus, region))``."""
    # Made when there is something to send.
    events = cache(partial(client, "events", region, endpoint))

    def send(changes: Sequence[AnyChange], effects: Effects) -> None:
        found = events_in(changes)
        for start in range(0, len(found), _AT_ONCE):
            with transient("EventBridge"):
                response = events().put_events(
                    Entries=[_entry(event, bus) for event in found[start : start + _AT_ONCE]]
                )
            codes = {entry["ErrorCode"] for entry in response.get("Entries", []) if entry.get("ErrorCode")}
            if codes - _WRONG:
                raise Unavailable(f"EventBridge responded with {', '.join(sorted(codes))}")
            if codes:
                # The consumer bisects the batch until it has found that one, which becomes a dead letter.
                raise EventRefused(", ".join(sorted(codes)))

    return send


def _entry(event: Event, bus: str) -> dict[str, Any]:
    # Numbers with a fraction come from the table as Decimals.
    detail = orjson.dumps({"eventId": event.event_id, **event.detail}, default=float)
    return {
        "EventBusName": bus,
        "Source": f"tablewright.{event.source}",
        "DetailType": event.type,
        "Time": event.at,
        "Detail": detail.decode(),
    }
