"""Chunks in packs: stored once, found again, moved when most of their pack is not needed any more."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import pytest

from tablewright.engine import DamagedError
from tablewright.engine.copies.chunk_store import CHUNK_BYTES, ChunkStore, StoredFile
from tests.engine.storage.damage import flip


def content(seed: int, chunks: int) -> bytes:
    return random.Random(seed).randbytes(chunks * CHUNK_BYTES - 100)


def added(folder: Path, data: bytes) -> StoredFile:
    store = ChunkStore(folder)
    stored = StoredFile(len(data), list(store.put_file(BytesIO(data))))
    store.sync()
    return stored


def restored(folder: Path, stored: StoredFile, to: Path) -> bytes:
    for _ in ChunkStore(folder).write_to(stored, to):
        pass
    return to.read_bytes()


def packs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_there_is_not_stored_again(tmp_path: Path) -> None:
    folder = tmp_path / "packs"
    first = added(folder, content(1, 4))
    assert packs(folder) == ["00000001", "00000001.index"]
    assert added(folder, content(1, 4)) == first
    assert packs(folder) == ["00000001", "00000001.index"]
    second = added(folder, content(1, 4)[: 2 * CHUNK_BYTES] + content(2, 2))
    assert second.chunks[:2] == first.chunks[:2]
    assert (folder / "00000002").stat().st_size == 2 * CHUNK_BYTES - 100
    assert restored(folder, second, tmp_path / "file") == content(1, 4)[: 2 * CHUNK_BYTES] + content(2, 2)


def test_a_chunk_that_comes_twice_is_in_a_pack_once(tmp_path: Path) -> None:
    stored = added(tmp_path / "packs", bytes(10 * CHUNK_BYTES))
    assert (len(stored.chunks), len(set(stored.chunks))) == (10, 1)
    assert (tmp_path / "packs" / "00000001").stat().st_size == CHUNK_BYTES


def test_a_pack_counts_from_when_it_is_synced(tmp_path: Path) -> None:
    folder = tmp_path / "packs"
    store = ChunkStore(folder)
    name = store.put(b"unfinished")
    store.close()
    with pytest.raises(DamagedError, match="is missing"):
        ChunkStore(folder).get(name)
    added(folder, b"another")
    assert packs(folder) == ["00000001", "00000001.index"]
    assert name not in ChunkStore(folder).names()


def test_a_sparse_pack_is_written_anew(tmp_path: Path) -> None:
    folder = tmp_path / "packs"
    first, second = added(folder, content(1, 10)), added(folder, content(2, 10))
    reader = ChunkStore(folder)
    assert reader.get(first.chunks[0])
    kept = {*first.chunks[:2], *second.chunks[:8]}
    ChunkStore(folder).keep_only(kept)
    assert packs(folder) == ["00000002", "00000002.index", "00000003", "00000003.index"]
    # Somebody who has read the indexes before finds it all the same.
    assert all(reader.get(name) for name in kept)
    with pytest.raises(DamagedError, match="is missing"):
        reader.get(first.chunks[5])
    ChunkStore(folder).keep_only(set(second.chunks[:8]))
    assert packs(folder) == ["00000002", "00000002.index"]
    ChunkStore(folder).keep_only(set())
    assert packs(folder) == []


def test_a_damaged_chunk_is_added_anew_and_stays_when_others_move(tmp_path: Path) -> None:
    folder = tmp_path / "packs"
    stored = added(folder, content(1, 10))
    flip(folder / "00000001", 20_000)
    ChunkStore(folder).keep_only(set(stored.chunks[:2]))
    assert "00000001" in packs(folder)
    assert added(folder, content(1, 10)) == stored
    assert restored(folder, stored, tmp_path / "file") == content(1, 10)


def test_a_damaged_index_is_as_none(tmp_path: Path) -> None:
    folder = tmp_path / "packs"
    stored = added(folder, content(1, 3))
    flip(folder / "00000001.index", 40)
    with pytest.raises(DamagedError, match="is missing"):
        ChunkStore(folder).get(stored.chunks[0])
    assert added(folder, content(1, 3)) == stored
    assert restored(folder, stored, tmp_path / "file") == content(1, 3)
