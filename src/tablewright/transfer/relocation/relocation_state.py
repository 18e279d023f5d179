"""The description and the progress of a relocation, as stored in the target.

    copying ─▶ following ──cut──▶ reversing ──finish──▶ finished
                   ▲                 │
                   └──────back───────┘

In ``following`` the source is open, in ``reversing`` the target. ``finish`` ends it from any phase, and the tables stay
where they are open then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tablewright.dynamo import Item
from tablewright.transfer.places.table_definition import TableDefinition

__all__ = ["REQUESTS", "RelocationState"]

Phase = Literal["copying", "following", "reversing"]
# The steps that can be requested, and in which phases.
REQUESTS: Mapping[str, tuple[Phase, ...]] = {
    "cut": ("copying", "following"),
    "back": ("reversing",),
    "finish": ("copying", "following", "reversing"),
}


@dataclass(slots=True)
class RelocationState:
    """A relocation as it was last recorded."""

    phase: Phase
    source: str
    target: str
    # The tables as the source had them when it began.
    definitions: dict[str, TableDefinition]
    # The streams that are followed, by their tables; none until the point in time is known.
    streams: dict[str, str] = field(default_factory=dict)
    # Whether both places were compared since the tables last moved.
    verified: bool = False
    # The requested step, and the result of the one before.
    asked: str | None = None
    answer: dict[str, Any] | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    # Grows with every heartbeat of a process.
    beat: int = 0

    @property
    def tables(self) -> list[str]:
        return list(self.definitions)

    @property
    def open_place(self) -> str:
        """The place where the tables are used now."""
        return self.target if self.phase == "reversing" else self.source

    def item(self) -> Item:
        """The attributes written when it begins."""
        plan = {
            "source": self.source,
            "target": self.target,
            "definitions": {name: definition.as_json() for name, definition in self.definitions.items()},
        }
        return {"phase": {"S": self.phase}, "plan": {"S": json.dumps(plan)}, **self.changes()}

    def changes(self) -> Item:
        """The attributes that change while it runs."""
        return {
            "phase": {"S": self.phase},
            "streams": {"S": json.dumps(self.streams)},
            "verified": {"BOOL": self.verified},
            "progress": {"S": json.dumps(self.progress)},
            "beat": {"N": str(self.beat)},
        }

    @classmethod
    def of(cls, item: Item) -> RelocationState:
        plan = json.loads(item["plan"]["S"])
        return cls(
            item["phase"]["S"],
            plan["source"],
            plan["target"],
            {name: TableDefinition.from_json(each) for name, each in plan["definitions"].items()},
            json.loads(item["streams"]["S"]),
            item["verified"]["BOOL"],
            item.get("asked", {}).get("S"),
            json.loads(item["answer"]["S"]) if "answer" in item else None,
            json.loads(item["progress"]["S"]),
            int(item["beat"]["N"]),
        )

    def as_json(self) -> dict[str, Any]:
        """The output of ``status``."""
        return {
            "phase": self.phase,
            "source": self.source,
            "target": self.target,
            "open": self.open_place,
            "tables": self.tables,
            "verified": self.verified,
            "asked": self.asked,
            **self.progress,
        }
