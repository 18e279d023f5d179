"""Outside of design, its public names are used: those of ``tablewright.design`` and of its rooms."""

import ast
import importlib
from pathlib import Path

import pytest

from tablewright import design

SOURCE = Path(design.__file__).resolve().parent.parent
ROOMS = sorted(path.parent.name for path in (SOURCE / "design").glob("*/__init__.py"))


def imports(path: Path) -> list[tuple[str, str]]:
    """The module and the name of each import from design in a file."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tablewright.design")
        for alias in node.names
    ]


def test_other_packages_import_public_names_only() -> None:
    public = {f"tablewright.design{room}" for room in ("", *(f".{name}" for name in ROOMS))}
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "design"):
            continue
        for module, name in imports(path):
            assert module in public, f"{path} imports {module}, which is private to design"
            if not (module == "tablewright.design" and name in ROOMS):
                assert name in importlib.import_module(module).__all__, f"{path} imports {name} of {module}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_public_names_that_exist(room: str) -> None:
    module = importlib.import_module(f"tablewright.design.{room}")
    assert module.__all__
    assert all(hasattr(module, name) for name in module.__all__)


def test_a_service_does_not_load_the_design_tools() -> None:
    """``tablewright.design`` itself is light; rooms are loaded by who imports them."""
    tree = ast.parse((SOURCE / "design" / "__init__.py").read_text("utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert all(module is not None and module.count(".") == 2 for module in modules)
    assert not {f"tablewright.design.{room}" for room in ROOMS} & modules
