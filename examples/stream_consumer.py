"""A stream consumer: totals that follow every change of a table, counted once whatever crashes.

    python examples/stream_consumer.py ./shop

It shows a table with a stream, a handler with effects, and a checkpoint that is committed together with them. Stop the
program wherever you like and start it again: no change is counted twice, and none is missed.
"""

import sys
from collections.abc import Sequence
from decimal import Decimal
from uuid import uuid4

from tablewright.model import Entity, Get, Keys, Table, attr
from tablewright.store import AnyChange, Consumer, Effects, Store, typed_changes

orders = Table("orders", "PK", "SK", stream="NEW_AND_OLD_IMAGES")
totals = Table("totals", "PK", "SK", ttl="ttl")


class Order(Entity, table=orders):
    customer: str
    order_id: str
    amount: Decimal

    keys = Keys(PK="CUSTOMER#{customer}", SK="ORDER#{order_id}")

    @Get()
    def by_id(self, customer: str, order_id: str) -> None:
        """An order."""


class Total(Entity, table=totals):
    customer: str
    orders: int = 0
    amount: Decimal = Decimal(0)

    keys = Keys(PK="CUSTOMER#{customer}", SK="TOTAL")

    @Get()
    def by_customer(self, customer: str) -> None:
        """The totals of a customer."""


def count(changes: Sequence[AnyChange], effects: Effects) -> None:
    """What each change adds to the totals: the new order less the old one, so that updates and deletes count too."""
    for change in typed_changes(Order, changes):
        for order, sign in ((change.after, 1), (change.before, -1)):
            if order is not None:
                effects.add(
                    Total.by_customer(order.customer),
                    attr(Total.orders).add(sign),
                    attr(Total.amount).add(sign * order.amount),
                )


def main(folder: str | None) -> None:
    with Store.open(folder) as store:
        store.ensure_tables(orders, totals)
        before = store.get(Total.by_customer("ada")) or Total(customer="ada")

        first, second = (
            store.create(Order(customer="ada", order_id=str(uuid4()), amount=amount))
            for amount in (Decimal("19.90"), Decimal("5"))
        )
        store.update(first, attr(Order.amount).set(Decimal("20")))
        store.delete(second)

        # Its checkpoints are kept in the table of the totals. `run` goes on forever; `run_once` takes what is there.
        consumer = Consumer(store, orders, count, name="totals", checkpoints=totals)
        done = consumer.run_once()
        consumer.release()  # the next consumer need not wait for this one's lease to run out
        assert consumer.dead_letters() == []

        after = store.get(Total.by_customer("ada"))
        assert after is not None
        assert (after.orders - before.orders, after.amount - before.amount) == (1, Decimal("20"))
        print(f"{done.records} changes; orders of ada: {after.orders}, for {after.amount}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
