"""Changes of tables: their keys, settings and indexes."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.diff.change import Described, DesignChange, Impact
from tablewright.design.diff.design_snapshot import Snapshot
from tablewright.design.diff.entity_changes import entity_changes
from tablewright.design.diff.stranded_data import Entities

__all__ = ["table_changes"]


def table_changes(old: Snapshot, new: Snapshot) -> Iterator[DesignChange]:
    """Changes of tables, and of all that is in them."""
    before, after = old["tables"], new["tables"]
    streamed = {each["entity"] for each in old["reactions"].values() if each["source"] == "stream"}
    entities = Entities(
        *(
            {name: each for table in tables.values() for name, each in table["entities"].items()}
            for tables in (before, after)
        )
    )
    for name in {**before, **after}:
        if name not in after:
            yield DesignChange(
                Impact.UNSAFE,
                name,
                "table removed",
                ("back it up", "delete it when no running program uses it"),
            )
        elif name not in before:
            yield DesignChange(Impact.FREE, name, "table added", ("`store.ensure_tables` or the template creates it",))
        else:
            yield from _table(name, before[name], after[name], streamed, old["collections"], entities)


def _table(
    name: str, old: Described, new: Described, streamed: set[str], collections: Described, entities: Entities
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
                "the key of a table cannot be changed: create a new table under another name, and keep the old one in "
                "the design",
                "declare the entities of the old one as retired, with its table and their old keys: "
                "class OrderBefore(RetiredEntity, Order, table=old)",
                "deploy, then run `tablewright migrate`, which moves each item in a transaction",
                "delete the old table",
            ),
        )
    yield from _indexes(name, old, new, collections)
    yield from _settings(name, old, new, streamed)
    yield from entity_changes(name, old, new, entities)


def _key(table: Described) -> str:
    names = [table["partition"]] + ([table["sort"]] if table["sort"] is not None else [])
    return " and ".join(f"{name} ({table['types'][name]})" for name in names)


# Settings that protect a table, and what is lost without them.
_GUARDS = (
    (
        "encryption",
        "items are encrypted with an AWS owned key, which the account can neither revoke nor audit",
        "confirm that a customer managed key is no longer required",
    ),
    (
        "deletion_protection",
        "one request can delete the table with all its items",
        "keep it on, unless the table is about to be deleted; back it up first",
    ),
)


def _settings(name: str, old: Described, new: Described, streamed: set[str]) -> Iterator[DesignChange]:
    apply = "`store.ensure_tables` or the template turns it"
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
                f"time to live on {new['ttl']}, which {' and '.join(stored)} already have: items whose time has passed "
                "are deleted",
                ("check that items whose time has passed may be deleted", f"{apply} on"),
            )
        elif old["ttl"] is None:
            yield DesignChange(Impact.FREE, f"{name}.ttl", f"time to live on {new['ttl']}", (f"{apply} on",))
        elif new["ttl"] is None:
            yield DesignChange(
                Impact.FREE, f"{name}.ttl", "time to live removed: items are no longer deleted", ("disable it by hand",)
            )
        else:
            yield DesignChange(
                Impact.BACKFILL,
                f"{name}.ttl",
                f"time to live moves from {old['ttl']} to {new['ttl']}",
                (
                    "write both attributes, and copy the old one to the new one in all stored items",
                    "disable time to live, and enable it for the new attribute (at least an hour later)",
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
                    "another view type is another stream: stop the writers",
                    "let the consumers read the old one to its end",
                    "disable it, enable the new one, and start again",
                ),
            )
        else:
            yield DesignChange(Impact.FREE, f"{name}.stream", "stream removed", ("disable it by hand",))
    if old["point_in_time_recovery"] != new["point_in_time_recovery"]:
        if new["point_in_time_recovery"]:
            yield DesignChange(Impact.FREE, f"{name}.point_in_time_recovery", "enabled", (f"{apply} on",))
        else:
            yield DesignChange(
                Impact.UNSAFE,
                f"{name}.point_in_time_recovery",
                "disabled, which discards the recovery history",
                ("back the table up first",),
            )
    for member, loss, step in _GUARDS:
        if old[member] != new[member]:
            place = f"{name}.{member}"
            if new[member]:
                yield DesignChange(Impact.FREE, place, "enabled", (f"{apply} on",))
            else:
                yield DesignChange(Impact.UNSAFE, place, f"disabled: {loss}", (step,))
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
        yield DesignChange(Impact.FREE, place, f"{before} is no longer written; items are recognised by their keys")
    elif taken:
        yield DesignChange(
            Impact.BACKFILL,
            place,
            f"{after} becomes the type attribute, and has other values already, of {' and '.join(taken)}: such items "
            "are not recognised",
            (
                "choose an attribute that no item has; or",
                f"first set {after} of all items to their type names, with a version that does not use it otherwise",
            ),
        )
    elif before is not None:
        yield DesignChange(
            Impact.BACKFILL,
            place,
            f"the type attribute changes from {before} to {after}",
            ("deploy the new version, then run `store.repair(table, dry_run=False)`",),
        )
    else:
        yield DesignChange(
            Impact.FREE, place, f"{after} becomes the type attribute; items without it are recognised by their keys"
        )


# -- indexes --------------------------------------------------------------------------------------------------------


def _indexes(name: str, old: Described, new: Described, collections: Described) -> Iterator[DesignChange]:
    before, after = old["indexes"], new["indexes"]
    for index in {**before, **after}:
        place = f"{name}.{index}"
        if index not in after:
            users = _users(old, index, collections)
            grave = f", which {', '.join(users)} used" if users else ""
            yield DesignChange(
                Impact.UNSAFE if users else Impact.FREE,
                place,
                f"index removed{grave}",
                ("deploy the version that does not read it to all readers", "then delete the index"),
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
                "use a global index, or:",
                "create a new table with it, write to both, copy the items, and switch over",
            ),
        )
    return DesignChange(
        Impact.NEW_INDEX,
        place,
        f"index on {' and '.join([*index['partition'], *index['sort']])} added",
        (
            "deploy the writers of the new version, so that new items have its key attributes",
            "`store.ensure_tables` creates the index; DynamoDB backfills it, one index at a time",
            "run `store.repair(table, dry_run=False)`, which gives stored items the key attributes that they lack",
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
            f"local index: {'; '.join(what)}, which only a new table can have",
            ("create a new table with it, write to both, copy the items, and switch over",),
        )
        return
    yield DesignChange(
        Impact.NEW_INDEX,
        place,
        "; ".join(what),
        (
            "an index cannot be changed: add a new one under another name",
            "when it is active, deploy the readers that use the new one",
            "then delete the old index",
        ),
    )


def _projection(index: Described) -> str:
    if index["include"] is None:
        return "everything"
    return ", ".join(index["include"]) or "the keys"


def _users(table: Described, index: str, collections: Described) -> list[str]:
    """The access patterns that read an index, of entities and of collections."""
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
