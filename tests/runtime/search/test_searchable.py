"""Excerpts of what was found, and the words of a query."""

from __future__ import annotations

import pytest

from tablewright.runtime.search.searchable import MAX_TERMS, excerpt, terms_of

pytestmark = pytest.mark.requirement("AP3")


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("La città è lontana", "citta", ["città"]),
        ("CAFÉ café Cafe", "cafe", ["CAFÉ", "café", "Cafe"]),
        ("a prefix is enough", "pref eno", ["pref", "eno"]),
        ("not inside of aword", "word", []),
        ("cafe\u0301 apart", "café", ["cafe\u0301"]),
        ("the <b>bold</b> one", "bold", ["bold"]),
        ("", "x", []),
        ("a.*b", ".*", []),
    ],
)
def test_the_words_of_a_query_are_where_the_index_finds_them(text: str, query: str, found: list[str]) -> None:
    made = excerpt(text, terms_of(query))
    assert [made.text[first:last].rstrip("\u0301") for first, last in made.matches] == [
        each.rstrip("\u0301") for each in found
    ]


def test_a_long_text_is_cut_around_the_first_word_that_was_found() -> None:
    made = excerpt("word " * 500 + "needle " + "word " * 500, ["needle"])
    assert len(made.text) < 170
    assert made.text.startswith("…")
    assert made.text.endswith("…")
    assert [made.text[first:last] for first, last in made.matches] == ["needle"]


def test_a_query_has_a_bounded_number_of_words() -> None:
    assert len(terms_of("a " * 400)) == MAX_TERMS
    assert max(map(len, terms_of("x" * 900))) == 64
    assert terms_of('"; -- *') == []
