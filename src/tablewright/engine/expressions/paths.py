"""Document paths: looking one up, writing one in a message, and two of them getting in each other's way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tablewright.engine.expressions.nodes import NameRef, Path, PathPart
from tablewright.engine.expressions.reserved import is_reserved
from tablewright.engine.values import AttributeValue, Item

MAX_PATH_DEPTH = 32
MAX_INDEX = 2**31 - 1


def path_text(parts: Sequence[PathPart]) -> str:
    """A path as DynamoDB writes it in messages: ``[a, [0], b]``."""
    return "[" + ", ".join(f"[{part}]" if isinstance(part, int) else part for part in parts) + "]"


def word_problem(path: Path) -> str | None:
    """A reserved word, or a list index that cannot be one."""
    for part in path.parts:
        if isinstance(part, int):
            if part > MAX_INDEX:
                return f"List index is not within the allowable range; index: [{part}]"
        elif not isinstance(part, NameRef) and is_reserved(part):
            return f"Attribute name is a reserved keyword; reserved keyword: {part}"
    return None


def name_problem(path: Path, names: Mapping[str, str]) -> str | None:
    """A ``#name`` that the request does not define, or a path that goes deeper than an item can."""
    for part in path.parts:
        if isinstance(part, NameRef) and part not in names:
            return f"An expression attribute name used in the document path is not defined; attribute name: {part}"
    if len(path.parts) > MAX_PATH_DEPTH:
        return f"The document path has too many nesting levels; nesting levels: {len(path.parts)}"
    return None


def resolved(path: Path, names: Mapping[str, str]) -> Path:
    """The path with its ``#names`` replaced; one that is not defined stays, for whoever reports it."""
    if any(isinstance(part, NameRef) for part in path.parts):
        return Path(tuple(names.get(str(part), part) for part in path.parts))
    return path


def clash(paths: Iterable[Path]) -> str | None:
    """Two paths of one update or projection that overlap, or else two that conflict."""
    heads: dict[PathPart, list[tuple[PathPart, ...]]] = {}
    conflict: str | None = None
    for path in paths:
        parts = path.parts
        # Paths can only meet under the same attribute, so a wide projection stays cheap to check.
        for other in heads.get(parts[0], ()):
            problem = _clash(other, parts)
            if problem == "overlap":
                return _clash_text("overlap", other, parts)
            if problem == "conflict" and conflict is None:
                conflict = _clash_text("conflict", other, parts)
        heads.setdefault(parts[0], []).append(parts)
    return conflict


def _clash(one: Sequence[PathPart], two: Sequence[PathPart]) -> str | None:
    for left, right in zip(one, two, strict=False):
        if isinstance(left, int) != isinstance(right, int):
            return "conflict"
        if left != right:
            return None
    return "overlap"


def _clash_text(problem: str, one: Sequence[PathPart], two: Sequence[PathPart]) -> str:
    return (
        f"Two document paths {problem} with each other; must remove or rewrite one of these paths; "
        f"path one: {path_text(one)}, path two: {path_text(two)}"
    )


def lookup(item: Item, parts: Sequence[PathPart]) -> AttributeValue | None:
    """The value at a path, or None where the item has none."""
    value = item.get(str(parts[0]))
    for part in parts[1:]:
        if value is None:
            return None
        if isinstance(part, int):
            elements = value.get("L")
            if elements is None or part >= len(elements):
                return None
            value = elements[part]
        else:
            members = value.get("M")
            if members is None:
                return None
            value = members.get(part)
    return value


def getter(parts: tuple[PathPart, ...]) -> Callable[[Item], AttributeValue | None]:
    """``lookup`` for one path, as quick as it can be."""
    if len(parts) == 1:
        name = str(parts[0])
        return lambda item: item.get(name)
    return lambda item: lookup(item, parts)


def top_level(paths: Iterable[Path]) -> frozenset[str]:
    """The attributes that the paths start from."""
    return frozenset(str(path.parts[0]) for path in paths)


def nested(paths: Iterable[Path]) -> frozenset[str]:
    """The attributes that a path goes into, which a key attribute does not allow."""
    return frozenset(str(path.parts[0]) for path in paths if len(path.parts) > 1)
