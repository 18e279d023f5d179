"""Lint's advice can be followed to the letter: what it names is free, and once it is done the finding is gone."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from tablewright.design import load
from tablewright.design.lint import LintFinding, lint
from tablewright.model import Design, Entity, GlobalIndex, Keys, Query, RequiredRead, Table, schema_of
from tests.design.generated_designs import SHAPES, Shape, entity_of
from tests.design.lint.cases.all_cases import CASES
from tests.design.lint.cases.case import Case
from tests.design.lint.repairs import check_reads, code_in, edits_of, repaired
from tests.examples import examples


def follow(design: Design, found: list[LintFinding], rule: str, place: str) -> Design:
    """Do what the repair of a finding says; then the finding is gone, and there is no new mistake."""
    (finding,) = _of(found, rule, place)
    mended = repaired(design, finding)
    left = lint(mended)
    assert _of(left, rule, place) == [], finding.repair
    before = {(each.rule, each.place) for each in found}
    assert {(each.rule, each.place) for each in left if each.severity == "error"} <= before, finding.repair
    return mended


def _of(found: list[LintFinding], rule: str, place: str) -> list[LintFinding]:
    return [each for each in found if (each.rule, each.place) == (rule, place)]


def with_code(cases: list[Case]) -> list[Case]:
    """Those whose repair has code."""
    return [case for case in cases if any(map(code_in, _of(lint(case.wrong()), case.rule, case.place)))]


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("case", with_code(CASES), ids=lambda case: f"{case.rule}-{case.place}")
def test_a_repair_can_be_followed_to_the_letter(case: Case) -> None:
    design = case.wrong()
    check_reads(follow(design, lint(design), case.rule, case.place))


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.place}")
def test_code_in_a_repair_can_be_copied_as_it_is(case: Case) -> None:
    design = case.wrong()
    for finding in lint(design):
        assert "..." not in "".join(code_in(finding))
        edits_of(design, finding)


# -- indexes ----------------------------------------------------------------------------------------------------------


def wanted(entity: type[Entity], by: list[str]) -> Design:
    """A read that perhaps no key supports."""
    reads = [RequiredRead("wanted", entity, by=[getattr(entity, name) for name in by])]
    return Design("Generated", tables=[schema_of(entity).table], required_reads=reads)


@pytest.mark.requirement("X4")
@settings(max_examples=examples(100))
@given(SHAPES, st.lists(st.sampled_from(["status", "owner", "place", "note"]), min_size=1, max_size=3, unique=True))
def test_an_index_that_is_advised_can_be_declared_and_then_serves_the_read(shape: Shape, by: list[str]) -> None:
    design = wanted(entity_of(shape), by)
    found = lint(design)
    if _of(found, "no-key", "wanted"):
        follow(design, found, "no-key", "wanted")


@pytest.mark.requirement("X4")
def test_names_that_are_taken_are_not_advised() -> None:
    rides = Table("Rides", "GSI1PK", "SK", indexes=[GlobalIndex("byRider", "GSI2PK", "GSI2SK")])

    class Ride(Entity, table=rides):
        ride_id: str
        rider: str
        # An attribute that is no key, of a name that one could have.
        GSI3SK: str = ""

        keys = Keys(GSI1PK="RIDE#{ride_id}", SK="RIDE", GSI2PK="HOME#{ride_id}", GSI2SK="HOME")

    design = wanted(Ride, ["rider"])
    (finding,) = _of(lint(design), "no-key", "wanted")
    edits = edits_of(design, finding)
    assert edits.indexes["byRider2"].attributes == ("GSI4PK", "GSI4SK")
    templates = {name: rule.template.text for name, rule in edits.keys.items()}
    assert templates == {"GSI4PK": "RIDER#{rider}", "GSI4SK": "RIDE#{ride_id}#RIDE"}


# -- templates ------------------------------------------------------------------------------------------------------


class Stage(StrEnum):
    NEW = "new"
    DONE = "done"


def order_sorted_by(template: str) -> Design:
    class Order(Entity, table=Table("orders", "PK", "SK")):
        customer_id: str
        order_id: UUID
        stage: Stage
        points: int = Field(ge=0, le=99_999)
        placed_at: datetime

        keys = Keys(PK="CUSTOMER#{customer_id}", SK=template)

        @Query(newest_first=True)
        def recent(self, customer_id: str) -> None: ...

    return Design("Orders", tables=[schema_of(Order).table])


@pytest.mark.requirement("X4")
@pytest.mark.parametrize(
    ("template", "rule", "place"),
    [
        ("ORDER#{order_id}", "random-order", "Order.recent"),
        ("ORDER#{stage}", "key-not-unique", "Order.SK"),
        ("{points:number}", "key-not-unique", "Order.SK"),
        ("{placed_at:date}", "key-not-unique", "Order.SK"),
        ("{points}#{order_id}", "unpadded-number", "Order.SK"),
        ("{points:03}#{order_id}", "narrow-padding", "Order.SK"),
    ],
)
def test_a_template_that_is_advised_is_one_that_lint_takes(template: str, rule: str, place: str) -> None:
    design = order_sorted_by(template)
    check_reads(follow(design, lint(design), rule, place))


# -- the documents ----------------------------------------------------------------------------------------------------

SEEDS = Path(__file__).parent / "seeds"
# Of support_escalations, the model refuses the declaration itself.
DOCUMENTS = ["calls", "engagement", "servicedesk", "support", "tasks"]


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_advised_for_a_document_can_be_followed(document: str) -> None:
    for design in load(str(SEEDS / f"{document}.py")):
        found = lint(design)
        # One of each rule.
        for finding in {each.rule: each for each in filter(code_in, found)}.values():
            check_reads(follow(design, found, finding.rule, finding.place))
