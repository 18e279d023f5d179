"""Events sent on to Amazon EventBridge, by a subscriber like any other.

The bus gets each event at least once, with its id in the detail (``eventId``), by which its consumers can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from tablewright.runtime.aws_clients import client, passing
from tablewright.runtime.events.event_log import Event, events_in
from tablewright.store import AnyChange, Effects, Handler, Unavailable

_AT_ONCE = 10
# Answers for one event that say that the event is wrong; after all others it is sent again.
_WRONG = frozenset({"InvalidArgument", "MalformedDetail"})


class EventRefused(Exception):
    """The bus will never take this event."""


def event_bridge(bus: str, region: str | None, endpoint: str | None = None) -> Handler:
    """A handler that puts events on a bus."""
    events = client("events", region, endpoint)

    def send(changes: Sequence[AnyChange], effects: Effects) -> None:
        found = events_in(changes)
        for start in range(0, len(found), _AT_ONCE):
            with passing("EventBridge"):
                answer = events.put_events(Entries=[_entry(event, bus) for event in found[start : start + _AT_ONCE]])
            codes = {entry["ErrorCode"] for entry in answer.get("Entries", []) if entry.get("ErrorCode")}
            if codes - _WRONG:
                raise Unavailable(f"EventBridge answered {', '.join(sorted(codes))}")
            if codes:
                # The consumer finds out which one it is by sending fewer at once, and puts it aside.
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
