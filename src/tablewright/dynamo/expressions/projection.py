"""Projections: the part of an item that a read asks for.

The paths become a tree of steps, and an item is copied along it. Elements of a list are returned in the order of the
list without gaps, in whatever order they were requested; a path without a value leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tablewright.dynamo.attribute_values import AttributeValue, Item
from tablewright.dynamo.expressions.compile_cache import compiler
from tablewright.dynamo.expressions.nodes import NameRef, Path, PathPart
from tablewright.dynamo.expressions.parser import InvalidExpression, Parser
from tablewright.dynamo.expressions.path_checks import (
    clash,
    name_problem,
    nested_names,
    resolved,
    top_level_names,
    word_problem,
)

_KIND = "ProjectionExpression"

Tree = dict[PathPart, "Tree | None"]


class ProjectionProgram:
    """Paths, none inside another, to be read from any number of items."""

    __slots__ = ("_flat", "_tree", "nested_attributes", "top_level_attributes", "used_names")

    def __init__(self, paths: Iterable[Path], used_names: frozenset[str] = frozenset()) -> None:
        paths = list(paths)
        self.used_names = used_names
        self.top_level_attributes = top_level_names(paths)
        self.nested_attributes = nested_names(paths)
        self._tree = _tree(paths)
        self._flat = None if self.nested_attributes else tuple(str(path.parts[0]) for path in paths)

    def apply(self, item: Item) -> Item:
        """The projected item; its values are those of the item, not copies."""
        if self._flat is not None:
            return {name: item[name] for name in self._flat if name in item}
        result: Item = {}
        for name, subtree in self._tree.items():
            value = item.get(str(name))
            if value is not None and (value := _along(value, subtree)) is not None:
                result[str(name)] = value
        return result


@compiler(_KIND)
def compile_projection(text: str, names: Mapping[str, str]) -> ProjectionProgram:
    written = Parser(_KIND, text).projection()
    problems = [word_problem(path) for path in written]
    problems += [name_problem(path, names) for path in written]
    paths = [resolved(path, names) for path in written]
    for problem in problems:
        if problem is not None:
            raise InvalidExpression(_KIND, problem)
    if (problem := clash(paths)) is not None:
        raise InvalidExpression(_KIND, problem)
    used = frozenset(str(part) for path in written for part in path.parts if isinstance(part, NameRef))
    return ProjectionProgram(paths, used)


def _tree(paths: Iterable[Path]) -> Tree:
    root: Tree = {}
    for path in paths:
        node = root
        for part in path.parts[:-1]:
            child = node.setdefault(part, {})
            assert child is not None, "no path is inside another"
            node = child
        node[path.parts[-1]] = None
    return _sorted(root)


def _sorted(tree: Tree) -> Tree:
    """List positions in ascending order; the steps of one level are all positions or all names."""
    positions = sorted(part for part in tree if isinstance(part, int))
    return {part: _sorted(child) if (child := tree[part]) else None for part in positions or tree}


def _along(value: AttributeValue, tree: Tree | None) -> AttributeValue | None:
    if tree is None:
        return value
    if "L" in value:
        elements = value["L"]
        found = [
            part
            for position, subtree in tree.items()
            if isinstance(position, int)
            and position < len(elements)
            and (part := _along(elements[position], subtree)) is not None
        ]
        return {"L": found} if found else None
    if "M" in value:
        members = value["M"]
        kept = {
            name: part
            for name, subtree in tree.items()
            if name in members and (part := _along(members[name], subtree)) is not None
        }
        return {"M": kept} if kept else None
    return None
