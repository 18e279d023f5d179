"""Changes of fields that tests have by their names."""

from __future__ import annotations

from typing import Any

from tablewright.model import Entity, FieldChange, attr


def sets(entity: type[Entity], **values: Any) -> list[FieldChange]:
    """A change for each field that is set."""
    return [attr(getattr(entity, name)).set(value) for name, value in values.items()]
