"""Patterns that read items without the large values that are outside of them."""

from __future__ import annotations

from typing import Annotated

import pytest

from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    Large,
    Query,
    Table,
    UpdatedAt,
    attr,
)
from tablewright.store import MemoryBlobStore, Store, offloaded_sizes

archive = Table("archive", "PK", "SK", indexes=[GlobalIndex("byOwner", "owner", "SK")])


class Scan(Entity, table=archive):
    scan_id: str
    owner: str
    text: Annotated[str, Large(threshold=1000)] = ""
    updated_at: UpdatedAt = None

    keys = Keys(PK="SCAN#{scan_id}", SK="SCAN")

    @Get()
    def by_id(self, scan_id: str) -> None: ...

    @Get(many=True, load_large=False)
    def head(self, scan_id: str) -> None: ...

    @Query("byOwner", load_large=False)
    def of_owner(self, owner: str) -> None: ...


class Case(Collection):
    scan: Scan

    @CollectionQuery(load_large=False)
    def of_scan(self, scan_id: str) -> None: ...


class Counting(MemoryBlobStore):
    """Blobs that count how often they are read."""

    reads = 0

    def get(self, name: str) -> bytes | None:
        self.reads += 1
        return super().get(name)


def test_what_is_outside_is_neither_read_nor_there_until_it_is_loaded() -> None:
    blobs = Counting()
    with Store.open(blobs=blobs) as store:
        store.ensure_tables(archive)
        store.create(Scan(scan_id="large", owner="o", text="x" * 5000))
        store.create(Scan(scan_id="small", owner="o", text="y"))
        large, small = store.get_many([Scan.head(scan_id="large"), Scan.head(scan_id="small")])
        case = store.collect(Case.of_scan(scan_id="large"))
        assert case is not None
        listed = [scan for scan in store.iterate(Scan.of_owner(owner="o")) if scan.scan_id == "large"]
        for scan in (large, store.get(Scan.head(scan_id="large")), *listed, case.scan):
            assert scan is not None
            assert (scan.owner, offloaded_sizes(scan)) == ("o", {"text": 5000})
            with pytest.raises(AttributeError):
                _ = scan.text
        assert small is not None
        assert (small.text, blobs.reads) == ("y", 0)
        assert large is not None
        assert store.load(large).text == "x" * 5000
        assert blobs.reads == 1
        # Another field is changed without reading what is outside.
        changed = store.update(Scan.by_id(scan_id="large"), attr(Scan.owner).set("p"))
        assert offloaded_sizes(changed) == {"text": 5000}
