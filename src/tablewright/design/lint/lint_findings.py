"""Lint rules, and the findings that they report.

A rule is a function that yields what it finds in a design, registered with its id:

    @rule("unused-index", "An index that no pattern reads", "warning")
    def unused_index(context: LintContext) -> Iterator[Occurrence]:
        yield Occurrence("Calls/byProvider", "what is wrong, in a sentence or two", "the repair")

Severities: an error gives wrong results or loses data; a warning costs money, or will; advice is worth a look. A
``ModelError`` that names a rule becomes a finding of that rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tablewright.design.lint.lint_context import LintContext

Severity = Literal["error", "warning", "advice"]
"""What to do about a finding: an error loses data or gives wrong results, a warning costs, advice is worth a look."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What a rule finds at one place."""

    # Entity.field, Entity.pattern, table/index, or the name of a write, a need, a reaction or a claim.
    place: str
    message: str
    repair: str
    # File and line, where the place has one.
    where: str | None = None
    # Lower than the severity of the rule, if this case is less severe.
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A mistake that lint looks for."""

    id: str
    title: str
    severity: Severity
    find: Callable[[LintContext], Iterator[Occurrence]]


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A mistake that lint has found in a design."""

    rule: str
    severity: Severity
    design: str
    place: str
    message: str
    repair: str
    where: str | None = None
    # The reason, if the design accepts it.
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
