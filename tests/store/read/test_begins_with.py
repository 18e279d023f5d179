"""Prefix conditions on text parts of a sort key."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablewright.model import Entity, GlobalIndex, KeyOnly, Keys, ModelError, Query, Selection, Table, raw
from tablewright.store import Store
from tests.store.bench import Bench
from tests.store.branches import Place, branches

PLACES = [
    ("de", "berlin", "a-1"),
    ("de", "bergen", "b-1"),
    ("de", "bonn", "a-1"),
    ("de", "ber", "c"),
    ("dk", "aarhus", "x"),
    ("d", "x", "y"),
]


@pytest.fixture
def filled(bench: Bench, store: Store) -> Store:
    bench.create_own(branches)
    bench.save(*(Place(company="c", country=country, city=city, building=b) for country, city, b in PLACES))
    return store


def places(store: Store, selection: Selection[Place]) -> list[tuple[str, str, str]]:
    return [(each.country, each.city, each.building) for each in store.iterate(selection)]


def test_every_level_has_its_prefix(filled: Store) -> None:
    assert places(filled, Place.of_company("c")) == sorted(PLACES)
    assert places(filled, Place.of_company("c", begins_with="d")) == sorted(PLACES)
    assert places(filled, Place.of_company("c", begins_with="dk")) == [("dk", "aarhus", "x")]
    assert places(filled, Place.of_country("c", "de", begins_with="ber")) == [
        ("de", "ber", "c"),
        ("de", "bergen", "b-1"),
        ("de", "berlin", "a-1"),
    ]
    # A country is a whole value, and not a prefix: "d" is not "de".
    assert places(filled, Place.of_country("c", "d", begins_with="")) == [("d", "x", "y")]
    assert places(filled, Place.of_city("c", "de", "berlin", begins_with="a-")) == [("de", "berlin", "a-1")]
    assert places(filled, Place.of_city("c", "de", "berlin", begins_with="b")) == []
    page = filled.query(Place.of_country("c", "de", begins_with="be"), limit=2)
    rest = filled.query(Place.of_country("c", "de", begins_with="be"), limit=2, cursor=page.cursor)
    assert [each.city for each in page.items + rest.items] == ["ber", "bergen", "berlin"]
    assert filled.count(Place.of_country("c", "de", begins_with="be")) == 3


table = Table("words", "shelf", "SK", indexes=[GlobalIndex("byWord", "shelf", "word")])


class Word(Entity, table=table):
    shelf: str
    word: str
    number: int
    day: date = date(2026, 1, 1)

    keys = Keys(SK="W#{word}#{number:04}")

    @Query(newest_first=True)
    def words(self, shelf: str, *, begins_with: str | None = None, since: str | None = None) -> None: ...

    @Query("byWord")
    def plain(self, shelf: str, *, begins_with: str | None = None) -> None: ...


TEXT = st.text(st.sampled_from('ab#$! "\x00~é\U0001f600'), max_size=4)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(TEXT.filter(bool), max_size=8, unique=True), TEXT)
def test_exactly_the_texts_that_begin_so_are_found(words: list[str], prefix: str) -> None:
    with Store.open() as store:
        store.ensure_tables(table)
        store.write_many([Word(shelf="s", word=word, number=number) for number, word in enumerate(words)])
        wanted = sorted(word for word in words if word.startswith(prefix))
        assert [each.word for each in store.iterate(Word.words("s", begins_with=prefix))] == wanted[::-1]
        assert [each.word for each in store.iterate(Word.plain("s", begins_with=prefix))] == wanted


def test_a_prefix_is_text_and_no_other_bound() -> None:
    with pytest.raises(ModelError, match="give begins_with or other bounds, not both"):
        Word.words("s", begins_with="a", since="b")
    with Store.open() as store, pytest.raises(ModelError, match="begins_with: 5 is not text"):
        store.query(Word.words("s", begins_with=5))  # type: ignore[arg-type]


def test_what_is_no_text_in_the_key_cannot_be_bounded_so() -> None:
    def declare(sort_key: str) -> Any:
        class Wrong(Entity, table=Table("wrong", "PK", "SK")):
            name: str
            number: int
            day: date

            keys = Keys(PK="{name}", SK=sort_key)

            @Query()
            def found(self, name: str, *, begins_with: str | None = None) -> None: ...

        return Wrong

    with pytest.raises(ModelError, match="number is not text in the sort key, so it cannot be bounded by begins_with"):
        declare("{number:04}")


class Shop(Entity, table=Table("chains", "country", "place")):
    country: str
    state: Annotated[str, KeyOnly()]
    city: Annotated[str, KeyOnly()]
    number: Annotated[str, KeyOnly()]

    keys = Keys(place=raw("{state}#{city}#{number}"))

    @Query()
    def by_city(self, country: str, state: str, *, begins_with: str | None = None) -> None: ...


def test_a_part_of_a_raw_key_is_found_by_its_beginning_whatever_follows() -> None:
    with Store.open() as store:
        store.ensure_tables(Shop.schema_.table)
        cities = ["Omaha", "Omaha Beach", "Ogallala", "Lincoln"]
        store.write_many(Shop(country="USA", state="NE", city=city, number="1") for city in cities)
        store.write_many([Shop(country="USA", state="NEW", city="Omaha", number="1")])
        found = store.query(Shop.by_city("USA", "NE", begins_with="Oma")).items
        assert [shop.city for shop in found] == ["Omaha Beach", "Omaha"]
        with pytest.raises(ModelError, match="'#' ends a value in this raw key"):
            store.query(Shop.by_city("USA", "NE", begins_with="Omaha#1"))
