"""Related entities: those that entities name by ids, all of them in as few requests as they fit into.

    class Order(Entity, table=shop):
        customer_id: str
        products: list[str]

        def customer(self) -> Lookup[Customer]:
            return Customer.by_id(self.customer_id)

        def lines(self) -> list[Lookup[Product]]:
            return [Product.by_id(product_id) for product_id in self.products]

    for order, customer, products in store.fetch_related(orders, Order.customer, Order.lines): ...

A relation is a function from an entity to a lookup, to a list of lookups, or to None. What several entities name is
read once, and is one object in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from tablewright.model import Lookup
from tablewright.store.argument_checks import A_GET, wrong_argument
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow
from tablewright.store.read.get import get_many

__all__ = ["fetch_related"]

Relation = Callable[[Any], "Lookup[Any] | Sequence[Lookup[Any]] | None"]


def fetch_related(
    context: Context, entities: Iterable[Any], relations: Sequence[Relation], *, consistent: bool | None = None
) -> Flow[list[tuple[Any, ...]]]:
    """For each entity a tuple of itself and what its relations name; None for what does not exist."""
    rows = [(entity, [relation(entity) for relation in relations]) for entity in entities]
    numbers: dict[Hashable, int] = {}
    wanted: list[Lookup[Any]] = []

    def place(lookup: Any) -> int:
        if not isinstance(lookup, Lookup):
            raise wrong_argument("a relation of fetch_related", A_GET, lookup)
        identity = (lookup.entity, lookup.name, lookup.projection, lookup.load_large, *lookup.values.items())
        number = numbers.setdefault(identity, len(wanted))
        if number == len(wanted):
            wanted.append(lookup)
        return number

    def places(named: Any) -> int | list[int] | None:
        if named is None:
            return None
        return [place(each) for each in named] if isinstance(named, list | tuple) else place(named)

    placed = [(entity, [places(named) for named in found]) for entity, found in rows]
    (items,) = yield from get_many(context, wanted, consistent=consistent)

    def related(number: int | list[int] | None) -> Any:
        if number is None:
            return None
        return items[number] if isinstance(number, int) else [items[each] for each in number]

    return [(entity, *map(related, found)) for entity, found in placed]
