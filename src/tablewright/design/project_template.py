"""A new project: one entity, a program that uses it, a test and a README.

    for path, text in project_files("shop").items(): ...

Everything in it works as it is: the tests, ``tablewright lint``, ``tablewright docs`` and ``tablewright plan``.
"""

from __future__ import annotations

import keyword
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

__all__ = ["ProjectError", "project_files"]


# Packages that a project imports, or has next to its own.
_TAKEN = frozenset({"tablewright", "tests", "pytest"})


class ProjectError(Exception):
    """A name that a project cannot have; the message says what to do."""


def project_files(name: str) -> dict[str, str]:
    """The files of a project, by their paths within its folder."""
    package = re.sub(r"[-. ]+", "_", name).lower()
    is_plain = package.isidentifier() and package.isascii()
    if is_plain and (keyword.iskeyword(package) or package in _TAKEN):
        why = "is a Python keyword" if keyword.iskeyword(package) else "is a package that a project has or imports"
        raise ProjectError(
            f"{name!r} cannot be the name of the project's package: it {why}; choose another, such as my-{name}"
        )
    if not is_plain:
        raise ProjectError(
            f"{name!r} cannot be the name of the project's package; use letters a to z, digits, '-' and '_', such "
            "as shop or my-shop"
        )
    if package in sys.stdlib_module_names or _is_installed(package):
        raise ProjectError(
            f"{name!r} is the name of an installed Python module, which the project would hide; choose another, "
            f"such as my-{name}"
        )
    values = {"NAME": name, "PACKAGE": package, "TITLE": package.replace("_", " ").capitalize()}
    return {
        _filled(path, values): _filled(text, values)
        for path, text in (
            ("README.md", _README),
            ("pyproject.toml", _PYPROJECT),
            (".gitignore", _GITIGNORE),
            ("PACKAGE/__init__.py", ""),
            ("PACKAGE/model.py", _MODEL),
            ("PACKAGE/notes.py", _SERVICE),
            ("tests/test_notes.py", _TEST),
        )
    }


def _is_installed(package: str) -> bool:
    """Whether there is such a module, other than in the current folder."""
    here = {"", str(Path.cwd())}
    return PathFinder.find_spec(package, [path for path in sys.path if path not in here]) is not None


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = re.sub(rf"\b{name}\b", lambda _, value=value: value, text)  # type: ignore[misc]
    return text


_README = """\
# TITLE

Notes of users, stored in DynamoDB. The design is `PACKAGE/model.py`.

```sh
python -m pip install -e '.[dev]'
python -m pytest
```

The tests run on an engine in memory. Then, from the design:

```sh
tablewright lint PACKAGE
tablewright docs PACKAGE --out docs
tablewright plan PACKAGE
tablewright meter -- python -m pytest
```

These check it for mistakes, write the design document, and show what it costs: by the declared traffic, and as the
tests consume it.

`Store.open("./data")` keeps the data in a folder, `Store.connect(region="eu-west-1")` in Amazon DynamoDB. Nothing else
changes. `tablewright studio ./data --design PACKAGE` shows that folder in a browser, with its notes and patterns.
"""

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27,<2"]
build-backend = "hatchling.build"

[project]
name = "NAME"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["tablewright"]

[project.optional-dependencies]
dev = ["tablewright[design]", "pytest>=8"]

[tool.hatch.build.targets.wheel]
packages = ["PACKAGE"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
"""

_GITIGNORE = """\
__pycache__/
.venv/
data/
"""

_MODEL = '''\
"""The design: a table, its entity, how it is read and written, and how often."""

from __future__ import annotations

from tablewright.model import (
    CreatedAt,
    Design,
    Entity,
    Get,
    ItemWrite,
    Keys,
    Query,
    Table,
    Traffic,
    Version,
    Volume,
    Write,
)

notes = Table("PACKAGE-notes", "PK", "SK")


class Note(Entity, table=notes):
    """A note of a user."""

    user_id: str
    note_id: str
    text: str
    created_at: CreatedAt = None
    version: Version = 0

    keys = Keys(PK="USER#{user_id}", SK="NOTE#{note_id}")

    @Get()
    def by_id(self, user_id: str, note_id: str) -> None:
        """A note."""

    @Query(expected=20)
    def of_user(self, user_id: str) -> None:
        """The notes of a user."""


design = Design(
    "TITLE",
    about="Notes of users.",
    tables=[notes],
    writes=[
        Write("add", ItemWrite(Note, "create")),
        Write("edit", ItemWrite(Note, "update", sets=[Note.text])),
        Write("remove", ItemWrite(Note, "delete")),
    ],
    roles={"api": ["Note.by_id", "Note.of_user", "add", "edit", "remove"]},
    volume={Note: Volume(items=100_000, size=500)},
    traffic={
        "Note.of_user": Traffic(per_second=5, peak=50),
        "Note.by_id": Traffic(per_second=5, peak=50),
        "add": Traffic(per_second=1, peak=10),
        "edit": Traffic(per_second=1, peak=10),
    },
)
'''

_SERVICE = '''\
"""The use cases of notes."""

from __future__ import annotations

from uuid import uuid4

from tablewright.model import attr
from tablewright.store import Store

from PACKAGE.model import Note, notes


class Notes:
    """The notes of all users, in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.ensure_tables(notes)

    def add(self, user_id: str, text: str) -> Note:
        return self._store.create(Note(user_id=user_id, note_id=uuid4().hex, text=text))

    def edit(self, note: Note, text: str) -> None:
        self._store.update(note, attr(Note.text).set(text))

    def remove(self, note: Note) -> None:
        self._store.delete(note)

    def of_user(self, user_id: str) -> list[Note]:
        return self._store.query(Note.of_user(user_id), limit=100).items
'''

_TEST = """\
from collections.abc import Iterator

import pytest
from tablewright.store import Store, VersionConflict

from PACKAGE.notes import Notes


@pytest.fixture
def notes() -> Iterator[Notes]:
    store = Store.open(None)
    yield Notes(store)
    store.close()


def test_a_note_is_found_by_its_user(notes: Notes) -> None:
    note = notes.add("ada", "ask Charles for more cogs")
    notes.add("charles", "make more cogs")
    assert notes.of_user("ada") == [note]


def test_a_note_can_be_edited_and_removed(notes: Notes) -> None:
    note = notes.add("ada", "draft")
    notes.edit(note, "final")
    assert [found.text for found in notes.of_user("ada")] == ["final"]
    notes.remove(note)
    assert notes.of_user("ada") == []


def test_of_two_edits_at_once_one_wins(notes: Notes) -> None:
    note = notes.add("ada", "draft")
    stale = note.model_copy()
    notes.edit(note, "mine")
    with pytest.raises(VersionConflict):
        notes.edit(stale, "yours")
"""
