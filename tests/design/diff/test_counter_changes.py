"""Counters that are declared for what is stored already: they have not counted it, and the diff says what to do."""

from __future__ import annotations

from decimal import Decimal
from types import new_class
from typing import Any

from tablewright.design.diff import DesignChange, Impact, changes
from tablewright.design.diff.design_snapshot import snapshot
from tablewright.model import Design, Entity, Get, Keys, Table, attr, count_of, sum_of
from tablewright.store import Store


def version(counters: Any) -> tuple[dict[str, Any], Table, Any, Any]:
    """A design whose totals have the counters that a function of the counted entity gives; None for no totals."""
    table = Table("Sales", "PK", "SK")

    class Sale(Entity, table=table):
        shop: str
        number: int
        paid: bool = False
        total: Decimal = Decimal(0)

        keys = Keys(PK="SHOP#{shop}", SK="SALE#{number:06}")

        @Get()
        def by_number(self, shop: str, number: int) -> None: ...

    totals = None
    if counters is not None:
        given = counters(Sale)
        namespace = {
            "__module__": __name__,
            "__annotations__": {"shop": str, **{name: kind for name, (kind, _) in given.items()}},
            **{name: default for name, (_, default) in given.items()},
            "keys": Keys(PK="SHOP#{shop}", SK="TOTALS"),
        }
        totals = new_class("Totals", (Entity,), {"table": table}, lambda space: space.update(namespace))
    return snapshot(Design("sales", tables=[table])), table, Sale, totals


def found(old: Any, new: Any) -> list[DesignChange]:
    return [change for change in changes(version(old)[0], version(new)[0]) if change.impact is not Impact.FREE]


def counted(sale: Any) -> Any:
    return {"sales": (int, count_of(sale))}


def summed(sale: Any) -> Any:
    return {**counted(sale), "revenue": (Decimal, sum_of(sale.total))}


def paid(sale: Any) -> Any:
    return {"sales": (int, count_of(sale, where=attr(sale.paid).is_(True)))}


def streamed(sale: Any) -> Any:
    return {"sales": (int, count_of(sale, kept_by="stream"))}


def test_a_new_counter_has_not_counted_what_is_stored() -> None:
    for old, new, place, what in [
        (None, counted, "Totals.sales", "now counts Sale"),
        (counted, summed, "Totals.revenue", "now counts Sale.total"),
        (counted, paid, "Totals.sales", "otherwise counts Sale"),
        (lambda _: {"sales": (int, 0)}, counted, "Totals.sales", "now counts Sale"),
    ]:
        (change,) = found(old, new)
        assert (change.impact, change.place) == (Impact.BACKFILL, place)
        assert change.what == f"{what}: stored items are not counted yet"
        assert change.steps[-1] == "run `store.repair(Totals, dry_run=False)`, which counts them"
    (change,) = found(counted, streamed)
    assert change.steps == ("run the consumer's `rebuild(clear=[Totals])`, which counts them",)


def test_what_stays_or_goes_needs_nothing() -> None:
    assert found(summed, summed) == []
    assert found(summed, counted) == []
    assert found(counted, lambda _: {"sales": (int, 0)}) == []


def test_the_step_makes_it_true() -> None:
    _, table, sale, _ = version(None)
    with Store.open() as store:
        store.ensure_tables(table)
        store.write_many([sale(shop="s", number=number) for number in range(5)])
        *_, totals = version(counted)
        assert not store.verify(totals).is_clean
        store.repair(totals, dry_run=False)
        assert store.verify(totals).is_clean
