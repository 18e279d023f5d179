"""Which fields of an entity are personal, and how: the one reading of ``Personal()`` for export, erasure and copies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pydantic import BaseModel

from tablewright.model.declarations import Personal
from tablewright.model.schema import Schema

__all__ = ["personal_fields", "personal_members"]


@lru_cache(maxsize=1024)
def personal_fields(schema: Schema) -> Mapping[str, Personal]:
    """The personal fields of an entity, by name."""
    found = {name: spec.marker(Personal) for name, spec in schema.fields.items()}
    return {name: marker for name, marker in found.items() if marker is not None}


@lru_cache(maxsize=1024)
def personal_members(model: type[BaseModel]) -> Mapping[str, Personal]:
    """The personal fields of a model that is inside of an entity, by name."""
    found = {}
    for name, info in model.model_fields.items():
        for marker in info.metadata:
            if isinstance(marker, Personal):
                found[name] = marker
    return found
