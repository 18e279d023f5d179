"""A design with a field of every type, as the tests of files and of pseudonyms use it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel

from tablewright.model import Entity, EpochSeconds, Get, GlobalIndex, Keys, Personal, Query, Table, Unique

shop = Table(
    "Shop", "PK", "SK", indexes=[GlobalIndex("byMail", "GSI1PK", "GSI1SK")], type_attribute="type", ttl="until"
)


class Address(BaseModel):
    street: Annotated[str, Personal()]
    floors: list[int] = []


class Customer(Entity, table=shop):
    customer_id: str
    email: Annotated[str, Unique(), Personal()]
    tags: set[str]
    numbers: set[int]
    keys_of: set[bytes]
    phone: Annotated[str, Personal()] = ""
    points: Decimal = Decimal(0)
    vip: bool = False
    photo: bytes = b""
    address: Address | None = None
    until: EpochSeconds | None = None

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="PROFILE", GSI1PK="MAIL#{email}", GSI1SK="CUSTOMER")

    @Get()
    def by_id(self, customer_id: str) -> None: ...

    @Query(index="byMail")
    def by_mail(self, email: str) -> None: ...


class Order(Entity, table=shop):
    customer_id: str
    number: int
    email: Annotated[str, Personal()] = ""
    note: str | None = None

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="ORDER#{number:06}")

    @Query()
    def of_customer(self, customer_id: str) -> None: ...


def customers(number: int) -> list[Entity]:
    return [
        entity
        for each in range(number)
        for entity in (
            Customer(
                customer_id=f"c-{each}",
                email=f"ada.{each}@example.com",
                phone=f"+49 151 {each:07d}",
                points=Decimal("12345678901234567890.5") + each,
                vip=each % 2 == 0,
                photo=bytes([each % 256, 0, 255]),
                tags={"a", f"t{each}"},
                numbers={1, each + 10},
                keys_of={b"k", bytes([each % 256])},
                address=Address(street='Weg 1, "Hof"\nlinks', floors=[1, each]) if each % 3 else None,
                until=datetime(2100, 1, 1, tzinfo=UTC),
            ),
            Order(customer_id=f"c-{each}", number=each, email=f"ada.{each}@example.com", note="" if each % 2 else None),
        )
    ]
