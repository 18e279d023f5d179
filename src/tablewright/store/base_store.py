"""The base of the synchronous and the asynchronous store: their constructors, settings and backend."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack, cast

from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.blobs.blob_store import BlobStore
from tablewright.store.blobs.blob_store_location import blob_store_at, blob_store_of
from tablewright.store.context import CapacityHook, Context
from tablewright.store.errors import StoreError
from tablewright.store.flow.driver import Backend

if TYPE_CHECKING:
    from tablewright.engine import Engine


class _ContextSettings(TypedDict, total=False):
    clock: Callable[[], float]
    entropy: random.Random
    cursor_secret: bytes
    table_names: Mapping[str, str]
    strict: bool
    on_capacity: CapacityHook | None
    deadline: float | None
    hedge_after: float | None


class Settings(_ContextSettings, total=False):
    """The settings of a store; ``Context`` explains each."""

    # A blob store, or its location: a folder, or s3://bucket/prefix. The embedded engine has one of its own.
    blobs: BlobStore | str | os.PathLike[str] | None


class BaseStore:
    """The backend and the settings of a store.

    ``backend`` answers its requests and ``context`` has its settings. Together with ``run_flow`` of the two stores they
    are what consumers and tolerant readers are built on.
    """

    def __init__(self, backend: Backend, **settings: Unpack[Settings]) -> None:
        """A store on any backend; ``open``, ``on`` and ``connect`` create the usual ones."""
        self.backend = backend
        blobs = settings.pop("blobs", blob_store_of(backend.engine) if isinstance(backend, EmbeddedBackend) else None)
        self.context = Context(**cast("_ContextSettings", settings))
        self.context.blobs = blob_store_at(blobs) if isinstance(blobs, str | os.PathLike) else blobs
        if not self.context.cursor_secret:
            self.context.cursor_secret = self.context.entropy.randbytes(32)

    def within(self, seconds: float) -> Self:
        """The same store with a time limit for each call, after which it raises ``DeadlineExceeded``.

        It shares the backend of this store, which is the one to close.
        """
        bounded = copy(self)
        bounded.context = replace(self.context, deadline=seconds)
        return bounded

    def at(self, time: datetime) -> Self:
        """The same store as it was at a time, for reading: on the embedded engine, of tables that have point-in-time
        recovery, at any time of their recovery window.

        Items that had not expired by then are live. This store is the one to close.
        """
        if not isinstance(self.backend, EmbeddedBackend):
            raise StoreError("only the embedded engine reads the past; on an endpoint, restore the table to that time")
        past = copy(self)
        past.backend = EmbeddedBackend(self.backend.engine.at(time), owned=False)
        past.context = replace(self.context, clock=time.timestamp)
        return past

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None, **settings: Unpack[Settings]) -> Self:
        """A store on an engine of its own: in a data folder, or in memory if no path is given."""
        from tablewright.engine import Engine

        engine = Engine.open(path, clock=settings.get("clock", time.time), entropy=settings.get("entropy"))
        return cls(EmbeddedBackend(engine, owned=True), **settings)

    @classmethod
    def on(cls, engine: Engine, **settings: Unpack[Settings]) -> Self:
        """A store on an engine that is already open; it stays open when the store is closed."""
        return cls(EmbeddedBackend(engine, owned=False), **settings)

    @classmethod
    def connect(cls, region: str | None = None, endpoint: str | None = None, **options: Any) -> Self:
        """A store on an endpoint: Amazon DynamoDB, or any other server of its protocol.

        Options that are not settings of a store are those of a botocore client, such as ``aws_access_key_id``,
        ``verify`` and ``config``.
        """
        from tablewright.store.backends.endpoint_backend import EndpointBackend

        settings = {name: options.pop(name) for name in Settings.__optional_keys__ if name in options}
        store = cls(EndpointBackend(region, endpoint, options), **settings)
        store.context.reads_ahead = True
        return store
