"""The parameters of an access pattern, as a function declares them.

    @Query("byStatus", range="created_at")
    def by_status(self, status: Status, *, since: datetime | None = None) -> None: ...

The function is not called, unless it returns a filter: then its first argument is the entity class, whose fields are
expressions (``attr(self.price) < price``).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
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
        self.positional = tuple(each.name for each in parameters if each.kind is _KINDS[0])
        self.required = frozenset(each.name for each in parameters if each.default is each.empty)
        optional = [each for each in parameters if each.default is not each.empty]
        self.defaults = {each.name: each.default for each in optional if each.default is not None}
        self.returns_filter = self.signature.return_annotation not in (None, "None", self.signature.empty)
        # Parameters that only the filter uses; known once the key is.
        self.filtered_by: frozenset[str] = frozenset()
        # Parameters that take several values; once the key is known, fields of the partition key only.
        self.several = frozenset(each.name for each in parameters if _takes_several(each.annotation))
        self._bound: dict[type, Callable[..., Any]] = {}

    def bound(self, owner: type, make: Callable[[Any, PatternSignature], Callable[..., R]]) -> Callable[..., R]:
        """The pattern as a function of an entity class, with its signature and documentation."""
        function = self._bound.get(owner)
        if function is None:
            function = make(owner, self)
            parameters = list(self.parameters.values())
            function.__name__ = self.declaration.__name__
            function.__qualname__ = f"{owner.__name__}.{self.declaration.__name__}"
            function.__doc__ = inspect.cleandoc(self.declaration.__doc__ or "") or None
            function.__signature__ = self.signature.replace(parameters=parameters)  # type: ignore[attr-defined]
            self._bound[owner] = function
        return function

    def values(self, owner: type, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a call, by parameter; raises TypeError as a call of the declared function would."""
        values = dict(zip(self.positional, given, strict=False)) if given else {}
        if len(given) > len(self.positional) or not values.keys().isdisjoint(named):
            self._refuse(owner, given, named)
        values.update(named)
        if not (self.required <= values.keys() <= self.parameters.keys()):
            self._refuse(owner, given, named)
        return {**self.defaults, **values} if self.defaults else values

    def _refuse(self, owner: type, given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        try:
            self.signature.bind(owner, *given, **named)
        except TypeError as error:
            takes = ", ".join(self.names)
            raise TypeError(f"{owner.__name__}.{self.declaration.__name__}: {error}; it takes {takes}") from None


def _takes_several(annotation: Any) -> bool:
    """Whether a parameter is annotated as several values; it may be text, which cannot always be resolved."""
    if isinstance(annotation, str):
        return _SEVERAL.match(annotation) is not None
    origin = get_origin(annotation)
    return isinstance(origin, type) and hasattr(origin, "__contains__")
