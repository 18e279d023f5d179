"""Units and prices that are stated."""

from datetime import date

from tablewright.model import (
    CostClaim,
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Projection,
    Query,
    Table,
    Volume,
    Write,
)
from tests.design.lint.cases.case import Case


def claimed(claim: CostClaim) -> Design:
    table = Table("items", "id", indexes=[GlobalIndex("byOwner", "owner", include=[])])

    class Thing(Entity, table=table):
        id: str
        owner: str
        body: str

        @Get(consistent=True)
        def by_id(self, id: str) -> None: ...

    class ThingId(Projection[Thing]):
        id: str

        @Query("byOwner", expected=10)
        def of_owner(self, owner: str) -> None: ...

    return Design(
        "Items",
        tables=[table],
        writes=[
            Write("create", ItemWrite(Thing, "create")),
            Write("change", ItemWrite(Thing, "update", sets=[Thing.body])),
        ],
        volume={Thing: Volume(items=1_000, size=3_584)},
        claims=[claim],
    )


CASES = [
    Case(
        "wrong-units",
        "a create of 3.5 KB",
        lambda: claimed(CostClaim("a create of 3.5 KB", subject="create", units=3)),
        lambda: claimed(CostClaim("a create of 3.5 KB", subject="create", units=5)),
    ),
    Case(
        "wrong-units",
        "a change",
        lambda: claimed(CostClaim("a change", subject="change", units=3.5)),
        lambda: claimed(CostClaim("a change", subject="change", units=4)),
    ),
    Case(
        "wrong-units",
        "a get",
        lambda: claimed(CostClaim("a get", subject="Thing.by_id", units=0.5)),
        lambda: claimed(CostClaim("a get", subject="Thing.by_id", units=1)),
    ),
    Case(
        "old-prices",
        "on demand",
        lambda: claimed(CostClaim("on demand", write_price=1.25, read_price=0.25, as_of=date(2024, 1, 1))),
        lambda: claimed(CostClaim("on demand", write_price=0.625, read_price=0.125)),
    ),
    Case(
        "old-prices",
        "provisioned",
        lambda: claimed(CostClaim("provisioned", write_hour_price=0.00065, read_hour_price=0.00065)),
        lambda: claimed(CostClaim("provisioned", write_hour_price=0.00065, read_hour_price=0.00013)),
    ),
]
