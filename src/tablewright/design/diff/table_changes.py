"""Changes of tables: their keys, settings and indexes."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.diff.change import Described, DesignChange, Impact
from tablewright.design.diff.entity_changes import entity_changes
from tablewright.design.diff.snapshot import Snapshot

__all__ = ["table_changes"]


def table_changes(old: Snapshot, new: Snapshot) -> Iterator[DesignChange]:
    """Changes of tables, and of all that is in them."""
    before, after = old["tables"], new["tables"]
    streamed = {each["entity"] for each in old["reactions"].values() if each["source"] == "stream"}
    for name in {**before, **after}:
        if name not in after:
            yield DesignChange(
                Impact.UNSAFE,
                name,
                "table removed",
                ("keep a backup of it", "delete it once nothing that runs uses it any more"),
            )
        elif name not in before:
            yield DesignChange(Impact.FREE, name, "table added", ("`store.ensure_tables` or the template makes it",))
        else:
            yield from _table(name, before[name], after[name], streamed, old["collections"])


def _table(
    name: str, old: Described, new: Described, streamed: set[str], collections: Described
) -> Iterator[DesignChange]:
    rekeyed = (old["partition"], old["sort"]) != (new["partition"], new["sort"])
    for attribute in (old["partition"], old["sort"]):
        if attribute is not None and old["types"][attribute] != new["types"].get(attribute, old["types"][attribute]):
            rekeyed = True
    if rekeyed:
        yield DesignChange(
            Impact.RE_KEY,
            name,
            f"the primary key changes from {_key(old)} to {_key(new)}",
            (
                "a table keeps its key: make a new table under another name",
                "write to both, copy what is there from the old to the new",
                "read from the new one, then stop writing to the old one",
            ),
        )
    yield from _indexes(name, old, new, collections)
    yield from _settings(name, old, new, streamed)
    yield from entity_changes(name, old, new)


def _key(table: Described) -> str:
    names = [table["partition"]] + ([table["sort"]] if table["sort"] is not None else [])
    return " and ".join(f"{name} ({table['types'][name]})" for name in names)


# What a table loses with a setting that guards it.
_GUARDS = (
    (
        "encryption",
        "items are encrypted by a key that nobody in the account can withdraw, or sees the use of",
        "have it confirmed by whoever asked for a key of the account's own",
    ),
    (
        "deletion_protection",
        "one request deletes the table and all that is in it",
        "keep it on, unless the table is about to be deleted; keep a backup first",
    ),
)


def _settings(name: str, old: Described, new: Described, streamed: set[str]) -> Iterator[DesignChange]:
    apply = "`store.ensure_tables` or the template switches it"
    if old["ttl"] != new["ttl"]:
        stored = sorted(
            entity
            for entity, described in old["entities"].items()
            if any(field["attribute"] == new["ttl"] for field in described["fields"].values())
        )
        if old["ttl"] is None and stored:
            yield DesignChange(
                Impact.UNSAFE,
                f"{name}.ttl",
                f"time to live on {new['ttl']}, which {' and '.join(stored)} have already: items whose time has passed "
                "are deleted",
                ("look for items whose time has passed, and see that they may go", f"{apply} on"),
            )
        elif old["ttl"] is None:
            yield DesignChange(Impact.FREE, f"{name}.ttl", f"time to live on {new['ttl']}", (f"{apply} on",))
        elif new["ttl"] is None:
            yield DesignChange(
                Impact.FREE, f"{name}.ttl", "no time to live any more: items stay", ("switch it off by hand",)
            )
        else:
            yield DesignChange(
                Impact.BACKFILL,
                f"{name}.ttl",
                f"time to live moves from {old['ttl']} to {new['ttl']}",
                (
                    "write both attributes, and copy the old one to the new one in all items",
                    "switch time to live off, and on again for the new attribute (an hour later at the earliest)",
                ),
            )
    if old["stream"] != new["stream"]:
        read = sorted(entity for entity in old["entities"] if entity in streamed)
        if old["stream"] is None:
            yield DesignChange(Impact.FREE, f"{name}.stream", f"stream of {new['stream']}", (f"{apply} on",))
        elif read or new["stream"] is not None:
            who = f", which consumers of {', '.join(read)} read" if read else ""
            yield DesignChange(
                Impact.UNSAFE,
                f"{name}.stream",
                f"the stream changes from {old['stream']} to {new['stream'] or 'none'}{who}",
                (
                    "a stream of another kind is another stream: stop the writers",
                    "let the consumers read the old one to its end",
                    "switch it off and the new one on, and start again",
                ),
            )
        else:
            yield DesignChange(Impact.FREE, f"{name}.stream", "no stream any more", ("switch it off by hand",))
    if old["point_in_time_recovery"] != new["point_in_time_recovery"]:
        if new["point_in_time_recovery"]:
            yield DesignChange(Impact.FREE, f"{name}.point_in_time_recovery", "switched on", (f"{apply} on",))
        else:
            yield DesignChange(
                Impact.UNSAFE,
                f"{name}.point_in_time_recovery",
                "switched off, which throws the history away",
                ("keep a backup first",),
            )
    for member, loss, step in _GUARDS:
        if old[member] != new[member]:
            place = f"{name}.{member}"
            if new[member]:
                yield DesignChange(Impact.FREE, place, "switched on", (f"{apply} on",))
            else:
                yield DesignChange(Impact.UNSAFE, place, f"switched off: {loss}", (step,))
    if old["tags"] != new["tags"]:
        yield DesignChange(Impact.FREE, f"{name}.tags", "changed")
    yield from _type_attribute(f"{name}.type_attribute", old, new)


def _type_attribute(place: str, old: Described, new: Described) -> Iterator[DesignChange]:
    before, after = old["type_attribute"], new["type_attribute"]
    if before == after:
        return
    taken = [
        f"{entity}.{name}"
        for entity, described in old["entities"].items()
        for name, field in described["fields"].items()
        if field["attribute"] == after
    ]
    if after is None:
        yield DesignChange(Impact.FREE, place, f"{before} is no longer written; keys tell items apart")
    elif taken:
        yield DesignChange(
            Impact.BACKFILL,
            place,
            f"{after} tells items apart, and has other values so far, of {' and '.join(taken)}: such items are not "
            "recognised",
            (
                "choose an attribute that no item has; or",
                f"write the type names into {after} of all items first, with a version that does not use it otherwise",
            ),
        )
    elif before is not None:
        yield DesignChange(
            Impact.BACKFILL,
            place,
            f"the type of an item moves from {before} to {after}",
            ("deploy the new version, then `store.repair(table, dry_run=False)`",),
        )
    else:
        yield DesignChange(
            Impact.FREE, place, f"{after} tells items apart; those without it are told apart by their keys"
        )


# -- indexes --------------------------------------------------------------------------------------------------------


def _indexes(name: str, old: Described, new: Described, collections: Described) -> Iterator[DesignChange]:
    before, after = old["indexes"], new["indexes"]
    for index in {**before, **after}:
        place = f"{name}.{index}"
        if index not in after:
            users = _users(old, index, collections)
            grave = f", by which {', '.join(users)} read" if users else ""
            yield DesignChange(
                Impact.UNSAFE if users else Impact.FREE,
                place,
                f"index removed{grave}",
                ("deploy the version that does not read it, everywhere", "then delete the index"),
            )
        elif index not in before:
            yield _added_index(place, after[index])
        else:
            yield from _changed_index(place, before[index], after[index], old, new)


def _added_index(place: str, index: Described) -> DesignChange:
    if not index["global"]:
        return DesignChange(
            Impact.RE_KEY,
            place,
            "local index added, which only a new table can have",
            (
                "make it a global index, or:",
                "make a new table with it, write to both, copy, and switch over",
            ),
        )
    return DesignChange(
        Impact.NEW_INDEX,
        place,
        f"index on {' and '.join([*index['partition'], *index['sort']])} added",
        (
            "deploy the writers of the new version, so that new items have its key",
            "`store.ensure_tables` makes the index; the service fills it from what is stored, one index at a time",
            "`store.repair(table, dry_run=False)` gives older items the key attributes that they lack",
            "deploy the readers",
        ),
    )


def _changed_index(
    place: str, before: Described, after: Described, old: Described, new: Described
) -> Iterator[DesignChange]:
    key = [*before["partition"], *before["sort"]]
    same_types = all(old["types"].get(name) == new["types"].get(name) for name in key)
    what = []
    if (before["partition"], before["sort"], before["global"]) != (after["partition"], after["sort"], after["global"]):
        what.append(
            f"its key changes from {' and '.join(key)} to {' and '.join([*after['partition'], *after['sort']])}"
        )
    elif not same_types:
        what.append("the type of its key changes")
    if before["include"] != after["include"]:
        what.append(f"its projection changes from {_projection(before)} to {_projection(after)}")
    if not what:
        return
    if not (before["global"] and after["global"]):
        yield DesignChange(
            Impact.RE_KEY,
            place,
            f"local index: {'; '.join(what)}, for which the table has to be made anew",
            ("make a new table with it, write to both, copy, and switch over",),
        )
        return
    yield DesignChange(
        Impact.NEW_INDEX,
        place,
        "; ".join(what),
        (
            "an index cannot be changed: add it under another name",
            "when it is filled, deploy the readers of the new one",
            "then delete the old one",
        ),
    )


def _projection(index: Described) -> str:
    if index["include"] is None:
        return "everything"
    return ", ".join(index["include"]) or "the keys"


def _users(table: Described, index: str, collections: Described) -> list[str]:
    """The patterns that read by an index, of entities and of collections of them."""
    owners = {
        **table["entities"],
        **{name: each for name, each in collections.items() if set(each["members"]) <= table["entities"].keys()},
    }
    return [
        f"{owner}.{name}"
        for owner, described in owners.items()
        for name, pattern in described["patterns"].items()
        if pattern["index"] == index
    ]
