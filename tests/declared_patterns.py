"""Access patterns and rules of designs that tests generate, declared without writing a function for each."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from operator import attrgetter
from typing import Any, TypeVar

from tablewright.model import CollectionQuery, FieldCondition, Get, Numbered, Query, Template, Unique, attr
from tablewright.model.declarations import GroupRule
from tablewright.model.keys.key_rules import KeyRule

P = TypeVar("P", Get, Query, CollectionQuery)


def fields_in(rule: str | KeyRule) -> list[str]:
    """The fields that a key attribute is made of, in their order."""
    return [field.name for field in (Template(rule) if isinstance(rule, str) else rule.template).fields]


def grouped(marker: Unique | Numbered, field: str, *per: str) -> GroupRule:
    """A field that is unique or numbered within the items that have the same values of other fields."""
    return marker(lambda self: attr(attrgetter(field)(self)).per(*(attrgetter(each)(self) for each in per)))


def taking(pattern: P, *required: str, optional: str = "", where: Callable[..., FieldCondition] | None = None) -> P:
    """A pattern that takes the given parameters, and further ones by name; ``where`` is called for its filter.

    A ``where`` that takes nothing but ``self`` uses none of them.
    """
    if where is not None and list(signature(where).parameters) == ["self"]:
        named: list[str] = ["self", *required, *(["*"] if optional else [])]
        named += [f"{name}=None" for name in optional.split()]
        known: dict[str, Any] = {"where": where}
        exec(f"def declaration({', '.join(named)}): return where(self)", known)
        known["declaration"].__annotations__["return"] = FieldCondition
        return pattern(known["declaration"])

    def declaration(self: Any, **values: Any) -> Any:
        assert where is not None
        return where(self, **values)

    first = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    needed: list[Parameter] = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in required]
    others: list[Parameter] = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in optional.split()]
    returned = None if where is None else FieldCondition
    declaration.__signature__ = Signature(  # type: ignore[attr-defined]
        [first, *needed, *others], return_annotation=returned
    )
    return pattern(declaration)  # type: ignore[arg-type]
