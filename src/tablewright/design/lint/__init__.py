"""Lint: the mistakes in a design, found before anything is built.

    findings = lint(design)               what is wrong, the worst first; what the design accepts is marked
    refused(error, where)                 the same of a design that the model refuses to be made

Rules are in small modules by what they look at; each is documented in docs/lint.md under its id.

    key_values   what stands in a key               hand_made    keys that a writer composes
    reading      access patterns and indexes        writing      writes, events and counters
    partitions   how load spreads                   limits       sizes and numbers that DynamoDB bounds
    figures      units and prices that are stated
    context, kinds  what the rules look at             findings     rules, and what they give
"""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.lint import (
    claim_rules,
    composed_key_rules,
    hot_partition_rules,
    key_value_rules,
    limit_rules,
    read_rules,
    write_rules,
)
from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import RULES, LintFinding, Occurrence, Rule, Severity, rule
from tablewright.model import Design, ModelError

__all__ = ["FAMILIES", "RULES", "LintFinding", "Occurrence", "Rule", "Severity", "lint", "refused", "rule"]

FAMILIES = (key_value_rules, composed_key_rules, read_rules, write_rules, hot_partition_rules, limit_rules, claim_rules)

_ORDER: tuple[Severity, ...] = ("error", "warning", "advice")


def lint(design: Design) -> list[LintFinding]:
    """Everything that is wrong with a design, the worst first."""
    context = LintContext(design)
    reasons = {(accepted.rule, accepted.place): accepted.reason for accepted in design.accepted}
    findings = [
        LintFinding(
            known.id,
            found.severity or known.severity,
            design.name,
            found.place,
            found.message,
            found.repair,
            found.where,
            reasons.get((known.id, found.place)),
        )
        for rule_ in RULES.values()
        for known, found in _find(rule_, context)
    ]
    findings += _unused(design, findings)
    return sorted(dict.fromkeys(findings), key=lambda finding: _ORDER.index(finding.severity))


def _find(known: Rule, context: LintContext) -> Iterator[tuple[Rule, Occurrence]]:
    """What a rule finds; that it cannot be judged, where the size of an item cannot be told."""
    try:
        for found in known.find(context):
            yield known, found
    except ModelError as error:
        place, _, message = str(error).partition(": ")
        told = f"The size of an item is needed for load and units, and there is none: {message.rpartition('; ')[0]}."
        yield (
            RULES["no-sample"],
            Occurrence(place, told, "Declare its Volume, or give the field Field(examples=[...])."),
        )


@rule("no-sample", "An entity whose size cannot be told", "warning")
def _no_sample(_: LintContext) -> Iterator[Occurrence]:
    """Rules about load and units cannot be judged; see ``_find``, which stumbles over it."""
    return iter(())


@rule("refused", "A declaration that contradicts itself", "error")
def _refused(_: LintContext) -> Iterator[Occurrence]:
    """The model raises a ModelError, so there is no design to look at; see ``refused``."""
    return iter(())


@rule("unused-acceptance", "An accepted finding that there is none of", "warning")
def _unused_acceptance(_: LintContext) -> Iterator[Occurrence]:
    """What was accepted is gone, or was never found; see ``lint``, which knows what was."""
    return iter(())


def _unused(design: Design, findings: list[LintFinding]) -> Iterator[LintFinding]:
    found = {(finding.rule, finding.place) for finding in findings}
    for accepted in design.accepted:
        if (accepted.rule, accepted.place) not in found:
            known = accepted.rule in RULES
            yield LintFinding(
                "unused-acceptance",
                RULES["unused-acceptance"].severity,
                design.name,
                accepted.place,
                f"The design accepts {accepted.rule} at {accepted.place} ({accepted.reason}), but "
                + ("lint finds no such thing there." if known else f"there is no rule {accepted.rule!r}."),
                "Drop it, or correct the rule and the place.",
            )


def refused(design: str, error: ModelError, where: str | None) -> LintFinding:
    """The finding that a refused declaration is."""
    known = RULES.get(error.rule or "refused", RULES["refused"])
    place, colon, message = str(error).partition(": ")
    place, message = (place, message) if colon and " " not in place.replace(", ", "") else (design, str(error))
    what, semicolon, repair = message.rpartition("; ")
    if not semicolon:
        what, repair = message, "Change the declaration; the model refuses it as it is."
    return LintFinding(known.id, "error", design, place, what, repair[:1].upper() + repair[1:], where)
