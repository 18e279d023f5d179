"""The full-text index: words without case and accents, rights in the query, and nothing left of what was deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.runtime.search.full_text_index import FullTextIndex, IndexInUse
from tablewright.runtime.search.searchable import Document, terms_of

pytestmark = pytest.mark.requirement("AP3")


def document(title: str, text: str = "", *owners: str, kind: str = "ticket", name: str = "t-1") -> Document:
    return Document(kind, {"ticket_id": name}, title, text, frozenset(owners))


def put(index: FullTextIndex, name: str, title: str, text: str = "", *owners: str, kind: str = "ticket") -> None:
    index.write("desk", {name: document(title, text, *owners, kind=kind, name=name)})


def names(index: FullTextIndex, query: str, person: str | None = None, limit: int = 20) -> list[str]:
    """What somebody finds; without a person, what is found by whoever may read all."""
    kinds, own = (["ticket"], []) if person is None else ([], ["ticket"])
    hits = index.find("desk", terms_of(query), kinds=kinds, own=own, person=person or "", limit=limit)
    return [hit.ids["ticket_id"] for hit in hits]


@pytest.fixture
def index() -> FullTextIndex:
    return FullTextIndex(None)


@pytest.mark.parametrize("query", ["perche", "PERCHÉ", "perch", "l'utente", "utente perche", "perche utent"])
def test_italian_is_found_with_and_without_accents(index: FullTextIndex, query: str) -> None:
    put(index, "a", "Perché l'utente non può entrare")
    assert names(index, query) == ["a"]


def test_all_words_have_to_be_there_and_a_word_in_the_title_comes_first(index: FullTextIndex) -> None:
    put(index, "text", "something else", "a printer and a scanner")
    put(index, "title", "printer", "a scanner")
    put(index, "one", "scanner")
    assert names(index, "printer scanner") == ["title", "text"]


def test_a_person_finds_his_own_and_neither_places_nor_numbers_tell_of_others(index: FullTextIndex) -> None:
    for number in range(30):
        put(index, f"other-{number}", "pump pump pump", "", "bob")
    put(index, "mine", "a text about many things and a pump", "", "ada")
    assert names(index, "pump", "ada", limit=1) == ["mine"]
    assert names(index, "pump", "eve") == []


def test_a_kind_that_is_not_granted_is_not_found(index: FullTextIndex) -> None:
    put(index, "person", "ada", kind="person")
    assert names(index, "ada") == []


def test_a_document_is_replaced_and_removed(index: FullTextIndex) -> None:
    put(index, "a", "first")
    put(index, "a", "second")
    assert (names(index, "first"), names(index, "second"), index.count("desk")) == ([], ["a"], 1)
    index.write("desk", {"a": None})
    assert (names(index, "second"), index.count("desk")) == ([], 0)


def test_nothing_of_what_was_deleted_stays_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    index = FullTextIndex(path)
    for number in range(300):
        put(index, f"t-{number}", f"number {number}", "filler words " * 20, "somebody")
    put(index, "secret", "Xyzzysecret", "plughsecret", "frobnicatedperson")
    put(index, "changed", "Oldsecretword")
    put(index, "changed", "new")
    index.write("desk", {"secret": None})
    assert index.purge()
    content = b"".join(each.read_bytes() for each in tmp_path.iterdir()).lower()
    for word in (b"xyzzy", b"plugh", b"frobnicated", b"oldsecret"):
        assert word not in content
    assert b"filler" in content
    assert not index.purge()
    index.close()


def test_a_rebuild_neither_undoes_what_the_stream_says_nor_brings_back_what_it_removed(index: FullTextIndex) -> None:
    put(index, "gone before", "whale")
    put(index, "removed", "whale")
    generation = index.begin("desk")
    # What is read from the table is older than what the stream says meanwhile.
    put(index, "changed", "new whale")
    index.write("desk", {"removed": None})
    scanned = {"changed": "old whale", "removed": "whale", "kept": "whale"}
    index.write_scanned("desk", {name: document(title, name=name) for name, title in scanned.items()}, generation)
    assert index.remove_older("desk", generation) == 1
    index.complete("desk", "declared")
    assert sorted(names(index, "whale")) == ["changed", "kept"]
    assert names(index, "new whale") == ["changed"]
    assert index.declaration("desk") == "declared"


def test_a_write_that_fails_leaves_nothing(index: FullTextIndex) -> None:
    documents = {f"t-{number}": document("heron", name=f"t-{number}") for number in range(250)}
    # SQLite has no such integer, which is found out when all the others are written.
    documents["bad"] = document("heron", "", 2**70)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        index.write("desk", documents)
    assert (names(index, "heron"), index.count("desk")) == ([], 0)


def test_many_documents_are_written_and_replaced_together(index: FullTextIndex) -> None:
    texts = {f"t-{number}": f"heron number{number:03}" for number in range(250)}
    index.write("desk", {name: document(text, "", "ada", "bob", name=name) for name, text in texts.items()})
    assert index.count("desk") == 250
    assert all(names(index, f"number{number:03}", "bob") == [f"t-{number}"] for number in (7, 70, 249))
    changed = {name: document("egret", name=name) for name in list(texts)[:120]}
    index.write("desk", {**changed, "t-200": None, "new": document("egret", name="new")})
    assert index.count("desk") == 250
    assert len(names(index, "heron", limit=500)) == 129
    assert len(names(index, "egret", limit=500)) == 121
    # Owners of documents that were replaced are gone with them.
    assert names(index, "egret", "bob") == []


def test_a_file_is_used_again_only_if_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    index = FullTextIndex(path)
    put(index, "a", "heron")
    index.close()
    again = FullTextIndex(path)
    assert (names(again, "heron"), again.id) == (["a"], index_id := again.id)
    # As after a loss of power: nobody has closed it.
    left = path.with_stem("left")
    left.write_bytes(path.read_bytes())
    assert (names(other := FullTextIndex(left), "heron"), other.id == index_id) == ([], False)


@pytest.mark.requirement("SH8")
def test_a_file_is_of_one_process_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    index = FullTextIndex(path)
    put(index, "a", "heron")
    with pytest.raises(IndexInUse):
        FullTextIndex(path)
    put(index, "b", "heron")
    index.close()
    again = FullTextIndex(path)
    assert sorted(names(again, "heron")) == ["a", "b"]
