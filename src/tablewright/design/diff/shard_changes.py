"""Changes of the number of shards of an index key, and their migration steps.

Writes use the number of shards; reads use that number and ``was``. So a change is free as long as reads cover the
shards that items are in; otherwise stored items have to be moved.
"""

from __future__ import annotations

from dataclasses import dataclass

from tablewright.design.diff.change import Described, DesignChange, Impact

__all__ = ["Spread", "spread_of"]


@dataclass(frozen=True, slots=True)
class Spread:
    """A change of the number of shards, and nothing else."""

    shards: int
    was: int | None
    new_shards: int
    new_was: int | None

    def change(self, place: str, what: str, entity: str) -> DesignChange:
        repair, verify = f"`store.repair({entity}, dry_run=False)`", f"`store.verify({entity})`"
        # Items that may still be in the shards of an earlier number.
        settled = () if self.was in (None, self.new_shards, self.new_was) else (self._finish(repair, verify),)
        if self.shards == self.new_shards and self.new_was is None:
            return DesignChange(
                Impact.FREE, place, what, (f"first check with {verify} that no item is in an earlier shard",)
            )
        if self.shards == self.new_shards:
            kind = Impact.BACKFILL if settled else Impact.FREE
            return DesignChange(
                kind, place, what, (*settled, "deploy: writes stay as they are, reads use both numbers of shards")
            )
        spreading = (
            f"run {repair}, which moves the stored items while readers and writers continue",
            f"then remove `was={self.shards}`",
        )
        if self.new_was != self.shards:
            rule = f"`sharded(..., {self.new_shards}, was={self.shards})`"
            say = f"declare {rule}, and deploy: reads use both numbers of shards"
            return DesignChange(Impact.BACKFILL, place, what, (*settled, say, *spreading))
        rule = f"`sharded(..., {self.shards}, was={self.new_shards})`"
        first = (f"if old and new programs run at the same time, first deploy {rule} to all of them",)
        return DesignChange(
            Impact.BACKFILL,
            place,
            what,
            (
                *settled,
                *(first if self.was is None else ()),
                "deploy: writes use the new number of shards, reads use both",
                *spreading,
            ),
        )

    def _finish(self, repair: str, verify: str) -> str:
        return f"first finish the previous change, with the old version: run {repair} until {verify} is clean"


def spread_of(before: Described | None, after: Described | None) -> Spread | None:
    """The change of a key, if only its number of shards changes."""
    if before is None or after is None:
        return None
    plain = [{name: rule[name] for name in rule if name not in ("shards", "was", "parts")} for rule in (before, after)]
    if plain[0] != plain[1]:
        return None
    return Spread(before.get("shards", 1), before.get("was"), after.get("shards", 1), after.get("was"))
