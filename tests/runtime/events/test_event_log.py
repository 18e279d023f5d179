"""Subscribers: those who say which events they want are shown no others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tablewright.runtime.events.event_log import Event, event_filter, events_in
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.store import AnyChange, Consumer, Effects, Put, Store

AT = datetime(2026, 11, 1, tzinfo=UTC)


def event(source: str, type_: str) -> Event:
    return Event(event_id=f"{source}-{type_}", source=source, type=type_, at=AT, sequence="0", detail={})


def test_a_subscriber_is_shown_the_events_of_its_source_and_types() -> None:
    with Store.open() as store:
        store.ensure_tables(events_table, internal_table)
        told = [event("tasks", "Made"), event("tasks", "Moved"), event("calls", "Moved"), event("tasks", "Closed")]
        for each in told:
            store.put(each)
        # Put again and taken away, which makes no event of it.
        store.transact(Put(told[1].model_copy(update={"detail": {"again": True}})))
        store.delete(told[3])
        shown: list[AnyChange] = []

        def subscriber(changes: Sequence[AnyChange], effects: Effects) -> None:
            shown.extend(changes)

        wanted = event_filter("tasks", ["Moved", "Closed"])
        consumer = Consumer(
            store, events_table, subscriber, name="subscriber", checkpoints=internal_table, change_filter=wanted
        )
        assert consumer.run_once().records == 6
        assert [each.event_id for each in events_in(shown)] == ["tasks-Moved", "tasks-Closed"]
        assert len(shown) == 3
