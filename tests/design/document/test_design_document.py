"""The design document: everything that the design says, and the same every time."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import pytest

from tablewright.design.design_loading import load
from tablewright.design.document.design_document import document
from tablewright.design.document.design_outline import relations, state_text
from tablewright.design.document.key_tables import key_tables
from tablewright.design.document.mermaid import entity_diagram
from tablewright.design.infra.cloudformation import cloudformation_template
from tablewright.design.infra.table_requests import Deployment
from tablewright.design.report.html_report import to_html
from tablewright.design.report.report_blocks import (
    Bullets,
    Code,
    DesignReport,
    Diagram,
    Grid,
    Heading,
    Text,
    to_markdown,
)
from tablewright.model import (
    AttributeName,
    CreatedAt,
    Design,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Keys,
    Retain,
    Table,
    schema_of,
    when,
)
from tests.cli.commands import ROOT
from tests.design import models


def grid(page: DesignReport, *columns: str) -> dict[str, list[str]]:
    """The rows of all tables with such columns, by their first cells."""
    found: dict[str, list[str]] = {}
    for block in page.blocks:
        if isinstance(block, Grid) and tuple(block.columns[: len(columns)]) == columns:
            found |= {row[0]: list(row[1:]) for row in block.rows}
    assert found, columns
    return found


@pytest.fixture(scope="module")
def page() -> DesignReport:
    return document(models.design)


@pytest.mark.requirement("X3")
def test_tables_and_indexes_are_described(page: DesignReport) -> None:
    settings = grid(page, "setting")
    assert settings["partition key"] == ["`PK` (S)"]
    assert settings["stream"] == ["NEW_AND_OLD_IMAGES"]
    assert settings["point-in-time recovery"] == ["on"]
    assert settings["tags"] == ["Team=shop"]
    indexes = grid(page, "index")
    assert indexes["`byShop`"] == ["global", "`GSI2PK`", "`GSI2SK`", "total", "Order"]
    assert indexes["`byTotal`"][0] == "local"


@pytest.mark.requirement("X3")
def test_attributes_and_keys_are_described(page: DesignReport) -> None:
    attributes = grid(page, "attribute", "field")
    assert attributes["`number`"] == ["`number`", "string", "unique; required"]
    assert attributes["`version`"][-1] == "optimistic lock"
    assert attributes["`updated_at`"][-1] == "when it was last written"
    assert attributes["`position`"][-1] == "numbered for each customer_id, order_id"
    keys = grid(page, "key attribute")
    assert keys["`GSI1PK`"] == ["`STATE#{state}#0…3`", "byState", "always"]
    assert keys["`GSI3PK`"] == ["`LATE`", "late", "state is LATE"]


@pytest.mark.requirement("X3")
def test_every_pattern_and_every_write_is_listed_with_its_units(page: DesignReport) -> None:
    patterns = grid(page, "pattern", "operation")
    assert set(patterns) == {f"`{name}`" for name in models.design.patterns}
    assert patterns["`Order.by_id`"][0] == "GetItem"
    assert patterns["`Order.by_total`"][2] == "`PK = CUSTOMER#{customer_id}` and range of `LSK` by total"
    writes = grid(page, "write", "items")
    assert set(writes) == {f"`{name}`" for name in models.design.writes}
    # The guard of a unique number makes a transaction of it.
    assert writes["`place`"] == ["create Order", "transaction", "10", "a new order"]
    assert writes["`add_to_order`"][:2] == ["create Line; check Order", "transaction"]
    assert grid(page, "reaction")["`tell_customer`"][:2] == ["INSERT of Order", "notify"]


@pytest.mark.requirement("X3")
def test_diagrams_show_entities_collections_and_flows(page: DesignReport) -> None:
    diagrams = [block.mermaid for block in page.blocks if isinstance(block, Diagram)]
    entities, collections, flow, cost = diagrams
    assert cost.startswith("pie showData title On-demand cost per month")
    assert entities.startswith("erDiagram\n")
    assert 'Order ||--o{ Line : "customer_id, order_id"' in entities
    assert "string number UK" in entities
    assert 'subgraph C0["Orders: PK = CUSTOMER#{customer_id}"]' in collections
    assert '["Line<br/>LINE#{order_id}#{position:04}"]' in collections
    assert 'W0(["place"])' in flow
    assert "E0 -.->|stream: INSERT| R1" in flow
    for text in diagrams:
        assert text.count('"') % 2 == 0
        assert text.count("subgraph") == text.count("\n    end")


def test_names_that_mean_something_else_in_a_diagram_are_written_otherwise() -> None:
    table = Table("Things", "pk", "SK")

    class Thing(Entity, table=table):
        pk: str
        sk: Annotated[str, AttributeName("SK")]
        second: Annotated[str, AttributeName("2nd.factor")] = ""

    lines = entity_diagram(Design("Things", tables=[table])).splitlines()
    assert [line.strip() for line in lines[2:5]] == ["string *pk PK", "string SK PK", "string A2nd_factor"]


def test_questions_and_accepted_findings_are_part_of_it(page: DesignReport) -> None:
    bullets = [item for block in page.blocks if isinstance(block, Bullets) for item in block.items]
    assert "orders of a customer: Order by customer_id" in bullets
    assert grid(page, "lint rule")["`unused-index`"] == ["`Orders/late`", "a report reads it"]


def test_what_a_design_says_of_itself_keeps_its_form() -> None:
    about = """What it is
    for, in ``words``.

        PK      TICKET#<id>

        SK      METADATA

    And more."""
    first, drawn, last, *_ = document(Design("Things", tables=[Table("Things", "pk")], about=about)).blocks
    assert first == Text("What it is for, in `words`.")
    assert drawn == Code("PK      TICKET#<id>\n\nSK      METADATA", "text")
    assert last == Text("And more.")


def test_samples_are_items_of_each_entity(page: DesignReport) -> None:
    samples = [block.text for block in page.blocks if isinstance(block, Code)]
    assert len(samples) == len(list(models.design.schemas))
    assert '"SK": {"S": "LINE#order-1#0001"}' in samples[1]


def test_samples_lie_by_partition_and_sort_key_in_tables_and_indexes() -> None:
    (design,) = load("tablewright.systems.tasks")
    blocks = list(key_tables(design))
    places = [block.text for block in blocks if isinstance(block, Heading) and block.level == 3]
    assert places[0] == "`TaskManagement`"
    assert len(places) == 1 + len(design.tables[0].indexes)
    table = next(block for block in blocks if isinstance(block, Grid))
    assert table.columns == ["PK", "SK", "item", "attributes"]
    # A task and its assignment are one item collection: its key is shown once.
    rows = [row[:3] for row in table.rows]
    first = rows.index(["`TASK#task-1`", "`ASSIGNMENT#assigned-to-1`", "Assignment"])
    collection = [rows[first], *takewhile(lambda row: row[0] == "", rows[first + 1 :])]
    assert ["", "`METADATA`", "Task"] in collection
    indexed = next(block for number, block in enumerate(blocks) if isinstance(block, Grid) and number > 3)
    assert {row[-2] for row in indexed.rows} == {"Assignment"}


def test_cost_is_part_of_it(page: DesignReport) -> None:
    headings = [block.text for block in page.blocks if isinstance(block, Heading)]
    for heading in ("Capacity and cost", "Billing modes", "Hot keys", "Break-even"):
        assert heading in headings


def test_the_same_design_gives_the_same_document(page: DesignReport) -> None:
    assert to_markdown(document(models.design)) == to_markdown(page)


@pytest.mark.requirement("X3")
def test_a_page_shows_drawings_and_needs_no_network(page: DesignReport) -> None:
    text = to_html(page)
    assert text.count("<svg") == 4
    assert not re.search(r"<script|<link|@import|url\(|\ssrc=", text)
    assert "Order" in text
    assert "<title>Item collections</title>" in text


@pytest.mark.parametrize("path", ["./tests/model/seed_designs.py", "./tests/store/models.py"])
def test_a_module_without_a_design_has_a_document_too(path: str) -> None:
    for design in load(path):
        text = to_markdown(document(design))
        assert all(f"### {schema.entity.__name__}\n" in text for schema in design.schemas)


def test_a_table_row_stays_a_row(page: DesignReport) -> None:
    for block in page.blocks:
        if isinstance(block, Grid):
            assert all(len(row) == len(block.columns) for row in block.rows)


# -- the systems ----------------------------------------------------------------------------------------------------

_SYSTEMS = ROOT / "src" / "tablewright" / "systems"
SYSTEMS = sorted(path.parent.name for path in _SYSTEMS.glob("*/model.py"))


def documented(design: Design) -> Path:
    return ROOT / "docs" / "systems" / f"{re.sub('[^a-z0-9]+', '-', design.name.lower())}.md"


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_document_of_a_system_is_current(name: str) -> None:
    for design in load(f"tablewright.systems.{name}"):
        assert documented(design).read_text("utf-8") == to_markdown(document(design)), "run `make docs`"


def test_every_document_of_a_system_has_one() -> None:
    designs = [design for name in SYSTEMS for design in load(f"tablewright.systems.{name}")]
    assert {path.name for path in (ROOT / "docs" / "systems").glob("*.md")} == {
        documented(design).name for design in designs
    }


def test_a_key_that_an_optional_field_feeds_is_there_while_the_field_is() -> None:
    posts = Table("posts", "PK", indexes=[GlobalIndex("byTime", "GSI1PK", "GSI1SK"), GlobalIndex("byTopic", "topic")])

    class Post(Entity, table=posts):
        post_id: str
        blog: str
        topic: str | None = None
        published_at: datetime | None = None
        state: str = "DRAFT"
        created_at: CreatedAt = None

        keys = Keys(
            PK="POST#{post_id}",
            GSI1PK=when("BLOG#{blog}#{created_at}", state="PUBLIC"),
            GSI1SK="{published_at}[#{topic}]",
        )

    assert state_text(schema_of(Post), "PK") == ""
    assert state_text(schema_of(Post), "GSI1PK") == "state is PUBLIC"
    assert state_text(schema_of(Post), "GSI1SK") == "published_at is set"
    assert state_text(schema_of(Post), "topic") == "topic is set"


def test_relations_follow_from_names_of_fields_forms_of_keys_and_partitions() -> None:
    shop = Table("shop", "PK", "SK", indexes=[GlobalIndex("byCustomer", "GSI1PK", "GSI1SK")])

    class Customer(Entity, table=shop):
        customer_id: str
        keys = Keys(PK="CUSTOMER#{customer_id}", SK="PROFILE")

    class Purchase(Entity, table=shop):
        order_id: str
        bought_by: str
        keys = Keys(PK="ORDER#{order_id}", SK="HEAD", GSI1PK="CUSTOMER#{bought_by}", GSI1SK="{order_id}")

    class Line(Entity, table=shop):
        order_id: str
        number: int
        keys = Keys(PK="ORDER#{order_id}", SK="LINE#{number:03}")

    class Discount(Entity, table=shop):
        order_id: str
        position: int
        keys = Keys(PK="ORDER#{order_id}", SK="OFF#{position:03}")

    found = {
        (each.one.entity.__name__, each.other.entity.__name__, each.many, each.by)
        for each in relations(Design("Shop", tables=[shop]))
    }
    assert found == {
        ("Customer", "Purchase", True, "bought_by"),
        ("Purchase", "Line", True, "order_id"),
        ("Purchase", "Discount", True, "order_id"),
    }


@pytest.mark.requirement("AP10")
def test_a_retention_period_is_documented_with_the_table_that_enforces_it() -> None:
    logins = Table("logins", "user_id", ttl="ttl")

    class Login(Entity, table=logins):
        user_id: str
        ttl: Annotated[ExpiresAt, Retain(days=90)] = None

    design = Design("logins", tables=[logins])
    text = to_markdown(document(design))
    assert "retention: kept for 90 days after its last write" in text
    assert re.search(r"time to live +\| `ttl`", text)
    template = cloudformation_template(design, Deployment())
    (table,) = [each for each in template["Resources"].values() if each["Type"] == "AWS::DynamoDB::Table"]
    assert table["Properties"]["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
