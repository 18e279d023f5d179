"""Arguments of another kind than a call takes: a pattern that was not called, a class for an entity, a table's name.

A type checker sees them too; this is for those who have none, and names what is taken instead.
"""

from __future__ import annotations

from typing import Any

from tablewright.model import CollectionSelection, Entity, Lookup, ModelError, Selection, Table

A_GET = "what a Get pattern gives, such as Call.by_id(call_id=...)"
A_QUERY = "what a Query pattern gives, such as Call.of_user(user_id=...)"
A_COLLECTION_QUERY = "what a CollectionQuery pattern gives, such as Case.of_ticket(ticket_id=...)"
AN_ENTITY = "an entity, such as Call(call_id=...)"
A_TARGET = f"an entity, or {A_GET}"
OPERATIONS = "operations, such as Create(call) or Update(call, ...)"
TABLES = "tables"
A_CLASS = "the class of an entity"
A_SCOPE = f"a table, or {A_CLASS}"


def not_taken(call: str, takes: str, given: Any) -> ModelError:
    """The error for an argument that a call does not take."""
    return ModelError(f"{call} takes {takes}, not {_told(given)}")


def is_entity_class(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Entity)


def _told(given: Any) -> str:
    if isinstance(given, Lookup | Selection):
        return f"what {given.entity.__name__}.{given.name} gives"
    if isinstance(given, CollectionSelection):
        return f"what {given.collection.__name__}.{given.name} gives"
    if isinstance(given, Table):
        return f"the table {given.name}"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    if isinstance(given, Entity):
        return f"a {type(given).__name__}"
    return "a pattern that is not called" if callable(given) else type(given).__name__
