"""Sessions for the tests of PartiQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.partiql.session import Session


@pytest.fixture
def run() -> Iterator[Session]:
    """An engine with two empty tables."""
    session = Session()
    yield session
    session.engine.close()


@pytest.fixture
def songs(run: Session) -> Session:
    """``music`` with four songs by A and one by B."""
    genres = {"one": "pop", "two": "rock", "three": "pop", "four": "pop"}
    for number, (song, genre) in enumerate(genres.items()):
        run(
            "INSERT INTO music VALUE {'artist': 'A', 'song': ?, 'genre': ?, 'year': ?, 'label': 'L', "
            "'plays': ?, 'tags': ['x', {'deep': 'y'}]}",
            {"S": song},
            {"S": genre},
            {"N": str(2000 - number)},
            {"N": str(number)},
        )
    run("INSERT INTO music VALUE {'artist': 'B', 'song': 'only', 'genre': 'rock', 'plays': 9}")
    return run
