"""The parameters of an access pattern, as a function declares them.

    @Query("byStatus")
    def by_status(self, status: Status, *, since: datetime | None = None) -> None: ...

The function is not called, unless it returns a filter: then its first argument has the fields of the entity class,
for expressions (``attr(self.price) < price``).
"""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, get_origin

from tablewright.model.errors import ModelError

__all__ = ["PatternSignature"]

R = TypeVar("R")
# Types of parameters that take several values.
_SEVERAL = re.compile(r"(?:[\w.]*\.)?(Sequence|Collection|Iterable|list|tuple|set|frozenset|AbstractSet|Set)\[")
_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class PatternSignature:
    """What a pattern takes: names, in their order, and which of them need not be given."""

    def __init__(self, declaration: Callable[..., Any]) -> None:
        self.declaration = declaration
        self.signature = inspect.signature(declaration)
        declared = list(self.signature.parameters.values())
        parameters = declared[1:]
        if not declared or any(each.kind not in _KINDS for each in parameters):
            raise ModelError(
                f"{declaration.__qualname__}: declare a pattern as `def {declaration.__name__}(self, ...)`, "
                "with a name for each parameter"
            )
        self.parameters = {each.name: each for each in parameters}
        self.names = tuple(self.parameters)
        self.required = frozenset(each.name for each in parameters if each.default is each.empty)
        self.returns_filter = self.signature.return_annotation not in (None, "None", self.signature.empty)
        # Parameters that only the filter uses; known once the key is.
        self.filtered_by: frozenset[str] = frozenset()
        # Parameters that take several values; once the key is known, fields of the partition key only.
        self.several = frozenset(each.name for each in parameters if _takes_several(each.annotation))
        # Parameters of a collection that are about one of its members: its name, and what they are of it.
        self.of_members: dict[str, tuple[str, str]] = {}
        self._bound: dict[type, Callable[..., Any]] = {}

    @property
    def uses_parameters(self) -> bool:
        """Whether the function uses any of its parameters; one that is wrapped may."""
        code = getattr(self.declaration, "__code__", None)
        if code is None or not {*self.names} <= {*code.co_varnames}:
            return True
        local = {*dis.haslocal, *dis.hasfree}
        used = [each.argval for each in dis.get_instructions(code) if each.opcode in local]
        # Later versions of Python load two at once.
        return not {*self.names}.isdisjoint(
            name for each in used for name in ([each] if isinstance(each, str) else each)
        )

    def bound(
        self, owner: type, result: type, make: Callable[[Any, PatternSignature], Callable[[dict[str, Any]], R]]
    ) -> Callable[..., R]:
        """The pattern as a function of an entity class, with its signature and documentation.

        ``make`` gives what is called with the values of each call, by parameter; ``result`` is what that returns.
        """
        function: Callable[..., R] | None = self._bound.get(owner)
        if function is None:
            function = self._compiled(make(owner, self))
            function.__name__ = self.declaration.__name__
            function.__qualname__ = f"{owner.__name__}.{self.declaration.__name__}"
            function.__doc__ = inspect.cleandoc(self.declaration.__doc__ or "") or None
            function.__signature__ = self.signature.replace(  # type: ignore[attr-defined]
                parameters=list(self.parameters.values()), return_annotation=f"{result.__name__}[{owner.__name__}]"
            )
            self._bound[owner] = function
        return function

    def _compiled(self, finish: Callable[[dict[str, Any]], R]) -> Callable[..., R]:
        """A function that takes the parameters, and calls another one with their values; None is the same as not given.

        It is compiled, as those of dataclasses are: every read begins here, and Python checks the arguments in no time.
        """
        # What no parameter is called.
        own = "_" * (1 + max((len(name) for name in self.parameters), default=0))
        known: dict[str, Any] = {f"{own}finish": finish}
        taken, always, others = [], [], []
        for each in self.parameters.values():
            if each.kind is _KINDS[1] and "*" not in taken:
                taken.append("*")
            if each.default is not each.empty:
                known[f"{own}{each.name}"] = each.default
                taken.append(f"{each.name}={own}{each.name}")
            else:
                taken.append(each.name)
            if each.default is None:
                others.append(f"    if {each.name} is not None: {own}values[{each.name!r}] = {each.name}")
            else:
                always.append(f"{each.name!r}: {each.name}")
        head = f"def pattern({', '.join(taken)}):"
        if others:
            lines = [head, f"    {own}values = {{{', '.join(always)}}}", *others]
            lines.append(f"    return {own}finish({own}values)")
        else:
            lines = [head, f"    return {own}finish({{{', '.join(always)}}})"]
        exec("\n".join(lines), known)
        return known["pattern"]  # type: ignore[no-any-return]


def _takes_several(annotation: Any) -> bool:
    """Whether a parameter is annotated as several values; it may be text, which cannot always be resolved."""
    if isinstance(annotation, str):
        return _SEVERAL.match(annotation) is not None
    origin = get_origin(annotation)
    return isinstance(origin, type) and hasattr(origin, "__contains__")
