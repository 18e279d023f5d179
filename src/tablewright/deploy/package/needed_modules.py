"""What a system imports: parts of Tablewright, and distributions.

Read from the sources, so that what is imported only when it is used counts too. What is imported for types alone does
not. Names that a package loads on first use (``tablewright.runtime``) are followed to where they are.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

__all__ = ["NeededModules", "needed_by"]

_SELF = "tablewright"
# What is found by name at run time, where nothing imports it: by what module it is.
_FOUND_BY_NAME = {"zoneinfo": ["tzdata"], "uvicorn": ["httptools", "uvloop", "websockets"]}


@dataclass(frozen=True, slots=True)
class NeededModules:
    """Modules by their full names, and distributions by theirs."""

    modules: frozenset[str]
    distributions: frozenset[str]

    @property
    def packages(self) -> set[str]:
        """The parts of Tablewright that are needed as wholes: what is in them may be found by name only."""
        found = set()
        for name in self.modules:
            steps = name.split(".")
            if steps[0] == _SELF and len(steps) > 1:
                depth = 3 if steps[1] == "systems" else 2
                found.add(".".join(steps[:depth]))
        return found - {f"{_SELF}.systems"}

    def __or__(self, other: NeededModules) -> NeededModules:
        return NeededModules(self.modules | other.modules, self.distributions | other.distributions)


def needed_by(*names: str, without: Collection[str] = ()) -> NeededModules:
    """All that some modules import, and what those import; but not what is in ``without``, packages by their names."""
    own = {name.partition(".")[0] for name in names} | {_SELF}
    seen: set[str] = set()
    others: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path = _file(name)
        if path is None:
            continue
        waiting += [parent for parent in _parents(name) if parent not in seen]
        for imported in _imports(path, name):
            if imported.partition(".")[0] in own:
                imported = _resolved(imported)
                if not any(f"{imported}.".startswith(f"{package}.") for package in without):
                    waiting.append(imported)
            elif (distributed := imported.partition(".")[0]) not in without:
                others.add(distributed)
    return NeededModules(frozenset(seen), frozenset(_distributions(others)))


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


@cache
def _file(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(path: Path, module: str) -> Iterator[str]:
    """Everything that a module imports, anywhere in it, but not for types alone."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                outer = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*outer, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        waiting += ast.iter_child_nodes(node)


def _resolved(imported: str) -> str:
    """The module of what is imported: itself, the one that a package loads the name from, or the one it is in."""
    if _file(imported) is not None:
        return imported
    module, _, name = imported.rpartition(".")
    path = _file(module)
    if path is not None and path.stem == "__init__":
        return _loaded_from(path).get(name, module)
    return module


@cache
def _loaded_from(path: Path) -> dict[str, str]:
    """The names that a package loads on first use: those that it imports for type checkers."""
    found = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                if isinstance(each, ast.ImportFrom) and each.module:
                    found.update({alias.name: each.module for alias in each.names})
    return found


def _distributions(modules: set[str]) -> Iterator[str]:
    known = metadata.packages_distributions()
    for module in modules.union(*(_FOUND_BY_NAME.get(each, ()) for each in modules)):
        if module not in sys.stdlib_module_names and module in known:
            yield re.sub(r"[-_.]+", "-", known[module][0]).lower()
