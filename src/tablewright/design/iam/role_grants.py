"""The permissions of roles, consumers and maintenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tablewright.design.checkpoint_tables import checkpoint_table
from tablewright.design.design_loading import DesignError
from tablewright.design.iam.grants import Grant, Resource, Tenant
from tablewright.design.iam.maintenance_grants import of_maintenance
from tablewright.design.iam.read_grants import of_read, same_items
from tablewright.design.iam.relocation_grants import of_relocation, of_switch
from tablewright.design.iam.stream_grants import of_checkpoints, of_delivery, of_stream
from tablewright.design.iam.write_grants import of_check, of_touch
from tablewright.model import Design, Get, Reaction, Schema, Table, schema_of

__all__ = ["MAINTENANCE", "RELOCATION", "all_grants", "call_grants", "consumer_grants", "consumers", "grants"]

MAINTENANCE = "maintenance"
"""The role that verifies, repairs, migrates, rebuilds and collects, and that finds and erases personal data."""
RELOCATION = "relocation"
"""The role that moves tables to another endpoint."""


def grants(design: Design, role: str, tenant: Tenant | None = None, *, switch_in: Table | None = None) -> list[Grant]:
    """What a role needs, sorted; each action on a resource once for each reason.

    A role that the design limits to a tenant is limited by that field, unless another tenant is given. With the table
    of a relocation's switch, it is what the role needs while its tables are relocated.
    """
    if role not in design.roles:
        known = ", ".join(design.roles) or "none"
        raise DesignError(f"{design.name} has no role {role!r}; it has {known}")
    if tenant is None and role in design.tenants:
        tenant = Tenant(design.tenants[role])
    found = [*_of_names(design, design.roles[role], tenant)]
    if tenant is None:
        found += same_items(found)
    if switch_in is not None:
        found += of_switch(switch_in, is_tenant=tenant is not None, reads_streams=False)
    return _sorted(found)


def call_grants(design: Design, name: str) -> list[Grant]:
    """The permissions for one pattern or one write, sorted."""
    return _sorted(_of_names(design, [name]))


def _of_names(design: Design, names: Sequence[str], tenant: Tenant | None = None) -> Iterator[Grant]:
    """The permissions for patterns and writes."""
    patterns = design.granted_patterns
    # Items that the role finds by an index: a write reads the item itself, as the index may lag behind.
    indirect = {
        owner.entity
        for owner, pattern in (patterns[name] for name in names if name in patterns)
        if isinstance(owner, Schema) and isinstance(pattern, Get) and pattern.index is not None
    }
    for name in names:
        if name in design.writes:
            write = design.writes[name]
            for item_write in write.item_writes:
                yield from of_touch(write, item_write, tenant, item_write.entity in indirect)
            for entity in write.checks:
                yield from of_check(name, schema_of(entity), tenant, entity in indirect)
            for read in dict.fromkeys(write.reads):
                yield from of_read(read, *patterns[read], tenant)
        else:
            yield from of_read(name, *patterns[name], tenant)


def consumer_grants(
    design: Design, reactions: Sequence[Reaction], checkpoints_in: Table | None = None, *, by_lambda: bool = False
) -> list[Grant]:
    """What a consumer needs: it reads a stream, makes its writes, and stores checkpoints.

    Those may be in a table of another design. With ``by_lambda``, Lambda reads the stream and keeps the place in it.
    """
    found: list[Grant] = []
    for reaction in reactions:
        table = schema_of(reaction.entity).table
        checkpoints = checkpoints_in or checkpoint_table(design, reaction)
        if by_lambda:
            found += of_delivery(design, table, checkpoints)
        else:
            found += of_stream(table)
            found += of_checkpoints(design, table, checkpoints)
        if reaction.write is not None:
            found += _of_names(design, [reaction.write])
        if reaction.effect == "export":
            found.append(
                Grant("Scan", Resource(table), f"{reaction.name}: the first export, which reads the whole table")
            )
    return _sorted(found)


def all_grants(
    design: Design,
    checkpoints_in: Table | None = None,
    roles: Sequence[str] | None = None,
    *,
    switch_in: Table | None = None,
) -> dict[str, list[Grant]]:
    """What every role and every consumer needs, by name; or some of them, of which maintenance may be one.

    A reaction belongs to the consumer that it names, or else to the one of its own name, if there is such a role; the
    other reactions to a table are one consumer of it. A role of a consumer's name is a part of its policy.

    With the table of a relocation's switch, it is what they need while the tables are relocated; the relocation role
    is one of them.
    """
    reading = consumers(design)
    own = [*dict.fromkeys([*design.roles, *reading])]
    known = [*dict.fromkeys([*own, MAINTENANCE, *([RELOCATION] if switch_in else [])])]
    found: dict[str, list[Grant]] = {}
    for name in own if roles is None else roles:
        if name not in known:
            raise DesignError(f"{design.name} has no role {name!r}; it has {', '.join(known) or 'none'}")
        needed = grants(design, name) if name in design.roles else []
        if name in reading:
            needed += consumer_grants(design, reading[name], checkpoints_in)
        if name == MAINTENANCE:
            needed += _maintenance(design, checkpoints_in)
        if switch_in is not None and name == RELOCATION:
            needed += of_relocation(design, switch_in)
        elif switch_in is not None:
            needed += of_switch(switch_in, is_tenant=name in design.tenants, reads_streams=_reads_streams(needed))
        found[name] = _sorted(needed)
    return found


def consumers(design: Design) -> dict[str, list[Reaction]]:
    """The reactions of each consumer, by its name: what they react to is in a stream."""
    reactions = [reaction for reaction in design.reactions if reaction.source == "stream"]
    sources = {schema_of(reaction.entity).table.name for reaction in reactions if reaction.consumer is None}
    found: dict[str, list[Reaction]] = {}
    for reaction in reactions:
        name = "consumer" if len(sources) == 1 else f"consumer of {schema_of(reaction.entity).table.name}"
        own = reaction.name if reaction.name in design.roles else name
        found.setdefault(reaction.consumer or own, []).append(reaction)
    return found


def _reads_streams(grants: Iterable[Grant]) -> bool:
    return any(grant.resource.stream for grant in grants)


def _maintenance(design: Design, checkpoints_in: Table | None) -> list[Grant]:
    found = [*of_maintenance(design)]
    for reaction in design.reactions:
        # A rebuild deletes what a consumer has written, and writes it again from the table.
        if reaction.effect == "count" and reaction.write is not None:
            found += consumer_grants(design, [reaction], checkpoints_in)
            for item_write in design.writes[reaction.write].item_writes:
                table = schema_of(item_write.entity).table
                found.append(Grant("Scan", Resource(table), f"rebuild: {item_write.entity.__name__} to be deleted"))
                found.append(Grant("DeleteItem", Resource(table), f"rebuild: {item_write.entity.__name__}"))
    return found


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
