"""Lint: finds mistakes in a design before anything is built.

    findings = lint(design)               all findings, the most severe first; accepted ones are marked
    refused(error, where)                 the finding of a declaration that the model refuses

Rules are grouped into modules by what they check; each is documented in docs/lint.md under its id.

    key_value_rules       the values in a key             composed_key_rules   keys that a writer composes by hand
    key_field_rules       the fields in keys              identity_rules       the identity of items
    read_rules            access patterns and indexes     order_rules          the order in which patterns read
    index_rules           indexes beside each other       write_rules          writes, events and counters
    field_rules           fields that are not keys        hot_partition_rules  how load is spread
    limit_rules           DynamoDB's limits               claim_rules          units and prices in documents
    lint_context          the design, as rules see it     field_traits         facts about a field
    lint_findings         rules and findings           repair_code          repairs as code
"""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.lint import (
    claim_rules,
    composed_key_rules,
    field_rules,
    hot_partition_rules,
    identity_rules,
    index_rules,
    key_field_rules,
    key_value_rules,
    limit_rules,
    order_rules,
    read_rules,
    write_rules,
)
from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import RULES, LintFinding, Occurrence, Rule, Severity, rule
from tablewright.model import Design, ModelError

__all__ = ["FAMILIES", "RULES", "LintFinding", "Occurrence", "Rule", "Severity", "lint", "refused", "rule"]

FAMILIES = (
    key_value_rules,
    key_field_rules,
    identity_rules,
    composed_key_rules,
    read_rules,
    order_rules,
    index_rules,
    write_rules,
    field_rules,
    hot_partition_rules,
    limit_rules,
    claim_rules,
)
"""The modules that the rules are in."""

_ORDER: tuple[Severity, ...] = ("error", "warning", "advice")


def lint(design: Design) -> list[LintFinding]:
    """All findings of a design, the most severe first."""
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
    """What a rule finds; or that the size of an item, which it needs, cannot be estimated."""
    try:
        for found in known.find(context):
            yield known, found
    except ModelError as error:
        place, _, message = str(error).partition(": ")
        reason = message.rpartition("; ")[0]
        problem = f"The size of an item is needed to estimate load and units, and no sample can be made: {reason}."
        yield (
            RULES["no-sample"],
            Occurrence(place, problem, "Declare its Volume, or give the field Field(examples=[...])."),
        )


@rule("no-sample", "An entity whose item size cannot be estimated", "warning")
def _no_sample(_: LintContext) -> Iterator[Occurrence]:
    """Rules about load and units are skipped; ``_find`` reports it."""
    return iter(())


@rule("refused", "A declaration that contradicts itself", "error")
def _refused(_: LintContext) -> Iterator[Occurrence]:
    """The model raises a ModelError, so there is no design to check; see ``refused``."""
    return iter(())


@rule("unused-acceptance", "An accepted finding that does not exist", "warning")
def _unused_acceptance(_: LintContext) -> Iterator[Occurrence]:
    """The accepted finding is gone, or was never reported; see ``_unused``."""
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
                + ("there is no such finding." if known else f"there is no rule {accepted.rule!r}."),
                "Remove it, or correct the rule and the place.",
            )


def refused(design: str, error: ModelError, where: str | None) -> LintFinding:
    """The finding for a declaration that the model refuses."""
    known = RULES.get(error.rule or "refused", RULES["refused"])
    place, colon, message = str(error).partition(": ")
    place, message = (place, message) if colon and " " not in place.replace(", ", "") else (design, str(error))
    what, semicolon, repair = message.rpartition("; ")
    if not semicolon:
        what, repair = message, "Change the declaration, which the model refuses."
    return LintFinding(known.id, "error", design, place, what, repair[:1].upper() + repair[1:], where)
