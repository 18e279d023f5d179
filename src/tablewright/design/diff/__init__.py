"""What changes between two versions of a design, what each change takes, and in which steps it is made.

    changes(old, new)           of two snapshots; none between a design and itself

Each change is of one kind:

    free            stored data is right as it is
    new index       the service has to build an index
    backfill        stored items have to be gone over once, in place
    re-key          items get another primary key: they have to be moved
    unsafe          data can be lost, or what runs now can break

The order of the steps matters: while one version is replaced by the other, both are at work on the same table.

change      DesignChange, Impact
tables      tables, their settings and indexes
entities    entities and their keys
shards      another number of shards of an index key
rendering   keys that a field gives another value, since it is of another type
fields      fields, and what the store does with them
types       types of fields: which stored values are still read, and as what
unions      what is stored of one alternative of a union, and read as another
limits      bounds of values, tighter or looser
"""

from __future__ import annotations

from tablewright.design.diff.change import DesignChange, Impact, most_severe, named_changes
from tablewright.design.diff.snapshot import Snapshot
from tablewright.design.diff.table_changes import table_changes

__all__ = ["DesignChange", "Impact", "changes", "most_severe"]


def changes(old: Snapshot, new: Snapshot) -> list[DesignChange]:
    """All changes from one version to another, the most_severe first."""
    found = list(table_changes(old, new))
    for member, place in (("collections", "collection"), ("writes", "write"), ("reactions", "reaction")):
        for name, what in named_changes(old[member], new[member]):
            found.append(DesignChange(Impact.FREE, f"{place} {name}", what))
    for name, what in named_changes(old["checks"], new["checks"]):
        if name in old["writes"] and name in new["writes"]:
            found.append(DesignChange(Impact.FREE, f"write {name}", f"checks {what}"))
    for name, what in named_changes(old["roles"], new["roles"]):
        step = "attach the role's policy as `tablewright iam` prints it, before the new version needs it"
        found.append(DesignChange(Impact.FREE, f"role {name}", what, (step,)))
    order = list(Impact)
    return sorted(found, key=lambda change: -order.index(change.kind))
