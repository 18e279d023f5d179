"""NoSQL Workbench: designs as its data models, its data models as Python, and back again."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tablewright.design import workbench
from tablewright.design.design_loading import DesignError, load
from tablewright.model import Design, Entity, GlobalIndex, Schema, Table, schemas_of
from tests.design.subjects import DESIGNS
from tests.design.workbench.data_models import DESK, DEVICES, FACETS, PK_SK, SHOP, attribute, file, index, s, table
from tests.examples import examples

AT = datetime(2026, 1, 15, 9, 30, tzinfo=UTC)

FILES = {"shop": SHOP, "desk": DESK, "facets": FACETS, "devices": DEVICES}
FILES |= {f"exported {name}": workbench.model(design, AT) for name, design in DESIGNS.items()}


def imported(content: dict[str, Any], folder: Path) -> Design:
    """The design of the module that a file becomes."""
    path = folder / f"model_{abs(hash(str(content)))}.py"
    path.write_text(workbench.source(workbench.parse(content)), "utf-8")
    (design,) = load(str(path))
    return design


def shape(content: dict[str, Any]) -> list[dict[str, Any]]:
    """What of a file its tables are: attributes, keys and indexes."""
    return [
        {
            "name": each["TableName"],
            "key": each["KeyAttributes"],
            "global": each.get("GlobalSecondaryIndexes", []),
            "local": each.get("LocalSecondaryIndexes", []),
            "others": {
                (other["AttributeName"], other["AttributeType"])
                for other in each.get("NonKeyAttributes", [])
                if other["AttributeName"] not in {part["AttributeName"] for part in each["KeyAttributes"].values()}
            }
            # What only the items have.
            | {
                (name, next(iter(value)))
                for item in all_items(each)
                for name, value in item.items()
                if name not in {part["AttributeName"] for part in each["KeyAttributes"].values()}
                and name not in {other["AttributeName"] for other in each.get("NonKeyAttributes", [])}
            },
        }
        for each in content["DataModel"]
    ]


def all_items(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        *content.get("TableData", []),
        *(item for facet in content.get("TableFacets", []) for item in facet.get("TableData", [])),
    ]


def owner(table: Table, item: dict[str, Any]) -> Schema:
    (schema,) = [schema for schema in schemas_of(table) if schema.matches(item)]
    return schema


# -- there and back -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", FILES)
def test_what_is_imported_and_exported_again_has_the_same_tables(name: str, tmp_path: Path) -> None:
    design = imported(FILES[name], tmp_path)
    assert shape(workbench.model(design, AT)) == shape(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_every_item_is_of_one_entity_and_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    design = imported(FILES[name], tmp_path)
    for declared, content in zip(design.tables, FILES[name]["DataModel"], strict=True):
        for item in all_items(content):
            schema = owner(declared, item)
            assert schema.encode(schema.decode(item)) == item


def test_the_modules_are_clean(tmp_path: Path) -> None:
    for number, content in enumerate(FILES.values()):
        (tmp_path / f"model_{number}.py").write_text(workbench.source(workbench.parse(content)), "utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I,UP", "--line-length", "160"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


# -- what is inferred -----------------------------------------------------------------------------------------------


def rules(design: Design, entity: str) -> dict[str, str]:
    (schema,) = [schema for schema in design.schemas if schema.entity.__name__ == entity]
    return {name: rule.template.text for name, rule in schema.key_rules.items()}


def annotations(design: Design, entity: str) -> dict[str, Any]:
    (schema,) = [schema for schema in design.schemas if schema.entity.__name__ == entity]
    return {name: info.annotation for name, info in schema.entity.model_fields.items()}


@pytest.mark.requirement("X3")
def test_templates_are_inferred_from_items(tmp_path: Path) -> None:
    design = imported(DESK, tmp_path)
    assert [schema.entity.__name__ for schema in design.schemas] == ["Ticket", "Event"]
    assert rules(design, "Ticket") == {
        "PK": "TICKET#{ticketId}",
        "SK": "METADATA",
        "GSI1PK": "STATUS#{status}#{openedAt:date}",
        "GSI1SK": "{openedAt}",
    }
    assert rules(design, "Event") == {"PK": "TICKET#{ticketId}", "SK": "EVENT#{number:04}"}


def test_a_category_that_products_share_their_numbers_with_is_not_their_key(tmp_path: Path) -> None:
    def product(number: str) -> dict[str, Any]:
        keys = {"PK": f"PROD#{number}", "SK": f"PROD#{number}", "GSI1PK": f"CAT#{number}", "GSI1SK": f"PROD#{number}"}
        return {name: {"S": text} for name, text in {**keys, "cat": number}.items()}

    indexes = [index("GSI1", "GSI1PK", "GSI1SK")]
    model = file(
        table(
            "Shop",
            PK_SK,
            NonKeyAttributes=[attribute("cat")],
            GlobalSecondaryIndexes=indexes,
            TableData=[product("9"), product("10"), {"PK": s("CUST#1"), "SK": s("PROFILE"), "name": s("Ada")}],
        )
    )
    design = imported(model, tmp_path)
    assert [schema.entity.__name__ for schema in design.schemas] == ["Prod", "Cust"]
    found = rules(design, "Prod")
    assert found == {"PK": "PROD#{~key~prod_id}", "SK": "PROD#{~key~prod_id}", "GSI1PK": "CAT#{cat}"}
    assert "# PK may be PROD#{cat}: the sample items do not show which." in workbench.source(workbench.parse(model))


def test_types_are_inferred_from_items(tmp_path: Path) -> None:
    design = imported(DESK, tmp_path)
    ticket, event = annotations(design, "Ticket"), annotations(design, "Event")
    assert ticket["opened_at"] is datetime
    assert ticket["is_late"] is bool
    assert ticket["labels"] == set[str] | None
    assert event["number"] is int
    assert event["score"] is Decimal
    assert event["place"] == dict[str, Any]


def test_an_attribute_that_says_what_an_item_is_makes_the_entities(tmp_path: Path) -> None:
    design = imported(SHOP, tmp_path)
    assert design.tables[0].type_attribute == "EntityType"
    assert [(schema.entity.__name__, schema.type_name) for schema in design.schemas] == [
        ("Customer", "customer"),
        ("Product", "product"),
        ("OrderItem", "orderItem"),
    ]
    # No other attribute holds what is in these keys.
    customer = next(schema for schema in design.schemas if schema.type_name == "customer")
    assert list(customer.unstored.homes.values()) == [["PK"]]
    assert annotations(design, "Customer")["c_id"] is str


def test_a_key_made_of_attributes_is_recognised_whatever_it_is_called(tmp_path: Path) -> None:
    design = imported(DEVICES, tmp_path)
    assert rules(design, "DeviceStateLog") == {"State#Date": "{State}#{Date}"}
    assert annotations(design, "Reading")["at"] is int


def test_facets_that_nothing_in_their_keys_tells_apart_are_one_entity(tmp_path: Path) -> None:
    (schema,) = imported(FACETS, tmp_path).schemas
    assert schema.entity.__name__ == "Library"
    assert set(schema.fields) == {"pk", "sk", "title", "artist", "plays", "cover"}


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(
    ("name", "entity", "expected"),
    [
        ("seed: calls", "Call", {"sk": "{scheduledFor:013}#{callId}", "userStatus": "{userId}#{status}"}),
        (
            "seed: tasks",
            "Assignment",
            {
                "PK": "TASK#{TaskId}",
                "SK": "ASSIGNMENT#{UserId}",
                "GSI1PK": "USER#{UserId}",
                "GSI1SK": "TASK#{TaskId}",
            },
        ),
        (
            "seed: engagement",
            "Candidate",
            {
                "PK": "CUSTOMER#{customerId}#PROGRAM#{programId}#MARKETPLACE#{marketplaceId}",
                "SK": "SUBJECT#{subject.type}#{subject.id}",
                "GSI1PK": "PROGRAM#{programId}#CHANNEL#{channelId}",
                "GSI1SK": "SCORE#{score:number}#CUSTOMER#{customerId}",
                "GSI2PK": "PROGRAM#{programId}#DATE#{createdAt:date}",
                "GSI2SK": "CREATED#{createdAt}#CUSTOMER#{customerId}",
            },
        ),
    ],
)
def test_the_seeds_keys_are_found_again(name: str, entity: str, expected: dict[str, str], tmp_path: Path) -> None:
    content = workbench.model(DESIGNS[name], AT)
    for each in content["DataModel"]:
        # From the items alone.
        del each["TableFacets"]
    assert rules(imported(content, tmp_path), entity) == expected


# -- what is exported -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", DESIGNS)
def test_what_is_exported_is_a_data_model_with_sample_items(name: str) -> None:
    content = workbench.model(DESIGNS[name], AT)
    parsed = workbench.parse(json.loads(json.dumps(content)))
    for declared, each in zip(DESIGNS[name].tables, parsed.DataModel, strict=True):
        assert each.TableName == declared.name
        assert each.key == list(declared.key)
        assert [facet.FacetName for facet in each.TableFacets]
        items = [listed.item for listed in each.items]
        assert len(items) == len(each.TableData)
        for item in items:
            owner(declared, item)


def test_metadata_is_what_workbench_shows() -> None:
    content = workbench.model(Design("Calls", tables=DESIGNS["seed: calls"].tables, about="Calls.\n\nMore."), AT)
    assert content["ModelName"] == "Calls"
    assert content["ModelMetadata"] == {
        "Author": "",
        "DateCreated": "Jan 15, 2026, 09:30 AM",
        "DateLastModified": "Jan 15, 2026, 09:30 AM",
        "Description": "Calls.",
        "AWSService": "Amazon DynamoDB",
        "Version": "3.0",
    }


def test_a_key_of_several_attributes_is_refused() -> None:
    orders = Table("Orders", "id", indexes=[GlobalIndex("byRegion", ["tenant", "region"])])

    class Order(Entity, table=orders):
        id: str
        tenant: str
        region: str

    with pytest.raises(DesignError, match="does not support keys of several attributes"):
        workbench.model(Design("Orders", tables=[orders]), AT)


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "is not a NoSQL Workbench data model"),
        ({}, "it has no DataModel"),
        ({"DataModel": []}, r"DataModel: List should have at least 1 item"),
        ({"DataModel": [{"TableName": "Things"}]}, r"DataModel\.0\.KeyAttributes: Field required"),
        (file(table("a b", PK_SK)), r"DataModel\.0\.TableName: String should"),
        (file(table("Abc", PK_SK, TableData={})), r"DataModel\.0\.TableData: Input should be a valid list"),
        (file(table("Abc", PK_SK, TableData=[{"a": {"S": "\ud800"}}])), r"lone surrogate"),
    ],
)
def test_what_is_no_data_model_is_refused(content: Any, message: str) -> None:
    with pytest.raises(DesignError, match=message):
        workbench.parse(content)


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[" * 100_000, "is not JSON")])
def test_what_is_no_json_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(DesignError, match=message):
        workbench.read(path)


def test_values_that_are_nested_without_end_are_left_out() -> None:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(60):
        value = {"L": [value]}
    good = {"PK": s("a"), "SK": s("b")}
    model = workbench.parse(file(table("Abc", PK_SK, TableData=[{"a": value}, good])))
    assert model.notes == ["DataModel.0.TableData.0 is left out: a is nested too deeply"]
    assert [listed.item for listed in model.DataModel[0].items] == [good]


# -- names and values of all kinds ----------------------------------------------------------------------------------

NAMES = st.one_of(
    st.sampled_from(
        ["class", "keys", "model_config", "PK", "SK", "id", "type", "item", "a-b", "1st", "ünï", "copy", "{x}"]
    ),
    st.text(min_size=1, max_size=12),
)
TEXTS = st.one_of(
    st.sampled_from(["A#b", "USER#1", "x", "#", "a#", "##", "$", "TICKET#t 1", "2026-01-15", "{a}", '"', "\\", "\n"]),
    st.text(min_size=1, max_size=10),
)
VALUES = st.one_of(
    TEXTS.map(s),
    st.integers(-(10**12), 10**12).map(lambda number: {"N": str(number)}),
    st.booleans().map(lambda value: {"BOOL": value}),
    st.just({"NULL": True}),
    st.lists(TEXTS, min_size=1, max_size=2, unique=True).map(lambda texts: {"SS": sorted(texts)}),
    TEXTS.map(lambda text: {"M": {text: s(text)}}),
)
ITEMS = st.lists(
    st.builds(
        lambda pk, sk, rest: {**rest, "PK": s(pk), "SK": s(sk)},
        TEXTS,
        TEXTS,
        st.dictionaries(NAMES, VALUES, max_size=4),
    ),
    max_size=5,
)


# Each example makes classes that stay: a failure is shown as it is found.
@settings(max_examples=examples(60), phases=[Phase.generate], database=None)
@given(items=ITEMS, name=st.text(max_size=20))
def test_whatever_is_in_a_file_becomes_a_module_that_holds_it(items: list[dict[str, Any]], name: str) -> None:
    content = file(table("Things", PK_SK, TableData=items), name=name)
    namespace: dict[str, Any] = {"__name__": "imported"}
    exec(workbench.source(workbench.parse(content)), namespace)
    design: Design = namespace["design"]
    assert design.name == name
    assert shape(workbench.model(design, AT))[0]["key"] == PK_SK
    for listed in workbench.parse(content).DataModel[0].items:
        schema = owner(design.tables[0], listed.item)
        # A NULL is as good as nothing.
        expected = {name: value for name, value in listed.item.items() if "NULL" not in value}
        assert schema.encode(schema.decode(expected)) == expected
