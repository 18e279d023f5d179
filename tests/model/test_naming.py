"""The attribute that a field is stored in: by the naming rule, or by a name of its own."""

from typing import Annotated

import pytest

from tablewright.model import (
    AttributeName,
    Entity,
    Table,
    camel_case,
    pascal_case,
    snake_case,
)


@pytest.mark.parametrize(
    ("name", "camel", "pascal"),
    [
        ("user_id", "userId", "UserId"),
        ("id", "id", "Id"),
        ("ip4addr_of_2fa", "ip4addrOf2fa", "Ip4addrOf2fa"),
        ("isoURL", "isoURL", "IsoURL"),
    ],
)
def test_naming_rules(name: str, camel: str, pascal: str) -> None:
    assert (snake_case(name), camel_case(name), pascal_case(name)) == (name, camel, pascal)


def test_a_field_can_have_a_name_of_its_own() -> None:
    class Row(Entity, table=Table("rows", "the-id"), naming=camel_case):
        row_id: Annotated[str, AttributeName("the-id")]
        row_name: str

    assert Row(row_id="1", row_name="n").item() == {"the-id": {"S": "1"}, "rowName": {"S": "n"}}
