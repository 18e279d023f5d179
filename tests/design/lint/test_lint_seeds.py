"""Each mistake of the five design documents is found in the document written as a model, from the model alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tablewright.design.design_loading import RefusedError, load
from tablewright.design.lint import LintFinding, lint, refused

SEEDS = Path(__file__).parent / "seeds"


@cache
def findings(seed: str) -> tuple[LintFinding, ...]:
    try:
        return tuple(finding for design in load(str(SEEDS / f"{seed}.py")) for finding in lint(design))
    except RefusedError as error:
        return (refused(seed, error.error, error.where),)


@pytest.mark.parametrize(
    ("seed", "rule", "place"),
    [
        pytest.param(
            "support_escalations",
            "partition-range",
            "Ticket.escalated",
            marks=pytest.mark.requirement("R1", "X4"),
            id="R1",
        ),
        pytest.param(
            "support",
            "stale-index-key",
            "update_ticket_status_with_event",
            marks=pytest.mark.requirement("R2", "X4"),
            id="R2",
        ),
        pytest.param(
            "support", "counted-by-hand", "Event.sequence", marks=pytest.mark.requirement("R3", "X4"), id="R3"
        ),
        pytest.param("support", "two-shapes", "Event.SK", marks=pytest.mark.requirement("R4", "X4"), id="R4"),
        pytest.param("support", "time-as-identity", "Feedback.SK", marks=pytest.mark.requirement("R5", "X4"), id="R5"),
        pytest.param(
            "support", "order-within-part", "Ticket.of_customer", marks=pytest.mark.requirement("R6", "X4"), id="R6"
        ),
        pytest.param(
            "support", "low-cardinality", "Ticket.GSI2PK", marks=pytest.mark.requirement("R7", "X4"), id="R7-support"
        ),
        pytest.param(
            "tasks", "low-cardinality", "Task.GSI2PK", marks=pytest.mark.requirement("R7", "X4"), id="R7-tasks"
        ),
        pytest.param(
            "support", "shard-by-hand", "ShardedTicket.shard", marks=pytest.mark.requirement("R8", "X4"), id="R8"
        ),
        pytest.param(
            "support", "partial-count", "tickets_by_status", marks=pytest.mark.requirement("R9", "X4"), id="R9-kinds"
        ),
        pytest.param(
            "support", "counted-twice", "tickets_by_status", marks=pytest.mark.requirement("R9", "X4"), id="R9-replays"
        ),
        pytest.param(
            "support",
            "wrong-units",
            "calculate_write_capacity",
            marks=pytest.mark.requirement("R10", "X4"),
            id="R10-rounding",
        ),
        pytest.param(
            "support",
            "old-prices",
            "estimate_monthly_cost",
            marks=pytest.mark.requirement("R10", "X4"),
            id="R10-price-of-an-hour",
        ),
        pytest.param(
            "support",
            "unbounded-retries",
            "create_ticket_idempotent",
            marks=pytest.mark.requirement("R11", "X4"),
            id="R11",
        ),
        pytest.param(
            "engagement", "unpadded-number", "Candidate.GSI1SK", marks=pytest.mark.requirement("R12", "X4"), id="R12"
        ),
        pytest.param(
            "engagement", "many-valued-key", "Candidate.GSI1PK", marks=pytest.mark.requirement("R13", "X4"), id="R13"
        ),
        pytest.param(
            "engagement",
            "no-key",
            "list all programs for marketplace",
            marks=pytest.mark.requirement("R14", "X4"),
            id="R14",
        ),
        pytest.param(
            "calls", "index-not-unique", "Call.by_call_id", marks=pytest.mark.requirement("R15", "X4"), id="R15"
        ),
        pytest.param("calls", "hand-made-key", "Call.sk", marks=pytest.mark.requirement("R16", "X4"), id="R16-sk"),
        pytest.param(
            "calls",
            "hand-made-key",
            "Call.user_status",
            marks=pytest.mark.requirement("R16", "X4"),
            id="R16-userStatus",
        ),
        pytest.param("tasks", "two-shapes", "Task.GSI2SK", marks=pytest.mark.requirement("R17", "X4"), id="R17"),
        pytest.param(
            "tasks", "published-by-writer", "TaskCreated", marks=pytest.mark.requirement("R18", "X4"), id="R18"
        ),
        pytest.param(
            "servicedesk", "phantom-item", "add_comment", marks=pytest.mark.requirement("R19", "X4"), id="R19"
        ),
        pytest.param(
            "servicedesk", "unbounded-list", "Ticket.comments", marks=pytest.mark.requirement("R20", "X4"), id="R20"
        ),
        pytest.param(
            "servicedesk",
            "old-prices",
            "On-Demand Pricing",
            marks=pytest.mark.requirement("R21", "X4"),
            id="R21-servicedesk",
        ),
        pytest.param(
            "support",
            "old-prices",
            "on_demand_vs_provisioned_analysis",
            marks=pytest.mark.requirement("R21", "X4"),
            id="R21-support",
        ),
        pytest.param(
            "tasks", "old-prices", "On-Demand Mode", marks=pytest.mark.requirement("R21", "X4"), id="R21-tasks"
        ),
    ],
)
def test_a_mistake_of_a_document_is_found(seed: str, rule: str, place: str) -> None:
    (finding,) = [found for found in findings(seed) if (found.rule, found.place) == (rule, place)]
    assert finding.severity in ("error", "warning")
    assert finding.message
    assert finding.repair
    assert finding.accepted is None


def test_a_finding_shows_the_line_of_the_class() -> None:
    (finding,) = [found for found in findings("engagement") if found.rule == "unpadded-number"]
    assert finding.where is not None
    file, _, line = finding.where.rpartition(":")
    assert (SEEDS / "engagement.py").read_text().splitlines()[int(line) - 1].startswith("class Candidate(")
    assert Path(file).name == "engagement.py"


def test_a_refused_declaration_shows_where_it_is() -> None:
    (finding,) = findings("support_escalations")
    assert finding.where is not None
    line = finding.where.rpartition(":")[2]
    assert (SEEDS / "support_escalations.py").read_text().splitlines()[int(line) - 1].startswith("class Ticket(")
    assert "needs one value and has no range" in finding.message
    assert finding.repair == "Partition by something else and put it into the sort key, or take it as a parameter"


def test_a_document_is_blamed_for_nothing_else() -> None:
    """Beyond the mistakes above: what every reader of these documents would want to be told, and no more."""
    found = {seed: {(each.rule, each.place) for each in findings(seed)} for seed in ("calls", "engagement")}
    assert found["calls"] == {
        ("hand-made-key", "Call.sk"),
        ("hand-made-key", "Call.user_status"),
        ("index-not-unique", "Call.by_call_id"),
        ("range-across-parts", "Call.of_user"),
        ("range-across-parts", "Call.of_user_by_status"),
    }
    assert found["engagement"] == {
        ("unpadded-number", "Candidate.GSI1SK"),
        ("many-valued-key", "Candidate.GSI1PK"),
        ("unbounded-list", "Candidate.rejection_history"),
        ("no-key", "list all programs for marketplace"),
    }
