"""The store on an endpoint: what programs do with it, on a small model of its own."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from tablewright.model import Entity, FieldGroup, Get, GlobalIndex, Keys, Numbered, Query, Table, Unique, Version, attr
from tablewright.store import AsyncStore, NotUnique, VersionConflict
from tablewright.transfer.acceptance.probe_tables import ProbeTables, Unmet, expect

_WRITERS = 8

_table = Table("store", "PK", "SK", indexes=[GlobalIndex("byState", "GSI1PK", "GSI1SK")], type_attribute="type")


class _Case(Entity, table=_table):
    case_id: str
    email: Annotated[str, Unique()]
    state: str = "open"
    seen: int = 0
    version: Version = 0

    keys = Keys(PK="CASE#{case_id}", SK="CASE", GSI1PK="STATE#{state}", GSI1SK="{case_id}")

    @Get()
    def by_id(self, case_id: str) -> None: ...

    @Query(index="byState")
    def in_state(self, state: str) -> None: ...


class _Note(Entity, table=_table):
    case_id: str
    number: int = 0
    text: str = ""

    keys = Keys(PK="CASE#{case_id}", SK="NOTE#{number:06}")

    @Numbered()
    def number_per_case(self) -> FieldGroup[int]:
        return attr(self.number).per(self.case_id)

    @Query()
    def of_case(self, case_id: str) -> None: ...


async def store(tables: ProbeTables) -> None:
    names = {_table.name: tables.claim("store")}
    await _accepted(AsyncStore(tables.backend, table_names=names))


async def _accepted(store: AsyncStore) -> None:
    await store.ensure_tables(_table)
    one = await store.create(_Case(case_id="1", email="a@example.com"))
    await _raises(NotUnique, store.create(_Case(case_id="2", email="a@example.com")), "two items share a unique value")
    stale = one.model_copy()
    changed = await store.update(one, attr(_Case.state).set("closed"))
    await _raises(
        VersionConflict, store.update(stale, attr(_Case.state).set("open")), "an older version overwrites a newer one"
    )
    expect(changed.version == stale.version + 1, "the version is not incremented")
    notes = await asyncio.gather(*(store.create(_Note(case_id="1", text=str(each))) for each in range(_WRITERS)))
    numbers = sorted(note.number for note in notes)
    expect(numbers == list(range(1, _WRITERS + 1)), f"{_WRITERS} concurrent writers get the numbers {numbers}")
    page = await store.query(_Note.of_case(case_id="1"), limit=3)
    rest = await store.query(_Note.of_case(case_id="1"), cursor=page.cursor)
    read = [note.number for note in [*page.items, *rest.items]]
    expect(read == numbers, f"the pages of a query return the numbers {read}")
    report = await store.verify(_table)
    expect(not report.findings, f"verify reports {report.findings[:1]}")
    await store.delete(_Case.by_id(case_id="1"))
    await store.create(_Case(case_id="2", email="a@example.com"))


async def _raises(kind: type[Exception], work: Any, otherwise: str) -> None:
    try:
        await work
    except kind:
        return
    raise Unmet(otherwise)
