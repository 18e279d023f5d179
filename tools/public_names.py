"""The names that Tablewright promises, read from the source without importing it.

    for module in public_modules():
        module.name               tablewright.store
        module.names              its __all__; without one, what it defines and does not begin with "_"
        module.origins["Page"]    tablewright.store.read.query, where that is defined

They are what the API reference of the site lists, and what has to be documented (tests/test_documented.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

# What is public beside the packages that say so themselves with __all__.
MODULES = ("tablewright.pytest_plugin", "tablewright.wire.boto")
# Packages with an __all__ for the parts around them, not for users.
_INTERNAL = ("cli", "systems", "engine.partiql", "engine.requests", "dynamo.expressions")


@dataclass(frozen=True, slots=True)
class PublicModule:
    """A module or package, and its public names."""

    name: str
    path: Path
    names: tuple[str, ...]
    origins: dict[str, str] = field(default_factory=dict)
    # Its docstring.
    text: str = ""

    @property
    def summary(self) -> str:
        return self.text.partition("\n")[0]


def public_modules(source: Path = SOURCE) -> list[PublicModule]:
    """Every public module, in the order of their names."""
    root = source / "tablewright"
    found = {name: read_module(name, source) for name in MODULES}
    for path in root.rglob("__init__.py"):
        name = ".".join(path.parent.relative_to(source).parts)
        inner = name.removeprefix("tablewright").removeprefix(".")
        if any(inner == each or inner.startswith(f"{each}.") for each in _INTERNAL):
            continue
        if _all(_tree(path)) is not None:
            found[name] = read_module(name, source)
    return [found[name] for name in sorted(found)]


def read_module(name: str, source: Path = SOURCE) -> PublicModule:
    """A module with its public names."""
    path = _file(name, source)
    tree = _tree(path)
    imported = _imported(path)
    names = _all(tree)
    if names is None:
        names = [each for each in _defined(tree) if not each.startswith("_")]
    origins = {each: _origin(imported[each], each, source) if each in imported else name for each in names}
    return PublicModule(name, path, tuple(names), origins, ast.get_docstring(tree) or "")


def bases(module: str, name: str, source: Path = SOURCE) -> set[str]:
    """The names of the bases of a class, as it is written."""
    for node in _tree(_file(module, source)).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {ast.unparse(base).partition("[")[0] for base in node.bases}
    return set()


def _file(name: str, source: Path) -> Path:
    path = source.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _origin(module: str, name: str, source: Path) -> str:
    """Where a name that is imported from `module` is defined: packages may hand it on, and a name may be a module."""
    if _file(f"{module}.{name}", source).exists():
        return f"{module}.{name}"
    path = _file(module, source)
    if not path.exists():
        return module
    handed_on = _imported(path)
    is_own = name in _defined(_tree(path)) or name not in handed_on
    return module if is_own else _origin(handed_on[name], name, source)


def _all(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), filename=str(path))


@cache
def _imported(path: Path) -> dict[str, str]:
    """The names that a module imports from others, each with its module."""
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level
        for alias in node.names
    }


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
