"""Another number of shards of an index key: what a step takes, from one declaration to the next.

Writes go by the number of shards, reads look at the shards of that number and of ``was``. So a step is free as long as
reads look wherever items are, and stored items have to be moved where they do not, or are not to look for good.
"""

from __future__ import annotations

from dataclasses import dataclass

from tablewright.design.diff.change import Described, DesignChange, Impact

__all__ = ["Spread", "spread_of"]


@dataclass(frozen=True, slots=True)
class Spread:
    """A change of the number of shards, and of nothing else."""

    shards: int
    was: int | None
    new_shards: int
    new_was: int | None

    def change(self, place: str, what: str, entity: str) -> DesignChange:
        repair, verify = f"`store.repair({entity}, dry_run=False)`", f"`store.verify({entity})`"
        # Items that are still where they were before the last change of the number.
        settled = () if self.was in (None, self.new_shards, self.new_was) else (self._finish(repair, verify),)
        if self.shards == self.new_shards and self.new_was is None:
            return DesignChange(Impact.FREE, place, what, (f"{verify} finds no item in an earlier shard first",))
        if self.shards == self.new_shards:
            kind = Impact.BACKFILL if settled else Impact.FREE
            return DesignChange(
                kind, place, what, (*settled, "deploy: writes go as before, reads look at the shards of both")
            )
        spreading = (
            f"{repair} spreads the other items, while readers and writers go on",
            f"then drop `was={self.shards}`",
        )
        if self.new_was != self.shards:
            rule = f"`sharded(..., {self.new_shards}, was={self.shards})`"
            say = f"say {rule}, and deploy: reads look at the shards of both"
            return DesignChange(Impact.BACKFILL, place, what, (*settled, say, *spreading))
        rule = f"`sharded(..., {self.shards}, was={self.new_shards})`"
        first = (f"where old and new programs run side by side, deploy {rule} to all of them first",)
        return DesignChange(
            Impact.BACKFILL,
            place,
            what,
            (
                *settled,
                *(first if self.was is None else ()),
                "deploy: writes go by the new number of shards, reads look at the shards of both",
                *spreading,
            ),
        )

    def _finish(self, repair: str, verify: str) -> str:
        return f"first finish what is under way, with the old version: {repair}, until {verify} is clean"


def spread_of(before: Described | None, after: Described | None) -> Spread | None:
    """The change of a rule, where it is one of the shards only."""
    if before is None or after is None:
        return None
    plain = [{name: rule[name] for name in rule if name not in ("shards", "was", "parts")} for rule in (before, after)]
    if plain[0] != plain[1]:
        return None
    return Spread(before.get("shards", 1), before.get("was"), after.get("shards", 1), after.get("was"))
