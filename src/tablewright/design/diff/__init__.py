"""Changes between two versions of a design, their impact, and the migration steps of each.

    changes(old, new)           between two snapshots

Each change has an impact:

    free            stored data stays valid
    new index       DynamoDB has to backfill an index
    backfill        stored items have to be rewritten once, in place
    re-key          items get another primary key: they have to be moved
    unsafe          data may be lost, or running programs may break

The order of the steps matters: during a deployment both versions use the same table.

    design_snapshot   a design as JSON, to compare with
    value_types       the types of fields, as JSON
    change            DesignChange, Impact
    table_changes     tables, their settings and indexes
    entity_changes    entities and their keys
    shard_changes     another number of shards of an index key
    stranded_data     values and items that the new version would leave behind, and where they seem to be now
    retired_declarations  what to declare so that they are migrated
    key_rendering     keys that change because the type of a field does
    field_changes     fields, and what the store does with them
    type_changes      types of fields: which stored values are still read, and as what
    union_changes     values of one member of a union that are read as another
    limit_changes     tighter or looser limits of values
"""

from __future__ import annotations

from tablewright.design.diff.change import DesignChange, Impact, most_severe, named_changes
from tablewright.design.diff.design_snapshot import (
    EMPTY_SNAPSHOT,
    Snapshot,
    read_snapshots,
    snapshot,
    snapshot_text,
)
from tablewright.design.diff.table_changes import table_changes

__all__ = [
    "EMPTY_SNAPSHOT",
    "DesignChange",
    "Impact",
    "Snapshot",
    "changes",
    "most_severe",
    "read_snapshots",
    "snapshot",
    "snapshot_text",
]


def changes(old: Snapshot, new: Snapshot) -> list[DesignChange]:
    """All changes from one version to another, the most severe first."""
    found = list(table_changes(old, new))
    for member, place in (("collections", "collection"), ("writes", "write"), ("reactions", "reaction")):
        for name, what in named_changes(old[member], new[member]):
            found.append(DesignChange(Impact.FREE, f"{place} {name}", what))
    for name, what in named_changes(old["checks"], new["checks"]):
        if name in old["writes"] and name in new["writes"]:
            found.append(DesignChange(Impact.FREE, f"write {name}", f"checks {what}"))
    for name, what in named_changes(old["roles"], new["roles"]):
        step = "before the deployment, attach the new policy of the role (`tablewright iam`)"
        found.append(DesignChange(Impact.FREE, f"role {name}", what, (step,)))
    order = list(Impact)
    return sorted(found, key=lambda change: -order.index(change.impact))
