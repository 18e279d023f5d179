"""Fields that are not keys, and counters."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from tablewright.model import (
    Design,
    Entity,
    ExpiresAt,
    Get,
    ItemWrite,
    Keys,
    Personal,
    Retain,
    Table,
    Version,
    Write,
)
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


def stocked(
    name: str,
    *,
    reads: bool = False,
    creates: str | None = None,
    added: bool = False,
    also: bool = False,
    default: int | None = 0,
    kind: Any = int,
) -> Design:
    """Designs in words that no list has: what is set by a write, and what else the write does."""
    table = Table("magazzino", "PK", "SK")

    def uno(self: Any, codice: str) -> None: ...

    Articolo = entity(
        "Articolo",
        table,
        {"codice": str, "nome": str, name: kind},
        keys=Keys(PK="A#{codice}", SK="A"),
        uno=Get()(uno),
        **({} if default is None else {name: default}),
    )
    nome, field, read = (getattr(Articolo, each) for each in ("nome", name, "uno"))
    writes = [ItemWrite(Articolo, "update", sets=[nome, field] if also else [field])]
    if creates is not None:
        keys = Keys(PK="A#{codice}", SK=f"{creates}#{{numero}}")
        writes.append(ItemWrite(entity(creates, table, {"codice": str, "numero": str}, keys=keys), "create"))
    design = [Write("aggiorna", *writes, reads=[read] if reads else [])]
    if added:
        design.append(Write("carica", ItemWrite(Articolo, "update", adds=[field])))
    return Design("Magazzino", tables=[table], writes=design)


def billed(kind: Any) -> Design:
    return design_of(entity("Voce", Table("voci", "id"), {"id": str, "valuta": str, "listino": kind}))


def ending(name: str, ttl: str | None = None) -> Design:
    return design_of(entity(name, Table("passing", "id", ttl=ttl), {"id": str, "expires_at": datetime}))


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
    Case(
        "money-type", "Product.importo_totale", lambda: priced("importo_totale", float), lambda: priced("importo", int)
    ),
    # Whatever it is called, it is an amount in the currency.
    Case("money-type", "Voce.listino", lambda: billed(float), lambda: billed(Decimal), "warning"),
    Case("ttl-not-enabled", "Session.expires_at", lambda: ending("Session"), lambda: ending("Coupon")),
    Case(
        "ttl-not-enabled", "LoginToken.expires_at", lambda: ending("LoginToken", "ttl"), lambda: ending("Coupon", "ttl")
    ),
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
    Case(
        "counter-set",
        "aggiorna.giacenza",
        lambda: stocked("giacenza", reads=True),
        lambda: stocked("giacenza", reads=True, also=True),
        "warning",
    ),
    Case(
        "counter-set",
        "aggiorna.giacenza",
        lambda: stocked("giacenza", creates="Movimento"),
        lambda: stocked("giacenza", creates="Movimento", default=30),
        "warning",
    ),
    Case(
        "counter-set",
        "aggiorna.num_movimenti",
        lambda: stocked("num_movimenti", creates="Movimento", default=None),
        lambda: stocked("anno", creates="Movimento", default=None),
    ),
    Case(
        "counter-set",
        "aggiorna.punti",
        lambda: stocked("punti", reads=True, added=True, default=10),
        lambda: stocked("punti", reads=True, default=10),
        "warning",
    ),
    Case(
        "counter-set",
        "aggiorna.visite",
        lambda: stocked("visite"),
        lambda: stocked("livello", kind=Annotated[int, Field(ge=0, le=5)]),
        "advice",
    ),
]
