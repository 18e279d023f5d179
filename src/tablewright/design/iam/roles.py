"""What roles and consumers are granted."""

from __future__ import annotations

from collections.abc import Iterable

from tablewright.design.iam.reads import of_read, same_items
from tablewright.design.iam.resources import Grant, Resource, Tenant
from tablewright.design.iam.writes import of_check, of_touch
from tablewright.design.loading import DesignError
from tablewright.model import Design, Reaction, Schema, Table, schema_of
from tablewright.model.patterns import Get

__all__ = ["all_grants", "consumer_grants", "grants"]


def grants(design: Design, role: str, tenant: Tenant | None = None) -> list[Grant]:
    """What a role needs, sorted; each action on a resource once for each reason."""
    if role not in design.roles:
        known = ", ".join(design.roles) or "none"
        raise DesignError(f"{design.name} has no role {role!r}; it has {known}")
    found: list[Grant] = []
    # Items that the role finds by an index: a write reads what the index leads to, as the index may lag behind.
    indirect = {
        owner.entity
        for owner, pattern in (design.patterns[name] for name in design.roles[role] if name in design.patterns)
        if isinstance(owner, Schema) and isinstance(pattern, Get) and pattern.index is not None
    }
    for name in design.roles[role]:
        if name in design.writes:
            write = design.writes[name]
            for touch in write.touches:
                found += of_touch(name, touch, tenant, touch.entity in indirect)
            for entity in write.checks:
                found += of_check(name, schema_of(entity), tenant, entity in indirect)
        else:
            found += of_read(name, *design.patterns[name], tenant)
    if tenant is None:
        found += same_items(found)
    return _sorted(found)


def consumer_grants(design: Design, reaction: Reaction, notes_in: Table | None = None) -> list[Grant]:
    """What it takes to read a table's stream, and to note how far one is, in a table that may be somebody else's."""
    table = schema_of(reaction.entity).table
    place, notes = Resource(table), Resource(notes_in or notes_table(design, reaction))
    found = [Grant("DescribeTable", place, "which stream is the latest")]
    for action in ("DescribeStream", "GetShardIterator", "GetRecords"):
        found.append(Grant(action, Resource(table, stream=True), "read the stream"))
    for action, reason in (
        ("Query", "checkpoints"),
        ("GetItem", "checkpoints"),
        ("UpdateItem", "checkpoints and leases"),
        ("PutItem", "dead letters"),
        ("DeleteItem", "checkpoints of shards that are gone"),
    ):
        found.append(Grant(action, notes, reason))
    return found


def all_grants(design: Design, notes_in: Table | None = None) -> dict[str, list[Grant]]:
    """What every role and every consumer needs, by name.

    A role of a reaction's name is that consumer's; the other reactions to a table are one consumer of it.
    """
    found = {role: grants(design, role) for role in design.roles}
    reactions = [reaction for reaction in design.reactions if reaction.source == "stream"]
    sources = {schema_of(reaction.entity).table.name for reaction in reactions}
    for reaction in reactions:
        name = "consumer" if len(sources) == 1 else f"consumer of {schema_of(reaction.entity).table.name}"
        name = reaction.name if reaction.name in design.roles else name
        found[name] = _sorted([*found.get(name, []), *consumer_grants(design, reaction, notes_in)])
    return found


def notes_table(design: Design, reaction: Reaction) -> Table:
    """The table that a consumer writes to, which is where it keeps its notes; else the one that it reads."""
    own = schema_of(reaction.entity).table
    names = design.roles.get(reaction.name, ())
    written = [
        schema_of(touch.entity).table
        for name in names
        if name in design.writes
        for touch in design.writes[name].touches
    ]
    for table in (*written, own, *design.tables):
        if table.sort is not None and all(table.types.get(name, "S") == "S" for name in table.key):
            return table
    raise DesignError(
        f"{design.name}: no table can have the notes of {reaction.name}: they need a text key of two parts"
    )


def _sorted(grants: Iterable[Grant]) -> list[Grant]:
    return sorted(
        dict.fromkeys(grants),
        key=lambda grant: (
            grant.resource.table.name,
            grant.resource.stream,
            grant.resource.index or "",
            grant.action,
            grant.reason,
        ),
    )
