"""What can be found: declarations of a system's entities, and documents made of them.

    Searchable(Task, "task", Task.by_id, title="title", texts=["description"], readers=[MEMBERS, ADMINS])
    Searchable(User, "person", User.by_id, title="user_id", texts=["email"], readers=[MEMBERS.own, ADMINS],
               owners=["user_id"])

A document has the item's values of the declared fields, so text that is masked in the item is masked in the index.
``readers`` are the roles that may read the item through the system's calls; a role with ``.own`` finds items that name
the caller in one of the fields ``owners``. ``read`` is the access pattern that reads the item again before it is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from tablewright.model import Entity, Lookup, schema_of
from tablewright.runtime.identity.access import Caller, Grant, Role

# What other packages use.
__all__ = ["Searchable"]

MAX_TEXT = 100_000
"""Characters of a document that are indexed."""
MAX_TERMS = 8
MAX_TERM = 64
_EXCERPT = 160
_BEFORE_MATCH = 50
_TITLE = 120
_WORDS = re.compile(r"\w+")
# Pydantic writes these in JSON as ``str`` does.
_WRITTEN_PLAINLY = (str, int, UUID)


@dataclass(frozen=True, slots=True)
class Document:
    """An item as it is found: its title, its texts, and its owners."""

    kind: str
    ids: Mapping[str, str]
    title: str
    text: str
    owners: frozenset[str]

    @property
    def is_empty(self) -> bool:
        """Whether it has no words to be found by."""
        return not self.title and not self.text


@dataclass(frozen=True)
class Searchable:
    """An entity that can be found: by which of its fields, and by whom."""

    entity: type[Entity]
    kind: str
    # Reads the item by its primary key; its parameters are what names the item in results.
    read: Callable[..., Lookup[Any]]
    # Fields, by their names; one inside of another, or of members of a list, is ``comments.comment_text``.
    title: str = ""
    texts: Sequence[str] = ()
    readers: Sequence[Role | Grant] = ()
    owners: Sequence[str] = ()

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The fields that identify an item: those of its primary key."""
        schema = schema_of(self.entity)
        named = {source for attribute in schema.table.key for source in schema.sources(attribute)}
        return tuple(name for name, spec in schema.fields.items() if spec.attribute in named)

    @property
    def declaration(self) -> str:
        """The declaration as text: an index that was built for another has to be rebuilt."""
        fields = ",".join([self.title, *self.texts, "|", *self.owners])
        return f"{self.kind}:{self.entity.__name__}:{fields}"

    @cached_property
    def _paths(self) -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
        """The paths of the title, of the texts and of the owners."""
        title = [self.title.split(".")] if self.title else []
        return title, [path.split(".") for path in self.texts], [[name] for name in self.owners]

    def document(self, entity: Entity) -> Document:
        title_path, text_paths, owner_paths = self._paths
        title = " ".join(_texts_at(title_path, entity))
        texts = _texts_at(text_paths, entity)
        owners = frozenset(_texts_at(owner_paths, entity))
        return Document(
            self.kind,
            self._ids_of(entity),
            title[:MAX_TEXT],
            " · ".join(texts)[:MAX_TEXT],
            owners,
        )

    def _ids_of(self, entity: Entity) -> dict[str, str]:
        values = {name: getattr(entity, name) for name in self.ids}
        if not all(type(value) in _WRITTEN_PLAINLY for value in values.values()):
            values = entity.model_dump(mode="json", include={*self.ids})
        return {name: str(values[name]) for name in self.ids}

    def lookup(self, ids: Mapping[str, str]) -> Lookup[Any]:
        """The read of an item, by the ids in its document."""
        fields = self.entity.model_fields
        validated = {name: _validated(fields[name].rebuild_annotation(), text) for name, text in ids.items()}
        return self.read(**validated)

    def rights_of(self, caller: Caller) -> Literal["all", "own"] | None:
        """What a caller may find: all, their own, or none."""
        grants = [each if isinstance(each, Grant) else Grant(each) for each in self.readers]
        held = [grant for grant in grants if caller.has(grant.role)]
        if any(not grant.own for grant in held):
            return "all"
        return "own" if held else None


def _validated(annotation: Any, text: str) -> Any:
    return TypeAdapter(annotation).validate_python(text)


def _texts_at(paths: Iterable[Sequence[str]], entity: Entity) -> list[str]:
    """The texts at some paths; those of all members, where a path leads through a list."""
    found: list[str] = []
    for path in paths:
        _add_texts(found, entity, path, 0)
    return found


def _add_texts(found: list[str], value: Any, path: Sequence[str], step: int) -> None:
    if value is None:
        return
    if isinstance(value, list | tuple | set | frozenset):
        for member in value:
            _add_texts(found, member, path, step)
    elif step < len(path):
        if isinstance(value, BaseModel):
            _add_texts(found, getattr(value, path[step], None), path, step + 1)
        elif isinstance(value, Mapping):
            _add_texts(found, value.get(path[step]), path, step + 1)
    elif type(value) is str or not isinstance(value, BaseModel | Mapping):
        text = str(value)
        if text:
            found.append(text)


# -- queries and excerpts ---------------------------------------------------------------------------------------------


def terms_of(query: str) -> list[str]:
    """The words of a query, and nothing else: operators and quotes have no meaning."""
    return [word[:MAX_TERM] for word in _WORDS.findall(query[:1_000])][:MAX_TERMS]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An excerpt of a text, and where in it the words of a query are."""

    text: str
    matches: tuple[tuple[int, int], ...]


def excerpt(text: str, terms: Sequence[str], length: int = _EXCERPT) -> Excerpt:
    """The excerpt of a text around the first of some words, compared as in the index: ignoring case and accents."""
    text = " ".join(text.split())
    folded, origin = _folded(text)
    wanted = [found for term in terms if (found := _folded(term)[0])]
    spans = sorted(
        (origin[match.start()], origin[match.end() - 1] + 1)
        for term in wanted
        for match in re.finditer(rf"(?<!\w){re.escape(term)}", folded)
    )
    start = max(0, spans[0][0] - _BEFORE_MATCH) if spans and len(text) > length else 0
    if start:
        # At the beginning of a word.
        start = text.find(" ", start, spans[0][0]) + 1 or start
    piece = text[start : start + length]
    shown = ("…" if start else "") + piece + ("…" if start + length < len(text) else "")
    shift = start - (1 if start else 0)
    inside: list[tuple[int, int]] = []
    for first, last in spans:
        if first >= start and last <= start + length and (not inside or first - shift >= inside[-1][1]):
            inside.append((first - shift, last - shift))
    return Excerpt(shown, tuple(inside))


def title_of(document: Document) -> str:
    """The title of a document, or the start of its text; one line."""
    line = " ".join((document.title or document.text).split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _folded(text: str) -> tuple[str, list[int]]:
    """A text without case and accents, and for each character of it the place that it comes from."""
    characters: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        for each in unicodedata.normalize("NFKD", character):
            if not unicodedata.combining(each):
                for folded in each.lower():
                    characters.append(folded)
                    origin.append(place)
    return "".join(characters), origin
