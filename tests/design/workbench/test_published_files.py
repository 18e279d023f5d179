"""Files of NoSQL Workbench as people publish them, and what is kept of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tablewright.design import workbench
from tablewright.design.workbench.sample_values import readable_item
from tablewright.model import Design, Table, schemas_of
from tests.design.workbench.data_models import PK_SK, file, s, table

AT = datetime(2026, 1, 15, tzinfo=UTC)


def module(content: Any) -> tuple[str, Design]:
    text = workbench.source(workbench.parse(content))
    namespace: dict[str, Any] = {"__name__": "imported"}
    exec(compile(text, "imported", "exec", dont_inherit=True), namespace)
    return text, namespace["design"]


def names(design: Design) -> list[str]:
    return [schema.entity.__name__ for schema in design.schemas]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"S": "x"}, {"S": "x"}),
        ({"S": {"S": "x"}}, {"S": "x"}),
        ("x", {"S": "x"}),
        ({"S": 5}, {"S": "5"}),
        ({"N": 5}, {"N": "5"}),
        (5, {"N": "5"}),
        (1.5, {"N": "1.5"}),
        (True, {"BOOL": True}),
        (None, {"NULL": True}),
        ({"BOOL": "true"}, {"BOOL": True}),
        ({"NULL": "True"}, {"NULL": True}),
        ({"SS": "x"}, {"SS": ["x"]}),
        ({"NS": [1, 2]}, {"NS": ["1", "2"]}),
        ({"M": {"city": "Rome", "n": 1}}, {"M": {"city": {"S": "Rome"}, "n": {"N": "1"}}}),
        ({"M": {"M": {"city": {"S": "Rome"}}}}, {"M": {"city": {"S": "Rome"}}}),
        ({"M": {"M": {"S": "a member of that name"}}}, {"M": {"M": {"S": "a member of that name"}}}),
        ({"city": "Rome", "zip": 1}, {"M": {"city": {"S": "Rome"}, "zip": {"N": "1"}}}),
        ({"M": '{"city": "Rome"}'}, {"M": {"city": {"S": "Rome"}}}),
        ({"L": '["a", 1]'}, {"L": [{"S": "a"}, {"N": "1"}]}),
        ({"L": [{"M": {"a": "b"}}, "c"]}, {"L": [{"M": {"a": {"S": "b"}}}, {"S": "c"}]}),
        ([1, "a"], {"L": [{"N": "1"}, {"S": "a"}]}),
    ],
)
def test_values_are_read_however_they_are_wrapped(value: Any, read: dict[str, Any]) -> None:
    assert readable_item({"a": value}) == {"a": read}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"N": "many"}, "a has the type N, and 'many' is not a number"),
        ({"N": True}, "a has the type N"),
        ({"BOOL": "perhaps"}, "must be true or false"),
        ({"S": ["x"]}, "a has the type S, and its value does not match"),
        ({"M": "no map"}, "a has the type M, and its value does not match"),
        ({"SS": []}, "a is an empty set"),
        ({"B": 5}, "a has the type B"),
    ],
)
def test_an_unreadable_value_is_refused_with_a_reason(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        readable_item({"a": value})


def test_one_bad_sample_does_not_end_it() -> None:
    good = {"PK": s("USER#1"), "SK": s("USER#1"), "name": s("Ada")}
    facet = {"FacetName": "Users", "TableData": [{"PK": {"N": "x"}}, good]}
    content = file(table("Things", PK_SK, TableData=[good, 7, {"a": {"N": "many"}}], TableFacets=[facet]))
    text, design = module(content)
    assert workbench.parse(content).notes == [
        "DataModel.0.TableData.1 is left out: an item must be an object of attributes",
        "DataModel.0.TableData.2 is left out: a has the type N, and 'many' is not a number",
        "DataModel.0.TableFacets.0.TableData.0 is left out: PK has the type N, and 'x' is not a number",
    ]
    assert "# DataModel.0.TableData.1 is left out" in text
    assert names(design) == ["Thing"]


def test_entities_in_one_facet_are_distinguished_by_the_words_in_their_keys() -> None:
    items = [
        {"PK": s("CUSTOMER#ada"), "SK": s("PROFILE#ada"), "name": s("Ada")},
        {"PK": s("CUSTOMER#ada"), "SK": s("ORDER#2026-01-05"), "total": {"N": "5"}},
    ]
    facets = [{"FacetName": "Everything", "TableData": items}]
    assert names(module(file(table("Shop", PK_SK, TableFacets=facets)))[1]) == ["Customer", "Order"]


def templates(design: Design) -> dict[str, dict[str, str]]:
    """The templates of each entity's keys."""
    return {
        schema.entity.__name__: {
            name: rule.template.text.replace("~key~", "") for name, rule in schema.key_rules.items()
        }
        for schema in design.schemas
    }


