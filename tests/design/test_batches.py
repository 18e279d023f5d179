"""Many puts or deletes of which nothing is asked are batches, to every tool that looks at a design."""

from decimal import Decimal
from typing import Annotated

import pytest

from tablewright.design import iam
from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.write_actions import is_transaction
from tablewright.design.document.design_document import document
from tablewright.design.lint import lint
from tablewright.design.report.report_blocks import to_markdown as markdown
from tablewright.model import Design, Entity, Get, ItemWrite, Numbered, Table, Unique, Version, Volume, Write

rows = Table("Rows", "id")


class Row(Entity, table=rows):
    id: str

    @Get()
    def by_id(self, id: str) -> None: ...


def loading(*item_writes: ItemWrite, checks: tuple[type[Entity], ...] = ()) -> Design:
    return Design(
        "Rows",
        tables=[rows],
        writes=[Write("load", *item_writes, checks=checks)],
        roles={"loader": ["load"]},
        volume={Row: Volume(items=10, size=900)},
    )


def actions(design: Design) -> set[str]:
    return {grant.action for grant in iam.grants(design, "loader")}


@pytest.mark.requirement("X4")
@pytest.mark.requirement("X5")
def test_a_batch_is_one_to_policy_plan_lint_and_document() -> None:
    design = loading(ItemWrite(Row, "put", count=500, conditional=False))
    (write,) = design.writes.values()
    assert write.is_batch
    assert not is_transaction(write)
    assert actions(design) == {"BatchWriteItem"}
    assert [units.write for units in CapacityEstimate(design).of("load")] == [Decimal(500)]
    assert [finding for finding in lint(design) if finding.rule == "transaction-size"] == []
    assert "| put Row (up to 500) | batches |" in markdown(document(design))


@pytest.mark.requirement("X4")
@pytest.mark.parametrize(
    "design",
    [
        loading(ItemWrite(Row, "put", count=500)),
        loading(ItemWrite(Row, "put", count=499, conditional=False), ItemWrite(Row, "create")),
        loading(ItemWrite(Row, "put", count=499, conditional=False), checks=(Row,)),
    ],
    ids=["conditional", "with a create", "with a check"],
)
def test_what_asks_something_of_an_item_is_a_transaction_to_all_of_them(design: Design) -> None:
    (write,) = design.writes.values()
    assert is_transaction(write)
    assert "PutItem" in actions(design)
    assert "BatchWriteItem" not in actions(design)
    assert sum(units.write for units in CapacityEstimate(design).of("load")) == 1000
    assert [finding.place for finding in lint(design) if finding.rule == "transaction-size"] == ["load"]
    assert "| transaction |" in markdown(document(design))


def test_what_no_batch_takes_is_in_none() -> None:
    class Versioned(Entity, table=Table("versioned", "id")):
        id: str
        version: Version = 0

    class Named(Entity, table=Table("named", "id")):
        id: str
        name: Annotated[str, Unique()]

    class Counted(Entity, table=Table("counted", "id")):
        id: str
        number: Annotated[int, Numbered()] = 0

    for kind in (Versioned, Named, Counted):
        assert not Write("load", ItemWrite(kind, "put", count=5, conditional=False)).is_batch
    assert not Write("one", ItemWrite(Row, "put", conditional=False)).is_batch
