"""Every operation, member and value that clients know is declared."""

from __future__ import annotations

import gzip
import json
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


def missing_members(declared: Shape, shapes: dict[str, Any], name: str, path: str) -> list[str]:
    """The members and enumerated values that botocore's shape has and the declared one has not."""
    shape = shapes[name]
    if isinstance(declared, AttributeValue):
        return [f"{path}.{member}" for member in shape["members"] if member not in declared.members]
    if isinstance(declared, Struct):
        missing = []
        for member, reference in shape["members"].items():
            if member not in declared.members:
                missing.append(f"{path}.{member}")
            else:
                missing += missing_members(declared.members[member], shapes, reference["shape"], f"{path}.{member}")
        return missing
    if isinstance(declared, List):
        return missing_members(declared.member, shapes, shape["member"]["shape"], f"{path}[]")
    if isinstance(declared, Map):
        return missing_members(declared.value, shapes, shape["value"]["shape"], f"{path}{{}}")
    if isinstance(declared, String):
        return [f"{path}={value}" for value in shape.get("enum", ()) if value not in declared.enum]
    return []


@pytest.mark.parametrize("operation", sorted(INPUTS))
def test_every_member_that_clients_know_is_declared(operation: str) -> None:
    model = service_model("dynamodbstreams" if operation in STREAMS_OPERATIONS else "dynamodb")
    name = model["operations"][operation]["input"]["shape"]
    assert missing_members(INPUTS[operation].shape, model["shapes"], name, operation) == []


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
