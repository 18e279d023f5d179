"""What roles and consumers need permission for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tablewright.design.design_loading import DesignError
from tablewright.design.iam.grants import Grant, Resource, Tenant
from tablewright.design.iam.read_grants import of_read, same_items
from tablewright.design.iam.write_grants import of_check, of_touch
from tablewright.model import Design, Get, Reaction, Schema, Table, schema_of

__all__ = ["all_grants", "consumer_grants", "grants"]


def grants(design: Design, role: str, tenant: Tenant | None = None) -> list[Grant]:
    """What a role needs, sorted; each action on a resource once for each reason."""
    if role not in design.roles:
        known = ", ".join(design.roles) or "none"
        raise DesignError(f"{design.name} has no role {role!r}; it has {known}")
    found: list[Grant] = []
    # Items that the role finds by an index: a write reads the item itself, as the index may lag behind.
    indirect = {
        owner.entity
        for owner, pattern in (design.patterns[name] for name in design.roles[role] if name in design.patterns)
        if isinstance(owner, Schema) and isinstance(pattern, Get) and pattern.index is not None
    }
    for name in design.roles[role]:
        if name in design.writes:
            write = design.writes[name]
            for item_write in write.item_writes:
                found += of_touch(write, item_write, tenant, item_write.entity in indirect)
            for entity in write.checks:
                found += of_check(name, schema_of(entity), tenant, entity in indirect)
        else:
            found += of_read(name, *design.patterns[name], tenant)
    if tenant is None:
        found += same_items(found)
    return _sorted(found)


def consumer_grants(design: Design, reaction: Reaction, checkpoints_in: Table | None = None) -> list[Grant]:
    """What it takes to read a table's stream, and to store checkpoints, in a table that may be of another design."""
    table = schema_of(reaction.entity).table
    if checkpoints_in is not None and (checkpoints_in.name == table.name or not can_have_checkpoints(checkpoints_in)):
        reason = "their stream" if checkpoints_in.name == table.name else "a key other than two parts of text"
        raise DesignError(
            f"{design.name}: checkpoints of consumers of {table.name} cannot be in {checkpoints_in.name}, which has "
            f"{reason}; name another table with --checkpoints"
        )
    place, checkpoints = Resource(table), Resource(checkpoints_in or checkpoint_table(design, reaction))
    found = [Grant("DescribeTable", place, "find the latest stream")]
    for action in ("DescribeStream", "GetShardIterator", "GetRecords"):
        found.append(Grant(action, Resource(table, stream=True), "read the stream"))
    for action, reason in (
        ("Query", "checkpoints"),
        ("GetItem", "checkpoints"),
        ("UpdateItem", "checkpoints and leases"),
        ("PutItem", "dead letters"),
        ("DeleteItem", "checkpoints of closed shards"),
    ):
        found.append(Grant(action, checkpoints, reason))
    return found


def all_grants(
    design: Design, checkpoints_in: Table | None = None, roles: Sequence[str] | None = None
) -> dict[str, list[Grant]]:
    """What every role and every consumer needs, by name; or some of them.

    A role of a reaction's name is that consumer's; the other reactions to a table are one consumer of it.
    """
    reactions = [reaction for reaction in design.reactions if reaction.source == "stream"]
    sources = {schema_of(reaction.entity).table.name for reaction in reactions}
    consumers: dict[str, list[Reaction]] = {}
    for reaction in reactions:
        name = "consumer" if len(sources) == 1 else f"consumer of {schema_of(reaction.entity).table.name}"
        consumers.setdefault(reaction.name if reaction.name in design.roles else name, []).append(reaction)
    known = [*dict.fromkeys([*design.roles, *consumers])]
    found: dict[str, list[Grant]] = {}
    for name in known if roles is None else roles:
        if name not in known:
            raise DesignError(f"{design.name} has no role {name!r}; it has {', '.join(known) or 'none'}")
        own = grants(design, name) if name in design.roles else []
        streams = [grant for each in consumers.get(name, ()) for grant in consumer_grants(design, each, checkpoints_in)]
        found[name] = _sorted([*own, *streams])
    return found


def checkpoint_table(design: Design, reaction: Reaction) -> Table:
    """Where a consumer stores its checkpoints: in the table that it writes to, or else in another one of the design.

    Not in the one whose stream it reads, as each checkpoint would be a change to be read.
    """
    own = schema_of(reaction.entity).table
    names = design.roles.get(reaction.name, ())
    written = [
        schema_of(item_write.entity).table
        for name in names
        if name in design.writes
        for item_write in design.writes[name].item_writes
    ]
    for table in (*written, *design.tables):
        if table is not own and can_have_checkpoints(table):
            return table
    raise DesignError(
        f"{design.name}: consumers of {own.name} need another table for their checkpoints, whose key has two parts "
        "of text; name it with --checkpoints, such as --checkpoints tablewright-internal"
    )


def can_have_checkpoints(table: Table) -> bool:
    """Whether checkpoints of consumers can be stored in a table: they need a text key of two parts."""
    return table.sort is not None and all(table.types.get(name, "S") == "S" for name in table.key)


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
