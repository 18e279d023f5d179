"""The switch: an item in each of two places that says whether the place takes requests.

                    hold                move                       the other place
    open(epoch) ───────────▶ held(epoch) ────────▶ moved(epoch + 1) ─ ─ ─ ─ ─ ─ ─ ─▶ open(epoch + 1)
         ▲                       │
         └───────────────────────┘ a hold that is not ended in time is broken

Each step is a conditional write of one item, so it is made once, by any process. ``moved`` is the decision: from then
on the other place serves the tables, and the first process that finds it opens it. At no moment are both open.

Knowledge of the switch is good for the time of a lease, counted from before it was asked for, by the clock of the
process that asked. The process that holds a place waits for as long; after that, no process relies on the old state.
The clocks only have to run equally fast; they are never compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from tablewright.dynamo import Item
from tablewright.store.flow.driver import Request

# How long knowledge of a switch is good for, and how often it is read.
_LEASE_SECONDS: Final = 0.4
_POLL_SECONDS: Final = 0.08
# The same where there is no switch yet: a relocation waits for this once, when it has made one.
_FIRST_LEASE_SECONDS: Final = 2.0
_FIRST_POLL_SECONDS: Final = 0.4
# By how much clocks may differ in speed, and a little more.
_MARGIN: Final = 1.1
# A hold takes less than a second; after this, the process that holds the place must have died.
BROKEN_AFTER_SECONDS: Final = 4.0

State = Literal["open", "held", "moved", "standby"]


@dataclass(frozen=True, slots=True)
class PlaceSwitch:
    """The state of a place's switch; its methods build the requests for the next step.

    Updates are conditional: they are refused if another process has changed the switch since.
    """

    # The table that both places have the switch in, and its key there.
    TABLE: ClassVar[str] = "tablewright-relocation"
    KEY: ClassVar[Item] = {"id": {"S": "switch"}, "part": {"S": "switch"}}
    # How long to wait until every process knows that a place is held, and that there is a switch at all.
    HOLD_SECONDS: ClassVar[float] = _LEASE_SECONDS * _MARGIN
    FIRST_SECONDS: ClassVar[float] = _FIRST_LEASE_SECONDS * _MARGIN

    state: State
    # Counts how often the tables have moved, in both places together.
    epoch: int
    tables: frozenset[str] = frozenset()
    # Tells one hold from another.
    hold: str = ""
    # Whether there is a switch: a place that has none is open.
    exists: bool = True

    @classmethod
    def read(cls) -> Request:
        """The request that reads the switch of a place."""
        return Request("GetItem", {"TableName": cls.TABLE, "Key": cls.KEY, "ConsistentRead": True})

    @classmethod
    def of(cls, item: Item | None) -> PlaceSwitch:
        """What an item says; None if there is none."""
        if item is None:
            return cls("open", 0, exists=False)
        return cls(
            item["state"]["S"],
            int(item["epoch"]["N"]),
            frozenset(item.get("tables", {}).get("SS", ())),
            item.get("hold", {}).get("S", ""),
        )

    def item(self) -> Item:
        """The item that says this."""
        found: Item = {**self.KEY, "state": {"S": self.state}, "epoch": {"N": str(self.epoch)}}
        if self.tables:
            found["tables"] = {"SS": sorted(self.tables)}
        if self.hold:
            found["hold"] = {"S": self.hold}
        return found

    @property
    def lease(self) -> float:
        """How many seconds this state may be relied on."""
        return _LEASE_SECONDS if self.exists else _FIRST_LEASE_SECONDS

    @property
    def poll(self) -> float:
        """After how many seconds it is read again."""
        return _POLL_SECONDS if self.exists else _FIRST_POLL_SECONDS

    # -- steps ------------------------------------------------------------------------------------------------------

    def holding(self, hold: str) -> dict[str, Any]:
        """The update that holds a place that is open; a hold of another process is taken over."""
        return self._update("held", self.epoch, hold, "epoch = :e AND #s IN (:open, :held)", open="open", held="held")

    def moving(self) -> dict[str, Any]:
        """The update that ends this hold for good: from then on, the other place serves the tables."""
        condition = "epoch = :was AND #s = :held AND #h = :h"
        body = self._update("moved", self.epoch + 1, self.hold, condition, held="held")
        body["ExpressionAttributeValues"][":was"] = {"N": str(self.epoch)}
        return body

    def releasing(self) -> dict[str, Any]:
        """The update that cancels this hold and reopens the place."""
        return self._update("open", self.epoch, self.hold, "epoch = :e AND #s = :held AND #h = :h", held="held")

    @classmethod
    def opening(cls, epoch: int, tables: Iterable[str]) -> dict[str, Any]:
        """The update that opens the place that the tables have moved to; no effect on one that is already open."""
        body = cls._update("open", epoch, "", "attribute_not_exists(epoch) OR epoch < :e")
        body["UpdateExpression"] += ", tables = :t"
        body["ExpressionAttributeValues"][":t"] = {"SS": sorted(tables)}
        return body

    @classmethod
    def _update(cls, state: State, epoch: int, hold: str, condition: str, **states: str) -> dict[str, Any]:
        return {
            "TableName": cls.TABLE,
            "Key": cls.KEY,
            "UpdateExpression": "SET #s = :s, epoch = :e, #h = :h",
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {"#s": "state", "#h": "hold"},
            "ExpressionAttributeValues": {
                ":s": {"S": state},
                ":e": {"N": str(epoch)},
                ":h": {"S": hold},
                **{f":{name}": {"S": value} for name, value in states.items()},
            },
        }


def awake_seconds() -> float:
    """A clock that never goes back, and goes on while the machine is asleep where the system has such a one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
