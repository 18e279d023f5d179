"""Blobs in memory."""

from __future__ import annotations

from tablewright.store.blobs.blob_store import BlobEntry, checked_name


class MemoryBlobStore:
    """Blobs in memory, for a database in memory: gone when the process ends."""

    concurrency = 1

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> None:
        self._blobs[checked_name(name)] = data

    def get(self, name: str) -> bytes | None:
        return self._blobs.get(checked_name(name))

    def head(self, name: str, length: int) -> bytes | None:
        data = self.get(name)
        return None if data is None else data[:length]

    def delete(self, name: str) -> None:
        self._blobs.pop(checked_name(name), None)

    def entries(self, prefix: str, after: str | None, limit: int) -> list[BlobEntry]:
        # A copy first: other threads may write meanwhile.
        known = self._blobs.copy()
        names = sorted(name for name in known if name.startswith(prefix) and (after is None or name > after))
        return [BlobEntry(name, len(known[name])) for name in names[:limit]]
