"""Lint as a whole: the order of findings, what a design accepts, and what the model refuses."""

from typing import Annotated

import pytest
from pydantic import AfterValidator, Field

from tablewright.design.lint import lint, refused
from tablewright.model import (
    AcceptedFinding,
    CostClaim,
    Design,
    Entity,
    EpochMillis,
    Expiry,
    FieldCondition,
    GlobalIndex,
    ItemWrite,
    Keys,
    ModelError,
    Query,
    Table,
    TemplateError,
    Write,
    attr,
)


def design(*accepted: AcceptedFinding) -> Design:
    table = Table("orders", "id", indexes=[GlobalIndex("byUser", "user"), GlobalIndex("byCity", "city")])

    class Order(Entity, table=table):
        id: str
        user: str
        city: str
        lines: list[str]

        @Query("byUser")
        def of_user(self, user: str) -> FieldCondition:
            return attr(self.city) == "Rome"

    return Design("Orders", tables=[table], accepted=accepted)


def told(design: Design) -> list[tuple[str, str, str | None]]:
    return [(finding.severity, finding.rule, finding.accepted) for finding in lint(design)]


def test_the_worst_comes_first() -> None:
    severities = [severity for severity, _, _ in told(design())]
    assert severities == ["warning", "warning", "advice"]


def test_what_a_design_accepts_is_marked_with_its_reason() -> None:
    found = told(design(AcceptedFinding("unused-index", "orders/byCity", "the export reads it")))
    assert ("warning", "unused-index", "the export reads it") in found
    assert ("warning", "unbounded-list", None) in found


def test_an_acceptance_is_for_one_rule_at_one_place() -> None:
    accepted = [
        AcceptedFinding("unused-index", "orders/byUser", "another place"),
        AcceptedFinding("unbounded-list", "orders/byCity", "another rule"),
    ]
    found = told(design(*accepted))
    assert ("warning", "unused-index", None) in found
    assert ("warning", "unbounded-list", None) in found


def test_an_acceptance_of_what_is_not_found_is_a_finding() -> None:
    found = lint(design(AcceptedFinding("hot-partition", "Order.id", "it was hot once")))
    (unused,) = [finding for finding in found if finding.rule == "unused-acceptance"]
    assert (unused.place, unused.severity) == ("Order.id", "warning")
    assert "it was hot once" in unused.message


def test_an_acceptance_of_an_unknown_rule_says_so() -> None:
    found = lint(design(AcceptedFinding("unused-indexes", "orders/byCity", "why not")))
    (unused,) = [finding for finding in found if finding.rule == "unused-acceptance"]
    assert "there is no rule 'unused-indexes'" in unused.message


def priced(*examples: str) -> Design:
    def known(code: str) -> str:
        if not code.startswith("zq-7"):
            raise ValueError("no such code")
        return code

    class Part(Entity, table=Table("parts", "code")):
        code: Annotated[str, AfterValidator(known)] = Field(examples=list(examples))

    table = Part.schema_.table
    claims = [CostClaim("a create", subject="create", units=2)]
    return Design("Parts", tables=[table], writes=[Write("create", ItemWrite(Part, "create"))], claims=claims)


def test_an_unknown_item_size_is_a_finding_and_not_a_failure() -> None:
    found = lint(priced())
    assert [(finding.rule, finding.place) for finding in found] == [("no-sample", "Part.code")]
    assert [(finding.rule, finding.place) for finding in lint(priced("zq-7001"))] == [("wrong-units", "a create")]


def test_a_finding_can_be_compared_and_kept() -> None:
    assert set(lint(design())) == set(lint(design()))


@pytest.mark.requirement("X4")
@pytest.mark.parametrize(
    ("error", "rule", "place", "message", "repair"),
    [
        (
            ModelError("Row.by: id is in the partition key; sort by it", rule="partition-range"),
            "partition-range",
            "Row.by",
            "id is in the partition key",
            "Sort by it",
        ),
        (
            ModelError("Row.keys, PK: x has many values; keep one"),
            "refused",
            "Row.keys, PK",
            "x has many values",
            "Keep one",
        ),
        (
            ModelError("A and B can have the same key: so it is"),
            "refused",
            "shop.model",
            "A and B can have the same key: so it is",
            "Change the declaration, which the model refuses.",
        ),
        (
            TemplateError("no field; name one", rule="gone"),
            "refused",
            "shop.model",
            "no field",
            "Name one",
        ),
    ],
)
def test_a_refused_declaration_is_a_finding(
    error: ModelError, rule: str, place: str, message: str, repair: str
) -> None:
    finding = refused("shop.model", error, "model.py:3")
    assert (finding.rule, finding.place, finding.message, finding.repair) == (rule, place, message, repair)
    assert (finding.severity, finding.where) == ("error", "model.py:3")


@pytest.mark.parametrize("rule", ["partition-range", "many-valued-key", "ttl-seconds", "same-key", "no-key"])
def test_the_model_names_the_rule_that_explains_a_refusal(rule: str) -> None:
    with pytest.raises(ModelError) as refusal:
        REFUSED[rule]()
    assert refusal.value.rule == rule


def ranged() -> None:
    class Row(Entity, table=Table("rows", "at", "id")):
        at: str
        id: str

        @Query()
        def begun(self, *, since: str) -> None: ...


def many() -> None:
    class Row(Entity, table=Table("rows", "PK")):
        channels: list[str]

        keys = Keys(PK="{channels}")


def in_milliseconds() -> None:
    class Row(Entity, table=Table("rows", "id", ttl="ttl")):
        id: str
        ttl: Annotated[EpochMillis, Expiry()]


def alike() -> None:
    table = Table("rows", "id")

    class Row(Entity, table=table):
        id: str

    class Other(Entity, table=table):
        id: str


def not_indexed() -> None:
    class Row(Entity, table=Table("rows", "id", indexes=[GlobalIndex("byName", "name")])):
        id: str

        @Query("byName")
        def by_name(self, name: str) -> None: ...


REFUSED = {
    "partition-range": ranged,
    "many-valued-key": many,
    "ttl-seconds": in_milliseconds,
    "same-key": alike,
    "no-key": not_indexed,
}
