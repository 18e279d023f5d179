"""Document paths in expressions: ``#names``, reserved words, limits, and two paths that overlap or conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tablewright.dynamo.expressions.nodes import NameRef, Path, PathPart
from tablewright.dynamo.expressions.reserved_words import is_reserved
from tablewright.dynamo.limits import MAX_LIST_INDEX, MAX_PATH_DEPTH


def path_text(parts: Sequence[PathPart]) -> str:
    """A path as DynamoDB writes it in messages: ``[a, [0], b]``."""
    return "[" + ", ".join(f"[{part}]" if isinstance(part, int) else part for part in parts) + "]"


def word_problem(path: Path) -> str | None:
    """A reserved word, or a list index that cannot be one."""
    for part in path.parts:
        if isinstance(part, int):
            if part > MAX_LIST_INDEX:
                return f"List index is not within the allowable range; index: [{part}]"
        elif not isinstance(part, NameRef) and is_reserved(part):
            return f"Attribute name is a reserved keyword; reserved keyword: {part}"
    return None


def name_problem(path: Path, names: Mapping[str, str]) -> str | None:
    """A ``#name`` that the request does not define, or a path nested deeper than an item can be."""
    for part in path.parts:
        if isinstance(part, NameRef) and part not in names:
            return f"An expression attribute name used in the document path is not defined; attribute name: {part}"
    if len(path.parts) > MAX_PATH_DEPTH:
        return f"The document path has too many nesting levels; nesting levels: {len(path.parts)}"
    return None


def resolved(path: Path, names: Mapping[str, str]) -> Path:
    """The path with its ``#names`` replaced; an undefined one stays, and is reported elsewhere."""
    if any(isinstance(part, NameRef) for part in path.parts):
        return Path(tuple(names.get(str(part), part) for part in path.parts))
    return path


class _Step:
    """A node of the tree of paths: the first path through it, and the next nodes."""

    __slots__ = ("ends", "first", "first_index", "first_name", "next")

    def __init__(self, first: int) -> None:
        self.first = first
        self.ends = False
        # The first path that continues with a list index, and the first with a name.
        self.first_index: int | None = None
        self.first_name: int | None = None
        self.next: dict[PathPart, _Step] = {}


def clash(paths: Iterable[Path]) -> str | None:
    """Two paths of one update or projection that overlap, or else two that conflict.

    Each path is compared with all before it by walking once along their common part, because an expression has space
    for a thousand paths.
    """
    seen: list[tuple[PathPart, ...]] = []
    root = _Step(0)
    conflict: tuple[int, int] | None = None
    for number, path in enumerate(paths):
        parts = path.parts
        seen.append(parts)
        step = root
        conflicting: int | None = None
        for part in parts:
            if step is not root:
                other_kind = step.first_name if isinstance(part, int) else step.first_index
                if other_kind is not None and (conflicting is None or other_kind < conflicting):
                    conflicting = other_kind
            if isinstance(part, int):
                step.first_index = number if step.first_index is None else step.first_index
            else:
                step.first_name = number if step.first_name is None else step.first_name
            following = step.next.get(part)
            if following is None:
                following = step.next[part] = _Step(number)
            elif following.ends:
                return _clash_text("overlap", seen[following.first], parts)
            step = following
        if step.first != number:
            return _clash_text("overlap", seen[step.first], parts)
        step.ends = True
        if conflict is None and conflicting is not None:
            conflict = (conflicting, number)
    return None if conflict is None else _clash_text("conflict", seen[conflict[0]], seen[conflict[1]])


def _clash_text(problem: str, one: Sequence[PathPart], two: Sequence[PathPart]) -> str:
    return (
        f"Two document paths {problem} with each other; must remove or rewrite one of these paths; "
        f"path one: {path_text(one)}, path two: {path_text(two)}"
    )


def top_level_names(paths: Iterable[Path]) -> frozenset[str]:
    """The attributes that the paths start from."""
    return frozenset(str(path.parts[0]) for path in paths)


def nested_names(paths: Iterable[Path]) -> frozenset[str]:
    """The attributes that a path goes into, which key attributes do not allow."""
    return frozenset(str(path.parts[0]) for path in paths if len(path.parts) > 1)
