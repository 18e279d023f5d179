"""Lint's advice can be followed to the letter: what it names is free, and once it is done the finding is gone."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from tablewright.design.lint import lint
from tablewright.model import Design, Entity, GlobalIndex, Keys, Query, RequiredRead, Table, schema_of
from tests.design.generated_designs import SHAPES, Shape, entity_of
from tests.examples import examples

_ADVICE = re.compile(
    r'GlobalIndex\("(?P<name>\w+)", "(?P<partition>\w+)", "(?P<sort>\w+)"\).*'
    r'Keys\((?P=partition)="(?P<first>[^"]+)", (?P=sort)="(?P<second>[^"]+)"\)'
)


def advice(entity: type[Entity], by: list[str]) -> re.Match[str] | None:
    """What lint says of a read that no key supports, if it does."""
    table = schema_of(entity).table
    design = Design("Generated", tables=[table], required_reads=[RequiredRead("wanted", entity, by=by)])
    found = [each for each in lint(design) if each.rule == "no-key"]
    if not found:
        return None
    match = _ADVICE.search(found[0].repair)
    assert match is not None, found[0].repair
    return match


@pytest.mark.requirement("X4")
@settings(max_examples=examples(100))
@given(SHAPES, st.lists(st.sampled_from(["status", "owner", "place", "note"]), min_size=1, max_size=3, unique=True))
def test_an_index_that_is_advised_can_be_declared_and_then_serves_the_read(shape: Shape, by: list[str]) -> None:
    entity = entity_of(shape)
    advised = advice(entity, by)
    if advised is None:
        return
    table = schema_of(entity).table
    assert not {advised["partition"], advised["sort"]} & {*table.key_attributes, *schema_of(entity).by_attribute}
    assert advised["name"] not in {index.name for index in table.indexes}
    index = GlobalIndex(advised["name"], advised["partition"], advised["sort"])
    keys = {advised["partition"]: advised["first"], advised["sort"]: advised["second"]}
    assert advice(entity_of(shape, [index], keys), by) is None


@pytest.mark.requirement("X4")
def test_names_that_are_taken_are_not_advised() -> None:
    rides = Table("Rides", "GSI1PK", "SK", indexes=[GlobalIndex("byRider", "GSI2PK", "GSI2SK")])

    class Ride(Entity, table=rides):
        ride_id: str
        rider: str
        # An attribute that is no key, of a name that one could have.
        GSI3SK: str = ""

        keys = Keys(GSI1PK="RIDE#{ride_id}", SK="RIDE", GSI2PK="HOME#{ride_id}", GSI2SK="HOME")

    advised = advice(Ride, ["rider"])
    assert advised is not None
    assert (advised["partition"], advised["sort"], advised["name"]) == ("GSI4PK", "GSI4SK", "byRider2")
    assert (advised["first"], advised["second"]) == ("RIDER#{rider}", "RIDE#{ride_id}#RIDE")


# -- templates ------------------------------------------------------------------------------------------------------

_TEMPLATE = re.compile(r'(?P<attribute>SK|GSI1SK)="(?P<template>[^"]+)"')
_PART = re.compile(r"Write (?P<part>\{[^}]+\})")


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
    ("template", "rule"),
    [
        ("ORDER#{order_id}", "random-order"),
        ("ORDER#{stage}", "key-not-unique"),
        ("{points:number}", "key-not-unique"),
        ("{placed_at:date}", "key-not-unique"),
    ],
)
def test_a_key_that_is_advised_is_one_that_lint_takes(template: str, rule: str) -> None:
    (finding,) = [each for each in lint(order_sorted_by(template)) if each.rule == rule]
    advised = _TEMPLATE.search(finding.repair)
    assert advised is not None, finding.repair
    assert [each for each in lint(order_sorted_by(advised["template"])) if each.rule == rule] == []


@pytest.mark.requirement("X4")
@pytest.mark.parametrize(
    ("template", "rule"),
    [("{points}#{order_id}", "unpadded-number"), ("{points:03}#{order_id}", "narrow-padding")],
)
def test_a_form_that_is_advised_is_one_that_lint_takes(template: str, rule: str) -> None:
    (finding,) = [each for each in lint(order_sorted_by(template)) if each.rule == rule]
    advised = _PART.search(finding.repair)
    assert advised is not None, finding.repair
    repaired = re.sub(r"\{points[^}]*\}", advised["part"], template)
    assert [each for each in lint(order_sorted_by(repaired)) if each.rule == rule] == []
