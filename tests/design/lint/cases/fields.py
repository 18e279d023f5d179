"""Fields that are not keys, and counters."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from tablewright.model import Design, Entity, ExpiresAt, ItemWrite, Personal, Retain, Table, Version, Write
from tests.design.lint.cases.case import Case, design_of, entity


def priced(name: str, kind: Any) -> Design:
    return design_of(entity("Product", Table("products", "id"), {"id": str, name: kind}))


def carts(of_line: Any, of_all: Any = Decimal) -> Design:
    class Line(BaseModel):
        sku: str
        price: of_line

    class Cart(Entity, table=Table("carts", "cart_id")):
        cart_id: str
        total: of_all
        lines: list[Line] = Field(default_factory=list, max_length=50)

    return design_of(Cart)


def sessions(kind: Any, ttl: str | None) -> Design:
    class Session(Entity, table=Table("sessions", "id", ttl=ttl)):
        id: str
        ttl: kind = None

    return design_of(Session)


def visits(kind: Any) -> Design:
    table = Table("visits", "id", ttl="ttl")

    class Visit(Entity, table=table, type_name="visit"):
        id: str
        user_id: Annotated[str, Personal("subject")]
        ttl: kind = None

    class Order(Entity, table=Table("orders", "id", ttl="ttl")):
        id: str
        user_id: Annotated[str, Personal("subject", keep="tax law")]
        ttl: Annotated[ExpiresAt, Retain(days=3650)] = None

    return design_of(Visit, Order)


def counted(how: str, name: str = "comment_count", write: str = "comment", *, versioned: bool = False) -> Design:
    table = Table("posts", "id")
    lock: dict[str, Any] = {"version": Version} if versioned else {}
    Post = entity("Post", table, {"id": str, name: int, **lock}, **({"version": 0} if versioned else {}))
    update = (
        ItemWrite(Post, "update", adds=[getattr(Post, name)])
        if how == "adds"
        else ItemWrite(Post, "update", sets=[getattr(Post, name)])
    )
    return Design("Posts", tables=[table], writes=[Write(write, update)])


AMOUNT = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}\.[0-9]{2}$")]

CASES = [
    Case("money-type", "Product.price", lambda: priced("price", float), lambda: priced("price", Decimal), "error"),
    Case(
        "money-type",
        "Product.unit_price",
        lambda: priced("unit_price", str),
        lambda: priced("unit_price", int),
        "warning",
    ),
    Case(
        "money-type",
        "Product.amount_eur",
        lambda: priced("amount_eur", float | None),
        lambda: priced("amount_cents", int),
    ),
    Case("money-type", "Cart.lines.price", lambda: carts(float), lambda: carts(Decimal), "error"),
    Case("money-type", "Cart.total", lambda: carts(Decimal, float), lambda: carts(Decimal), "error"),
    Case("money-type", "Product.balance", lambda: priced("balance", str), lambda: priced("balance", AMOUNT), "warning"),
    Case("money-type", "Product.price", lambda: priced("price", float), lambda: priced("price_rate", float)),
    Case("ttl-not-enabled", "Session.ttl", lambda: sessions(int | None, None), lambda: sessions(ExpiresAt, "ttl")),
    Case(
        "no-retention",
        "Visit.user_id",
        lambda: visits(int | None),
        lambda: visits(Annotated[ExpiresAt, Retain(days=365)]),
        "warning",
    ),
    Case("counter-set", "comment.comment_count", lambda: counted("sets"), lambda: counted("adds")),
    Case(
        "counter-set",
        "count.pages",
        lambda: counted("sets", "pages", "count"),
        lambda: counted("adds", "pages"),
    ),
    Case("counter-set", "comment.revision", lambda: counted("sets", "revision"), lambda: counted("adds", "revision")),
    Case("counter-set", "comment.stock", lambda: counted("sets", "stock"), lambda: counted("adds", "stock")),
    Case(
        "counter-set", "comment.total_likes", lambda: counted("sets", "total_likes"), lambda: counted("sets", "pages")
    ),
    Case("counter-set", "comment.comment_count", lambda: counted("sets"), lambda: counted("sets", versioned=True)),
]
