"""Every operation, member and value that clients know is declared, and no other."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import botocore
import pytest

from tablewright.engine.requests import STREAMS_OPERATIONS
from tablewright.engine.requests.input_shapes import List, Map, Shape, String, Struct
from tablewright.engine.requests.value_shape import AttributeValue
from tests.engine.requests.refusals import INPUTS


def service_model(service: str) -> dict[str, Any]:
    folder = Path(botocore.__file__).parent / "data" / service / "2012-08-10"
    model: dict[str, Any] = json.loads(gzip.decompress((folder / "service-2.json.gz").read_bytes()))
    return model


def members_of(
    declared: Shape, shapes: dict[str, Any], name: str, path: str
) -> Iterator[tuple[str, Set[str], Set[str]]]:
    """The members, and the enumerated values, of a declared shape and of botocore's, at each place of a request."""
    shape = shapes[name]
    if isinstance(declared, AttributeValue):
        yield f"{path}.", set(declared.members), shape["members"].keys()
    elif isinstance(declared, Struct):
        yield f"{path}.", declared.members.keys(), shape["members"].keys()
        for member in declared.members.keys() & shape["members"].keys():
            reference = shape["members"][member]["shape"]
            yield from members_of(declared.members[member], shapes, reference, f"{path}.{member}")
    elif isinstance(declared, List):
        yield from members_of(declared.member, shapes, shape["member"]["shape"], f"{path}[]")
    elif isinstance(declared, Map):
        yield from members_of(declared.value, shapes, shape["value"]["shape"], f"{path}{{}}")
    elif isinstance(declared, String):
        yield f"{path}=", set(declared.enum), set(shape.get("enum", ()))


def declared_members(operation: str) -> Iterator[tuple[str, Set[str], Set[str]]]:
    model = service_model("dynamodbstreams" if operation in STREAMS_OPERATIONS else "dynamodb")
    name = model["operations"][operation]["input"]["shape"]
    return members_of(INPUTS[operation].shape, model["shapes"], name, operation)


@pytest.mark.parametrize("operation", sorted(INPUTS))
def test_every_member_that_clients_know_is_declared(operation: str) -> None:
    missing = [f"{place}{name}" for place, declared, known in declared_members(operation) for name in known - declared]
    assert sorted(missing) == []


@pytest.mark.parametrize("operation", sorted(INPUTS))
def test_every_declared_member_is_known_to_clients(operation: str) -> None:
    unknown = [f"{place}{name}" for place, declared, known in declared_members(operation) for name in declared - known]
    assert sorted(unknown) == []


def test_the_conformance_page_says_what_becomes_of_every_operation_and_parameter() -> None:
    page = (Path(__file__).parents[3] / "docs" / "conformance.md").read_text()
    _, _, section = page.partition("## Operations and parameters")
    table, _, rest = section.partition("Not implemented, and refused by name: ")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| ")
    ]
    described = {row[0]: sorted(name for cell in row[1:] for name in cell.split(", ") if name) for row in rows[1:]}
    expected: dict[str, list[str]] = {}
    unknown = []
    for service in ("dynamodb", "dynamodbstreams"):
        model = service_model(service)
        for operation, declared in model["operations"].items():
            if operation not in INPUTS:
                unknown.append(operation)
            else:
                shape = model["shapes"][declared["input"]["shape"]] if "input" in declared else {"members": {}}
                expected[operation] = sorted(shape["members"])
    assert described == expected
    assert rest.partition(".")[0].replace("\n", " ").split(", ") == unknown
