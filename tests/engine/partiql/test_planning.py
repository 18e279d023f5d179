"""However a SELECT finds its items, it finds those that its WHERE clause describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import ValidationException
from tablewright.engine.partiql.statements import Select
from tablewright.engine.partiql.translate import statement
from tests.engine.partiql.session import Session

ARTISTS = ["A", "B", "C"]
SONGS = ["a", "ab", "b", "c"]
REFUSALS = (
    "Overlapping conditions",
    "Too many decomposed",
    "The BETWEEN operator requires",
    "One or more parameter values were invalid: Secondary index by_genre does not project",
)


@pytest.fixture(scope="module")
def library() -> Iterator[Session]:
    session = Session()
    for number, (artist, song) in enumerate((artist, song) for artist in ARTISTS for song in SONGS):
        session(
            "INSERT INTO music VALUE {'artist': ?, 'song': ?, 'genre': ?, 'plays': ?}",
            {"S": artist},
            {"S": song},
            {"S": artist},
            {"N": str(number % 5)},
        )
    yield session
    session.engine.close()


def _texts(choices: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(choices).map(repr)


def _leaves() -> st.SearchStrategy[str]:
    comparator = st.sampled_from(["=", "=", "=", "<>", "<", "<=", ">", ">="])
    songs, artists = _texts(SONGS), _texts(ARTISTS)
    return st.one_of(
        st.builds("artist = {}".format, artists),
        st.builds("{} = artist".format, artists),
        st.builds("artist IN [{}, {}]".format, artists, artists),
        st.builds("song {} {}".format, comparator, songs),
        st.builds("song BETWEEN {} AND {}".format, songs, songs),
        st.builds("begins_with(song, {})".format, songs),
        st.builds("song IN ({}, {})".format, songs, songs),
        st.builds("plays {} {}".format, comparator, st.integers(0, 4)),
    )


def _conditions() -> st.SearchStrategy[str]:
    return st.recursive(
        _leaves(),
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT ({})".format, inner),
        ),
        max_leaves=6,
    )


@given(condition=_conditions(), limit=st.integers(1, 7), source=st.sampled_from(["music", "music.by_genre"]))
def test_pages_hold_exactly_the_items_that_match(library: Session, condition: str, limit: int, source: str) -> None:
    if source != "music":
        # Every song's genre is its artist, so a condition means the same on the index, by its own key.
        condition = condition.replace("artist", "genre")
    text = f"SELECT artist, song FROM {source} WHERE {condition}"
    program = statement(text)
    assert isinstance(program, Select)
    assert program.where is not None
    try:
        found = _all_pages(library, text, limit)
    except ValidationException as refusal:
        message = refusal.message or ""
    else:
        everything = library.items("SELECT * FROM music")
        if source != "music":
            # The index shows its keys alone.
            everything = [{name: item[name] for name in ("artist", "song", "genre")} for item in everything]
        matching = [item for item in everything if program.where.evaluate(item, {})]
        assert sorted(found) == sorted((item["artist"]["S"], item["song"]["S"]) for item in matching)
        return
    assert message.startswith(REFUSALS)


def _all_pages(library: Session, text: str, limit: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    request: dict[str, Any] = {"Limit": limit}
    while True:
        page = library(text, **request)
        assert len(page["Items"]) <= limit
        found += [(item["artist"]["S"], item["song"]["S"]) for item in page["Items"]]
        if "NextToken" not in page:
            return found
        request["NextToken"] = page["NextToken"]
