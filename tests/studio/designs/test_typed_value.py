"""Values of declared types while they are typed: members by their types, and JSON that the type reads."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from tablewright.design import load
from tablewright.studio.designs.typed_value import Shape, TypedValue, has_members
from tablewright.studio.designs.write_runs import fields_of, writes_of
from tablewright.studio.items.edited_value import EditedMember, EditedValue

pytestmark = pytest.mark.requirement("ST4")

SYSTEMS = ("servicedesk", "support", "engagement", "calls", "tasks")


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Kind(Enum):
    A = "a"


class Files(BaseModel):
    type: Literal["files"]
    path: str


class Query(BaseModel):
    type: Literal["query"]
    sql: str
    limit: int | None = None


class Line(BaseModel):
    sku: str
    price: Decimal
    size: Size = Size.SMALL
    kind: Kind | None = None
    tags: set[str] = set()
    at: datetime | None = None
    is_gift: bool = False
    inner: list[Line] = []


VALUES: list[tuple[Any, Any]] = [
    (list[str], ["", "a,b", "2"]),
    (frozenset[Size], frozenset({Size.LARGE})),
    (dict[str, Decimal], {"a.b": Decimal("12345678901234567890.123456789012345678")}),
    (
        list[Line],
        [Line(sku="", price=Decimal(1), kind=Kind.A, tags={"x"}, inner=[Line(sku="b", price=Decimal("0.1"))])],
    ),
    (Line | None, Line(sku="a", price=Decimal(1), at=datetime(2026, 11, 18, tzinfo=UTC), is_gift=True)),
    (dict[str, tuple[int, int]], {"monday": (1, 2)}),
    (dict[str, Any], {"text": "1", "number": 1, "none": None, "list": [True, {"x": 2.5}]}),
    (
        list[Annotated[Files | Query, Field(discriminator="type")]],
        [Query(type="query", sql="x"), Files(type="files", path="p")],
    ),
    (list[list[int]], [[1], []]),
]


@pytest.mark.parametrize(("annotation", "value"), VALUES, ids=lambda each: str(each)[:30])
def test_what_is_read_and_typed_is_the_same_value(annotation: Any, value: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    typed = TypedValue(Shape(annotation))
    typed.read(adapter.dump_json(value).decode())
    assert adapter.validate_json(typed.json_text()) == value
    again = TypedValue(Shape(annotation))
    again.read(typed.json_text())
    assert again.json_text() == typed.json_text()


def test_members_are_typed_by_the_fields_of_their_type() -> None:
    typed = TypedValue(Shape(list[Line]))
    line = typed.add()
    assert [*line.fields] == [*Line.model_fields]
    assert line.fields["size"].shape.choices == ("1", "2")
    line.fields["sku"].text, line.fields["price"].text = "b", "2.50"
    line.fields["size"].text = "2"
    line.fields["inner"].give()
    typed.add().fields["sku"].text = "a"
    assert typed.move(1, -1) == 0
    typed.remove(0)
    assert typed.json_text() == '[{"sku":"b","price":"2.50","size":2,"inner":[]}]'


def test_a_type_that_is_one_of_several_models_is_chosen() -> None:
    typed = TypedValue(Shape(Files | Query))
    typed.choose(1)
    typed.fields["sql"].text = "SELECT 1"
    assert typed.json_text() == '{"type":"query","sql":"SELECT 1"}'


def test_what_may_be_anything_has_a_type_of_its_own() -> None:
    typed = TypedValue(Shape(dict[str, Any]))
    typed.add().any = EditedValue({"N": "12345678901234567890123456789012345678"})
    typed.members[0].name = "exact"
    typed.add().any = EditedValue({"L": [{"BOOL": True}, {"NULL": True}]})
    with pytest.raises(ValueError, match="every member needs a name"):
        typed.json_text()
    typed.members[1].name = "list"
    assert typed.json_text() == '{"exact":12345678901234567890123456789012345678,"list":[true,null]}'
    typed.members[1].value.any.members.append(EditedMember("", EditedValue({"N": "x"})))
    with pytest.raises(ValueError, match="numeric"):
        typed.json_text()


def test_what_is_left_out_is_no_value_and_an_empty_list_is_one() -> None:
    typed = TypedValue(Shape(list[str], is_required=False))
    assert typed.json_text() == ""
    typed.give()
    assert typed.json_text() == "[]"
    typed.leave_out()
    assert typed.json_text() == ""


@pytest.mark.parametrize("text", ["{", "[1", '{"unknown": 1}', '"text"', "[" * 100_000])
def test_json_that_does_not_fit_the_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not valid JSON|has no unknown|is not a Line"):
        TypedValue(Shape(Line)).read(text)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_field_with_members_of_the_systems_is_typed_by_its_members(system: str) -> None:
    for design in load(f"tablewright.systems.{system}"):
        for write in writes_of(design).values():
            for each in fields_of(design, write):
                if has_members(each.parameter.annotation):
                    typed = TypedValue(Shape(each.parameter.annotation))
                    assert typed.shape.kind in ("model", "one of", "list", "map"), each
                    if typed.shape.kind in ("list", "map"):
                        typed.add()
