"""What the synchronous and the asynchronous store have in common: how they are made, and their settings."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Self, TypedDict, TypeVar, Unpack, cast

from tablewright.engine import Engine
from tablewright.model import Entity, Selection
from tablewright.store.argument_checks import A_CLASS, A_QUERY, is_entity_class, not_taken
from tablewright.store.backends.botocore_backend import BotocoreBackend
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.blobs.blob_store_location import blob_store_at, blob_store_of
from tablewright.store.context import CapacityHook, Context
from tablewright.store.flow.driver import Backend
from tablewright.store.read.pager import Reading, begin
from tablewright.store.read.read_planner import plan_scan, plan_selection

E = TypeVar("E", bound=Entity)


class _PlainSettings(TypedDict, total=False):
    clock: Callable[[], float]
    entropy: random.Random
    cursor_secret: bytes
    table_names: Mapping[str, str]
    strict: bool
    on_capacity: CapacityHook | None


class Settings(_PlainSettings, total=False):
    """What a store can be told; each is explained in ``Context``."""

    # An object store, or where it is: a folder, or s3://bucket/prefix. The embedded engine has one of its own.
    blobs: BlobStore | str | os.PathLike[str] | None


class Face:
    """What both stores have: where they run, and their settings."""

    def __init__(self, backend: Backend, **settings: Unpack[Settings]) -> None:
        self._backend = backend
        blobs = settings.pop("blobs", blob_store_of(backend.engine) if isinstance(backend, EmbeddedBackend) else None)
        self._context = Context(**cast("_PlainSettings", settings))
        self._context.blobs = blob_store_at(blobs) if isinstance(blobs, str | os.PathLike) else blobs
        if not self._context.cursor_secret:
            self._context.cursor_secret = self._context.entropy.randbytes(32)

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None, **settings: Unpack[Settings]) -> Self:
        """A store on an engine of its own, in a data folder, or in memory without one."""
        engine = Engine.open(path, clock=settings.get("clock", time.time), entropy=settings.get("entropy"))
        return cls(EmbeddedBackend(engine, owned=True), **settings)

    @classmethod
    def on(cls, engine: Engine, **settings: Unpack[Settings]) -> Self:
        """A store on an engine that is open, and stays so when the store is closed."""
        return cls(EmbeddedBackend(engine, owned=False), **settings)

    @classmethod
    def connect(cls, region: str | None = None, endpoint: str | None = None, **options: Any) -> Self:
        """A store on an endpoint. Options that are no settings of a store are botocore's (``aws_access_key_id``)."""
        settings = {name: options.pop(name) for name in Settings.__optional_keys__ if name in options}
        return cls(BotocoreBackend(region, endpoint, options), **settings)

    def _reading(
        self, source: Selection[E] | type[E], page_size: int | None, cursor: str | None, consistent: bool | None
    ) -> tuple[Reading, type[E]]:
        """A read to be gone on with: of a selection, or of all items of an entity."""
        if isinstance(source, Selection):
            plan, entity = plan_selection(self._context, source, consistent=consistent), source.entity
        elif not is_entity_class(source):
            raise not_taken("a read", f"{A_QUERY}, or {A_CLASS}", source)
        else:
            plan, entity = plan_scan(self._context, source, consistent=bool(consistent)), source
        return begin(self._context, plan, cursor, page_size), entity
