"""The tables in which consumers store their checkpoints, as far as a design declares them."""

from __future__ import annotations

from tablewright.design.design_loading import DesignError
from tablewright.model import Design, Reaction, Table, schema_of

__all__ = ["can_have_checkpoints", "checkpoint_table"]


def checkpoint_table(design: Design, reaction: Reaction) -> Table:
    """Where a consumer stores its checkpoints: an internal table, the one that it writes to, or another of the design.

    Not in one whose stream is read, as each checkpoint would be a change to be read.
    """
    own = schema_of(reaction.entity).table
    names = [*design.roles.get(reaction.name, ()), *([reaction.write] if reaction.write is not None else [])]
    written = [
        schema_of(item_write.entity).table
        for name in names
        if name in design.writes
        for item_write in design.writes[name].item_writes
    ]
    internal = [table for table in design.internal_tables if table.stream is None]
    for table in (*internal, *written, *design.tables):
        if table is not own and can_have_checkpoints(table):
            return table
    raise DesignError(
        f"{design.name}: consumers of {own.name} need another table for their checkpoints, whose key has two parts "
        "of text; name it with --checkpoints, such as --checkpoints tablewright-internal"
    )


def can_have_checkpoints(table: Table) -> bool:
    """Whether checkpoints of consumers can be stored in a table: they need a text key of two parts."""
    return table.sort is not None and all(table.types.get(name, "S") == "S" for name in table.key)
