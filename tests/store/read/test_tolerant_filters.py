"""Tolerant reads of patterns that return a filter."""

from __future__ import annotations

from tablewright.model import Entity, FieldCondition, Keys, Query, Table, attr
from tablewright.store import Store, TolerantReader

visits = Table("visits", "PK", "SK")


class Visit(Entity, table=visits):
    user: str
    number: int
    pages: int = 0

    keys = Keys(PK="{user}", SK="{number:04}")

    @Query()
    def longer(self, user: str, than: int) -> FieldCondition:
        return attr(self.pages) > than


def test_the_filter_of_a_pattern_holds() -> None:
    with Store.open() as store:
        store.ensure_tables(visits)
        store.write_many([Visit(user="u", number=number, pages=number) for number in range(6)])
        reader = TolerantReader(store)
        assert [each.number for each in reader.page(Visit.longer("u", 3), limit=10).items] == [4, 5]
        assert [each.number for each in reader.all(Visit.longer("u", 4)).items] == [5]
