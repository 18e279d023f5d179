"""What lint is made of: rules, and the findings that they give.

A rule is a function from a context of a design to what it finds, registered with its id:

    @rule("unused-index", "An index that no pattern reads", "warning")
    def unused_index(context: LintContext) -> Iterator[Occurrence]:
        yield Occurrence("Calls/byProvider", "what is wrong, in a sentence or two", "the repair")

A severity says what to do about a finding. An error gives wrong answers or loses data; a warning costs, or will; an
advice is worth a look. ``ModelError``s that name a rule are findings of that rule, made before lint could look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tablewright.design.lint.lint_context import LintContext

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True)
class Occurrence:
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
    find: Callable[[LintContext], Iterator[Occurrence]]


@dataclass(frozen=True, slots=True)
class LintFinding:
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
) -> Callable[[Callable[[LintContext], Iterator[Occurrence]]], Callable[[LintContext], Iterator[Occurrence]]]:
    """Registers a rule."""

    def register(find: Callable[[LintContext], Iterator[Occurrence]]) -> Callable[[LintContext], Iterator[Occurrence]]:
        if id in RULES:
            raise ValueError(f"there are two rules {id!r}")
        RULES[id] = Rule(id, title, severity, find)
        return find

    return register
