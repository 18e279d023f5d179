"""Accounts, users, products and invoices, after the overview sample of OneTable.

    python examples/designs/onetable_overview.py

It shows keys in lower case letters with raw values, one index that lists each kind of item by name or by date, a
transaction over three entities, and computed changes.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tablewright.model import (
    AcceptedFinding,
    Collection,
    CollectionQuery,
    CreatedAt,
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Projection,
    Query,
    Table,
    Unique,
    UpdatedAt,
    Write,
    attr,
    raw,
)
from tablewright.store import Create, Store, Update

overview = Table("TestOverview", "pk", "sk", indexes=[GlobalIndex("gs1", "gs1pk", "gs1sk")], type_attribute="_type")


Role = Literal["admin", "user"]


class Postal(BaseModel):
    street: str | None = None
    city: str | None = None
    zip: str | None = None


class Account(Entity, table=overview):
    id: str
    name: Annotated[str, Unique()]
    balance: Decimal = Decimal(0)
    created: CreatedAt = None
    updated: UpdatedAt = None

    keys = Keys(pk=raw("account#{id}"), sk=raw("account#"), gs1pk=raw("account#"), gs1sk=raw("account#{name}#{id}"))

    @Get()
    def by_id(self, id: str) -> None:
        """An account."""

    @Query("gs1")
    def listed(self, name: str | None = None) -> None:
        """All accounts, or those of a name."""


class User(Entity, table=overview):
    account_id: str
    email: str
    id: str
    name: str
    role: Role = "user"
    status: Literal["active", "inactive"] = "active"
    address: Postal = Field(default_factory=Postal)
    balance: Decimal = Decimal(0)

    keys = Keys(
        pk=raw("account#{account_id}"), sk=raw("user#{email}"), gs1pk=raw("user#"), gs1sk=raw("user#{name}#{id}")
    )

    @Get()
    def by_email(self, account_id: str, email: str) -> None:
        """A user of an account."""

    @Query("gs1")
    def listed(self, name: str | None = None) -> None:
        """All users, or those of a name."""

    @Query()
    def of_account(self, account_id: str) -> None:
        """The users of an account."""

    @Query()
    def of_role(self, account_id: str, role: Role) -> FieldCondition:
        """The users of an account with a role."""
        return attr(self.role) == role

    @Query()
    def richer_than(self, account_id: str, amount: Decimal) -> FieldCondition:
        """The users of an account with a balance over an amount."""
        return attr(self.balance) > amount


class Address(Projection[User]):
    email: str

    @Query()
    def addresses(self, account_id: str) -> None:
        """The mail addresses of an account."""


class Product(Entity, table=overview):
    id: str
    name: str
    price: Decimal

    keys = Keys(pk=raw("product#{id}"), sk=raw("product#"), gs1pk=raw("product#"), gs1sk=raw("product#{name}#{id}"))

    @Get()
    def by_id(self, id: str) -> None:
        """A product."""

    @Query("gs1")
    def listed(self) -> None:
        """All products, by name."""


class Invoice(Entity, table=overview):
    account_id: str
    id: str
    date: datetime
    product: str
    count: int
    total: Decimal

    keys = Keys(
        pk=raw("account#{account_id}"),
        sk=raw("invoice#{id}"),
        gs1pk=raw("invoice#"),
        gs1sk=raw("invoice#{date}#{id}"),
    )

    @Query("gs1")
    def listed(self, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """All invoices, or those of a time."""


class AccountWithItems(Collection):
    account: Account
    users: list[User]
    invoices: list[Invoice]

    @CollectionQuery()
    def of_account(self, id: str) -> None:
        """An account with its users and invoices."""


design = Design(
    "OneTable overview",
    tables=[overview],
    collections=[AccountWithItems],
    writes=[
        Write("create account", ItemWrite(Account, "create")),
        Write("create user", ItemWrite(User, "create")),
        Write(
            "buy",
            ItemWrite(Invoice, "create"),
            ItemWrite(User, "update", adds=[User.balance]),
            ItemWrite(Account, "update", adds=[Account.balance]),
        ),
    ],
    accepted=[
        AcceptedFinding("low-cardinality", "Account.gs1pk", "all of them are listed, and there are few"),
        AcceptedFinding("low-cardinality", "User.gs1pk", "all of them are listed, and there are few"),
        AcceptedFinding("low-cardinality", "Product.gs1pk", "all of them are listed, and there are few"),
        AcceptedFinding("low-cardinality", "Invoice.gs1pk", "all of them are listed, and there are few"),
    ],
)

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
ROAD = "roadrunner@acme.com"


def fill(store: Store) -> None:
    store.ensure_tables(overview)
    store.create(Account(id="01", name="Acme Rockets"))
    store.create(User(account_id="01", email=ROAD, id="u1", name="Road Runner"))
    for number in range(3):
        store.create(User(account_id="01", email=f"user{number}@acme.com", id=f"u-{number}", name=f"user{number}"))
    store.create(Product(id="p1", name="rocket", price=Decimal("10.99")))


def try_patterns(store: Store) -> None:
    runner = User.by_email("01", ROAD)
    assert [each.email for each in store.query(User.listed("Road Runner")).items] == [ROAD]
    store.update(runner, attr(User.role).set("admin"), attr(User.balance).set(Decimal(110)))
    store.update(runner, attr(User.address.zip).set("98034"))
    store.update(runner, attr(User.balance).add(10))
    store.update(runner, attr(User.balance).set(attr(User.balance) - 2))
    assert store.get_or_raise(runner).balance == 118
    assert [each.email for each in store.query(User.of_role("01", "admin")).items] == [ROAD]
    assert [each.email for each in store.query(User.richer_than("01", Decimal(100))).items] == [ROAD]
    assert ROAD in [each.email for each in store.query(Address.addresses("01")).items]
    first = store.query(User.of_account("01"), limit=2)
    rest = store.query(User.of_account("01"), limit=2, cursor=first.cursor)
    assert len(first.items + rest.items) == 4
    rocket = store.get_or_raise(Product.by_id("p1"))
    invoice = Invoice(account_id="01", id="i1", date=NOW, product=rocket.name, count=1, total=rocket.price)
    store.transact(
        Create(invoice),
        Update(runner, attr(User.balance).add(rocket.price)),
        Update(Account.by_id("01"), attr(Account.balance).add(rocket.price)),
    )
    account = store.collect(AccountWithItems.of_account("01"))
    assert account is not None
    assert (account.account.balance, len(account.users), account.invoices) == (rocket.price, 4, [invoice])
    assert store.query(Invoice.listed(since=NOW - timedelta(days=30), until=NOW)).items == [invoice]
    assert [each.name for each in store.query(Account.listed()).items] == ["Acme Rockets"]
    assert store.get_or_raise(Account.by_id("01")).name == "Acme Rockets"
    assert len(store.query(User.listed()).items) == 4
    assert store.query(Product.listed()).items == [rocket]


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of OneTable's overview")


if __name__ == "__main__":
    main()
