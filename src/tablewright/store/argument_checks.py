"""Arguments of the wrong type: a pattern that was not called, a class instead of an entity, a table's name.

A type checker finds them too; these errors are for those without one, and name what the call takes.
"""

from __future__ import annotations

from typing import Any

from tablewright.model import CollectionSelection, Entity, Lookup, ModelError, Selection, Table

A_GET = "a lookup, such as Call.by_id(call_id=...)"
A_QUERY = "a selection, such as Call.of_user(user_id=...)"
A_COLLECTION_QUERY = "a selection of a collection, such as Case.of_ticket(ticket_id=...)"
AN_ENTITY = "an entity, such as Call(call_id=...)"
A_TARGET = f"an entity, or {A_GET}"
WRITE_OPERATIONS = "operations, such as Create(call) or Update(call, ...)"
TABLES = "tables"
A_CLASS = "an entity class"
A_SCOPE = f"a table, or {A_CLASS}"


def wrong_argument(call: str, takes: str, given: Any) -> ModelError:
    """The error for an argument of a type that a call does not take."""
    return ModelError(f"{call} takes {takes}, not {_described(given)}")


def is_entity_class(given: Any) -> bool:
    """Whether something is the class of an entity."""
    return isinstance(given, type) and issubclass(given, Entity)


def _described(given: Any) -> str:
    if isinstance(given, Lookup):
        return f"the lookup {given.entity.__name__}.{given.name}(...)"
    if isinstance(given, Selection):
        return f"the selection {given.pattern.place(given.entity)}(...)"
    if isinstance(given, CollectionSelection):
        return f"the selection {given.collection.__name__}.{given.name}(...) of a collection"
    if isinstance(given, Table):
        return f"the table {given.name}"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    if isinstance(given, Entity):
        return f"a {type(given).__name__}"
    return "a pattern that was not called" if callable(given) else type(given).__name__
