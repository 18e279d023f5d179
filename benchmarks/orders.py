"""One order, declared three times: as an entity, as a model of PynamoDB, and as one of pydynox.

All three write the same item of about 500 bytes, which tests/test_benchmarks.py holds them to. A peer is declared in
its fastest way: with its own attribute types, plain numbers, and keys that are ready made; only the store makes keys.
"""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from tablewright.dynamo import Item
from tablewright.model import Entity, Get, Keys, Query, Table

NOTE = "leave it with the neighbours " * 7
PER_CUSTOMER = 10

orders = Table("Orders", "pk", "sk")


class Address(BaseModel):
    street: str
    city: str
    zip: str


class Line(BaseModel):
    sku: str
    count: int


class Order(Entity, table=orders):
    customer: int
    day: date
    number: int
    status: str
    total: Decimal
    revision: int
    gift: bool
    address: Address
    lines: list[Line]
    note: str

    keys = Keys(pk="CUSTOMER#{customer:06}", sk="ORDER#{day}#{number:07}")

    @Get()
    def itself(self, customer: int, day: date, number: int) -> None: ...

    @Query(expected=PER_CUSTOMER)
    def of_customer(self, customer: int, *, since: date | None = None) -> None: ...


def order(n: int, revision: int = 0) -> Order:
    """Order `n`; ten consecutive ones have the same customer."""
    return Order(
        customer=n // PER_CUSTOMER,
        day=date(2026, 3, n % PER_CUSTOMER + 1),
        number=n,
        status="shipped",
        total=Decimal(f"{n % 1000}.25"),
        revision=revision,
        gift=False,
        address=Address(street="12 Long Lane", city="Springfield", zip="01101"),
        lines=[Line(sku=f"SKU-{n % 97:04}", count=2)],
        note=NOTE,
    )


def key(n: int) -> Item:
    item = order(n).item()
    return {name: item[name] for name in orders.key}


def plain(n: int, revision: int = 0) -> dict[str, Any]:
    """The same order in the terms of the peers: texts, numbers, lists and dictionaries."""
    return {
        "pk": key(n)["pk"]["S"],
        "sk": key(n)["sk"]["S"],
        "customer": n // PER_CUSTOMER,
        "day": f"2026-03-{n % PER_CUSTOMER + 1:02}",
        "number": n,
        "status": "shipped",
        "total": n % 1000 + 0.25,
        "revision": revision,
        "gift": False,
        "address": {"street": "12 Long Lane", "city": "Springfield", "zip": "01101"},
        "lines": [{"sku": f"SKU-{n % 97:04}", "count": 2}],
        "note": NOTE,
    }


_TEXTS = ("day", "status", "note")
_NUMBERS = ("customer", "number", "total", "revision")


# A class of a peer, and a function that makes order `n` in revision `revision` of it.
Declared = tuple[Any, Callable[[int, int], Any]]


def pynamodb_model(endpoint: str) -> Declared:
    """An order of PynamoDB, on an endpoint."""
    attributes, models = import_module("pynamodb.attributes"), import_module("pynamodb.models")

    def mapped(name: str, members: dict[str, Any]) -> Any:
        return type(name, (attributes.MapAttribute,), members)

    text, number = attributes.UnicodeAttribute, attributes.NumberAttribute
    address = mapped("PynamoAddress", {name: text() for name in ("street", "city", "zip")})
    # A map's own method has the name of the attribute.
    line = mapped("PynamoLine", {"sku": text(), "amount": number(attr_name="count")})

    class Meta:
        table_name = orders.name
        region = "us-east-1"
        host = endpoint
        aws_access_key_id = "any"
        aws_secret_access_key = "any"

    members: dict[str, Any] = {
        "Meta": Meta,
        "pk": text(hash_key=True),
        "sk": text(range_key=True),
        **{name: text() for name in _TEXTS},
        **{name: number() for name in _NUMBERS},
        "gift": attributes.BooleanAttribute(),
        "address": address(),
        "lines": attributes.ListAttribute(of=line),
    }
    model: Any = type("PynamoOrder", (models.Model,), members)

    def made(n: int, revision: int) -> Any:
        values = plain(n, revision)
        values["address"] = address(**values["address"])
        values["lines"] = [line(sku=each["sku"], amount=each["count"]) for each in values["lines"]]
        return model(**values)

    return model, made


def pydynox_model(endpoint: str) -> Declared:
    """An order of pydynox, on an endpoint. Maps and lists are plain, which is its fastest form."""
    pydynox, attributes = import_module("pydynox"), import_module("pydynox.attributes")
    client = pydynox.DynamoDBClient(region="us-east-1", endpoint_url=endpoint, access_key="any", secret_key="any")
    members: dict[str, Any] = {
        "model_config": pydynox.ModelConfig(table=orders.name, client=client),
        "pk": attributes.StringAttribute(partition_key=True),
        "sk": attributes.StringAttribute(sort_key=True),
        **{name: attributes.StringAttribute() for name in _TEXTS},
        **{name: attributes.NumberAttribute() for name in _NUMBERS},
        "gift": attributes.BooleanAttribute(),
        "address": attributes.MapAttribute(),
        "lines": attributes.ListAttribute(),
    }
    model: Any = type("PydynoxOrder", (pydynox.Model,), members)
    return model, lambda n, revision: model(**plain(n, revision))
