"""Designs by import path and by file, and what is said when there is none."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.design.design_loading import DesignError, RefusedError, load
from tests.cli.commands import tablewright

TABLES = """
from tablewright.model import Collection, Entity, CollectionQuery, Get, Keys, Table

shop = Table("shop", "PK", "SK", type_attribute="type")

class Order(Entity, table=shop):
    id: str

    keys = Keys(PK="ORDER#{id}", SK="ORDER")

    @Get()
    def by_id(self, id: str) -> None: ...

class Line(Entity, table=shop):
    id: str
    number: int

    keys = Keys(PK="ORDER#{id}", SK="LINE#{number:03}")

class WholeOrder(Collection):
    order: Order
    lines: list[Line]

    @CollectionQuery()
    def by_id(self, id: str) -> None: ...
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own, and modules that are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return f"./{name}"


def test_a_module_of_tables_is_one_design_with_its_collections(folder: Path) -> None:
    (design,) = load(written(folder, "web_shop.py", TABLES))
    assert design.name == "Web shop"
    assert list(design.patterns) == ["Order.by_id", "WholeOrder.by_id"]


def test_a_module_that_has_designs_gives_those(folder: Path) -> None:
    text = TABLES + "\nfrom tablewright.model import Design\none = Design('One', tables=[shop])\nagain = one\n"
    (design,) = load(written(folder, "designs.py", text))
    assert (design.name, design.collections) == ("One", ())


def test_an_entity_brings_the_table_that_has_no_name(folder: Path) -> None:
    text = "from tablewright.model import *\nclass Thing(Entity, table=Table('things', 'id')):\n    id: str\n"
    (design,) = load(written(folder, "things.py", text))
    assert [table.name for table in design.tables] == ["things"]


def test_a_module_of_the_current_folder_can_be_imported(folder: Path) -> None:
    written(folder, "some_shop.py", TABLES)
    (design,) = load("some_shop")
    assert design.name == "Some shop"


def test_a_package_keeps_its_design_in_model(folder: Path) -> None:
    written(folder, "bookshop/__init__.py", "")
    written(folder, "bookshop/model.py", TABLES)
    assert [design.name for design in load("bookshop")] == ["Bookshop"]
    assert [design.name for design in load("bookshop.model")] == ["Bookshop"]


def test_a_file_of_a_package_may_import_its_neighbours(folder: Path) -> None:
    written(folder, "toyshop/__init__.py", "")
    written(folder, "toyshop/tables.py", TABLES)
    (design,) = load(written(folder, "toyshop/model.py", "from .tables import *\n"))
    assert design.name == "Toyshop"


def test_two_files_of_one_name_are_two_modules(folder: Path) -> None:
    first = written(folder, "a/json.py", TABLES)
    second = written(folder, "b/json.py", TABLES.replace('"shop"', '"second"'))
    assert [load(path)[0].tables[0].name for path in (first, second)] == ["shop", "second"]


def test_a_file_that_is_loaded_twice_declares_once(folder: Path) -> None:
    path = written(folder, "once.py", TABLES)
    assert load(path)[0].tables[0] is load(path)[0].tables[0]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing_shop", "there is no module 'missing_shop'; give one that can be imported from here"),
        ("tablewright.missing", "there is no module 'tablewright.missing'"),
        ("./missing.py", "there is no file missing.py"),
        (".", "is not an import path; give a module, such as shop.model, or a file, such as ./model.py"),
        ("./", "is a folder; give the file in it"),
        ("empty", "empty declares neither a Design nor tables; give the module that does"),
        ("needy", "needy needs the module 'not_installed_here', which is not installed here"),
        ("broken", "broken cannot be imported: ZeroDivisionError: division by zero (broken.py:1)"),
        ("halved", "halved cannot be imported: SyntaxError"),
    ],
)
def test_what_cannot_be_loaded_says_what_to_do(folder: Path, path: str, message: str) -> None:
    written(folder, "empty.py", "x = 1\n")
    written(folder, "needy.py", "import not_installed_here\n")
    written(folder, "broken.py", "1 / 0\n")
    written(folder, "halved.py", "class\n")
    with pytest.raises(DesignError) as error:
        load(path)
    assert message in str(error.value)


def test_a_module_that_uses_its_design_at_import_is_refused_with_line_and_remedy(folder: Path) -> None:
    use = "from tablewright.store import Store\n\nwith Store.open() as store:\n    store.create(Order(id='1'))\n"
    with pytest.raises(DesignError) as error:
        load(written(folder, "program.py", TABLES + use))
    line = (TABLES + use).count("\n")
    assert str(error.value).endswith(
        f'(program.py:{line}); put code that runs at import under if __name__ == "__main__":'
    )


def test_of_a_folder_the_file_with_a_model_is_named(folder: Path) -> None:
    written(folder, "project/shop/model.py", TABLES)
    with pytest.raises(DesignError, match=r"give the file in it, such as project/shop/model\.py,"):
        load("./project")


def test_a_refused_declaration_is_distinguished_from_a_broken_module(folder: Path) -> None:
    text = "from tablewright.model import *\n\n\nclass Row(Entity, table=Table('rows', 'PK')):\n    id: str\n"
    with pytest.raises(RefusedError) as refusal:
        load(written(folder, "refused.py", text))
    assert refusal.value.where == "refused.py:4"
    assert str(refusal.value.error).startswith(
        "Row does not define the key attribute PK; add it to keys, or store a field in it"
    )


def test_a_module_that_ends_the_program_is_no_design(folder: Path) -> None:
    written(folder, "ending.py", "import sys\nsys.exit(0)\n")
    written(folder, "quitting.py", "raise SystemExit('no')\n")
    for name in ("ending", "quitting", "./ending.py"):
        with pytest.raises(DesignError, match=r"exits when it is imported .*py:[12]"):
            load(name)


def test_a_keyboard_interrupt_is_not_caught(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load(written(folder, "interrupted.py", "raise KeyboardInterrupt\n"))


def test_an_error_of_several_lines_is_reported_in_one(folder: Path) -> None:
    with pytest.raises(DesignError) as error:
        load(written(folder, "lines.py", "raise ValueError('one\\n  two\\nthree')\n"))
    assert "ValueError: one two three" in str(error.value)


def test_two_designs_of_one_name_are_refused(folder: Path) -> None:
    designs = "one = Design('Shop', tables=[shop])\nother = Design('Shop', tables=[shop])\n"
    text = f"from tablewright.model import Design\n{TABLES}\n{designs}"
    with pytest.raises(DesignError, match="has two designs named 'Shop'; rename one of them"):
        load(written(folder, "twice.py", text))


def test_two_tables_of_one_name_are_refused(folder: Path) -> None:
    text = "from tablewright.model import *\none = Table('rows', 'id')\nother = Table('rows', 'id')\n"
    with pytest.raises(RefusedError, match="has two tables named 'rows', and names must be unique"):
        load(written(folder, "rows.py", text))


def test_what_a_module_prints_is_nothing_that_a_command_says(folder: Path) -> None:
    written(folder, "chatty.py", f"print('loading')\n{TABLES}\n")
    done = tablewright("diff", "--snapshot", "chatty", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["designs"]] == ["Chatty"]
    assert done.stderr == "loading\n"
