"""States of devices, after AWS's device state log.

    python examples/designs/device_log.py

It shows a table whose key attributes have names of their own, one of which is composed; a sparse index of what has been
escalated; and the states of a device by kind, by time, or both.
"""

from typing import Annotated

from tablewright.model import (
    AcceptedFinding,
    AttributeName,
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Table,
    Write,
    attr,
    pascal_case,
    raw,
)
from tablewright.store import Store

log = Table(
    "DeviceStateLog",
    "DeviceID",
    "State#Date",
    indexes=[GlobalIndex("GSI1", "Operator", "Date"), GlobalIndex("GSI2", "EscalatedTo", "State#Date")],
)


class DeviceState(Entity, table=log, naming=pascal_case):
    device_id: Annotated[str, AttributeName("DeviceID")]
    state: str
    date: str
    operator: str
    escalated_to: str | None = None

    keys = Keys({"State#Date": raw("{state}#{date}")})

    @Get()
    def at(self, device_id: str, state: str, date: str) -> None:
        """A state of a device at a time."""

    @Query(newest_first=True)
    def of_device(
        self, device_id: str, state: str | None = None, *, since: str | None = None, until: str | None = None
    ) -> None:
        """1. The states of a device; 2. those of a kind, newest first, perhaps in a range of dates."""

    @Query("GSI1")
    def of_operator(self, operator: str, *, since: str | None = None, until: str | None = None) -> None:
        """3. The states of an operator's devices, in a range of dates."""

    @Query("GSI2")
    def escalated(self, escalated_to: str, state: str | None = None) -> None:
        """4. What has been escalated to a supervisor; 5. of a kind."""

    @Query("GSI1")
    def of_operator_and_device(self, operator: str, device_id: str, *, since: str | None = None) -> FieldCondition:
        """6. The states of an operator's device."""
        return attr(self.device_id) == device_id


design = Design(
    "Device log",
    tables=[log],
    writes=[
        Write("log", ItemWrite(DeviceState, "create")),
        Write("escalate", ItemWrite(DeviceState, "update", sets=[DeviceState.escalated_to])),
    ],
    accepted=[
        AcceptedFinding("text-time", "DeviceState.date", "the items that are there have it as text"),
    ],
)


def fill(store: Store) -> None:
    store.ensure_tables(log)
    for device, state, date, operator in [
        ("d#1", "WARNING1", "2026-04-24T14:40:00", "Liz"),
        ("d#1", "WARNING1", "2026-04-24T14:50:00", "Liz"),
        ("d#1", "NORMAL", "2026-04-24T14:55:00", "Liz"),
        ("d#2", "WARNING4", "2026-04-27T16:15:00", "Sue"),
        ("d#2", "WARNING4", "2026-04-27T16:10:00", "Liz"),
    ]:
        store.create(DeviceState(device_id=device, state=state, date=date, operator=operator))


def try_patterns(store: Store) -> None:
    assert len(store.query(DeviceState.of_device("d#1")).items) == 3
    warnings = store.query(DeviceState.of_device("d#1", "WARNING1", since="2026-04-24", until="2026-04-25")).items
    assert [each.date[-8:] for each in warnings] == ["14:50:00", "14:40:00"]
    assert len(store.query(DeviceState.of_operator("Liz", since="2026-04-24T14:50:00")).items) == 3
    assert len(store.query(DeviceState.of_operator_and_device("Liz", "d#2")).items) == 1
    assert store.query(DeviceState.escalated("Sara")).items == []
    one = store.get_or_raise(DeviceState.at("d#2", "WARNING4", "2026-04-27T16:15:00"))
    store.update(one, attr(DeviceState.escalated_to).set("Sara"))
    assert store.query(DeviceState.escalated("Sara")).items == [one]
    assert store.query(DeviceState.escalated("Sara", "WARNING4")).items == [one]


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of a device log")


if __name__ == "__main__":
    main()