def test_a_sort_key_that_is_always_the_same_is_text() -> None:
    items = [
        *(
            {"PK": s(f"Case{n}"), "SK": s("metadata"), "case_id": s(f"Case{n}"), "state": s("open")}
            for n in range(1, 4)
        ),
        *(
            {"PK": s("Case1"), "SK": s(f"note#2026-01-0{n}#n{n}"), "at": s(f"2026-01-0{n}"), "id": s(f"n{n}")}
            for n in (1, 2)
        ),
    ]
    _, design = module(file(table("Cases", PK_SK, TableData=items)))
    assert templates(design) == {"Metadata": {"PK": "{case_id}", "SK": "metadata"}, "Note": {"SK": "note#{at}#{id}"}}


def test_kinds_that_only_a_word_tells_apart_have_what_is_behind_it_in_one_field() -> None:
    items = [
        {"PK": s("ACC#7"), "SK": s("SUB#7#SKU#9"), "sku": s("9"), "day": s("28")},
        {"PK": s("ACC#7"), "SK": s("REC#2026-01-05T10:00"), "sku": s("9")},
        {"PK": s("ACC#7"), "SK": s("REC#2026-01-05T11:00#SKU#9"), "sku": s("9")},
        {"PK": s("SHOP#1"), "SK": s("#META#")},
        {"PK": s("SHOP#1"), "SK": s("ACC#7")},
    ]
    text, design = module(file(table("Payments", PK_SK, TableData=items)))
    assert {name: keys["SK"] for name, keys in templates(design).items()} == {
        "Sub": "SUB#{sub_id}",
        "Rec": "REC#{rec_id}",
        "Shop": "#META#",
        "Acc": "ACC#{acc_id}",
    }
    assert 'SK=raw("REC#{rec_id}", "|")' in text


def test_entities_are_distinguished_by_words_before_a_colon_too() -> None:
    items = [
        {"PK": s("User:ada"), "SK": s("2026-01-05T10:00"), "text": s("Hello")},
        {"PK": s("User:bea"), "SK": s("2026-01-06T10:00"), "text": s("Hello")},
        {"PK": s("Room:art"), "SK": s("meta")},
        {"PK": s("Room:music"), "SK": s("meta")},
    ]
    _, design = module(file(table("Chat", PK_SK, TableData=items)))
    assert templates(design)["Room"] == {"PK": "Room:{room_id}", "SK": "meta"}
    assert templates(design)["User"] == {"PK": "User:{user_id}"}


def test_of_several_facets_the_one_with_the_fewest_items_says_what_an_item_is() -> None:
    users = [{"PK": s(f"USER#{name}"), "SK": s(f"USER#{name}")} for name in ("ada", "bea")]
    orders = [{"PK": s("ORDER#1"), "SK": s("ORDER#1")}]
    facets = [
        {"FacetName": "Everything", "TableData": users + orders},
        {"FacetName": "People", "TableData": users},
        {"FacetName": "Purchases", "TableData": orders},
    ]
    assert names(module(file(table("Shop", PK_SK, TableFacets=facets)))[1]) == ["People", "Purchases"]


def products(*more: dict[str, Any]) -> dict[str, Any]:
    items = [
        {"PK": s(f"PRODUCT#{n}"), "SK": s("PRODUCT"), "categoryId": s(str(n)), "title": s(f"No {n}"), **extra}
        for n, extra in enumerate(more or ({}, {}), 1)
    ]
    return file(table("Shop", PK_SK, TableData=items))


def test_a_category_that_coincides_is_not_taken_for_the_key_of_a_product() -> None:
    text, design = module(products())
    assert "# PK may be PRODUCT#{categoryId}: the sample items do not show which." in text
    (schema,) = schemas_of(design.tables[0])
    assert "PK" not in schema.key_rules


def test_two_attributes_that_both_fit_are_marked() -> None:
    text, _ = module(products({"unit": s("1")}, {"unit": s("2")}))
    assert "# PK may be PRODUCT#{categoryId} or PRODUCT#{unit}: the sample items do not show which." in text


def test_the_attribute_that_is_called_like_the_key_is_taken() -> None:
    _, design = module(products({"productId": s("1")}, {"productId": s("2")}))
    (schema,) = schemas_of(design.tables[0])
    assert schema.key_rules["PK"].template.text == "PRODUCT#{productId}"


def test_author_description_and_sample_items_come_back() -> None:
    items = [{"PK": s("USER#ada"), "SK": s("USER#ada"), "name": s("Ada"), "tags": {"SS": ["a"]}, "ok": {"BOOL": True}}]
    content = file(table("People", PK_SK, TableData=items))
    content["ModelMetadata"] = {"Author": "Ada L.", "Description": "Who is who."}
    text, design = module(content)
    assert (design.author, design.about) == ("Ada L.", "Who is who.")
    exported = workbench.model(design, AT)
    assert exported["ModelMetadata"]["Author"] == "Ada L."
    assert exported["ModelMetadata"]["Description"] == "Who is who."
    assert exported["DataModel"][0]["TableData"] == items
    assert module(exported)[0] == text


def test_sample_items_of_another_table_are_refused() -> None:
    with pytest.raises(Exception, match="sample items are given for 'Other', which is not one of its tables"):
        Design("Shop", tables=[], sample_items={Table("Other", "id"): []})
