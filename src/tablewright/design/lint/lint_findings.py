"""What lint is made of: rules, and the findings that they give.

A rule is a function from a view of a design to what it finds, registered with its id:

    @rule("unused-index", "An index that no pattern reads", "warning")
    def unused_index(view: View) -> Iterator[Found]:
        yield Found("Calls/byProvider", "what is wrong, in a sentence or two", "the repair")

A severity says what to do about a finding. An error gives wrong answers or loses data; a warning costs, or will; an
advice is worth a look. ``ModelError``s that name a rule are findings of that rule, made before lint could look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tablewright.design.lint.design_view import View

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule says about one place."""

    # Entity.field, Entity.pattern, table/index, or the name of a write, a need, a reaction or a claim.
    place: str
    message: str
    repair: str
    # File and line, where the place has one.
    where: str | None = None
    # Less than the rule's severity, where this case is not as bad.
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A mistake that lint knows."""

    id: str
    title: str
    severity: Severity
    find: Callable[[View], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake in a design."""

    rule: str
    severity: Severity
    design: str
    place: str
    message: str
    repair: str
    where: str | None = None
    # Why it stays, when the design accepts it.
    accepted: str | None = None


RULES: dict[str, Rule] = {}
"""Every rule by its id."""


def rule(
    id: str, title: str, severity: Severity
) -> Callable[[Callable[[View], Iterator[Found]]], Callable[[View], Iterator[Found]]]:
    """Registers a rule."""

    def register(find: Callable[[View], Iterator[Found]]) -> Callable[[View], Iterator[Found]]:
        if id in RULES:
            raise ValueError(f"there are two rules {id!r}")
        RULES[id] = Rule(id, title, severity, find)
        return find

    return register
