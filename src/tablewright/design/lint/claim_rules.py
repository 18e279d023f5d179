"""Rules about cost claims: units that do not follow from the design, and prices that are out of date."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.prices import load_prices
from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule


@rule("wrong-units", "Stated units that do not follow from the declared sizes", "error")
def wrong_units(context: LintContext) -> Iterator[Occurrence]:
    """Sizes are rounded up to whole units, and every index is written too."""
    capacity = CapacityEstimate(context.design)
    for claim in context.design.claims:
        if claim.subject is None or claim.units is None:
            continue
        parts = capacity.of(claim.subject)
        is_write = claim.subject in context.design.writes
        each = [(units.place, units.write if is_write else units.read) for units in parts]
        total = sum((amount for _, amount in each), Decimal(0))
        if Decimal(str(claim.units)) == total:
            continue
        parts_text = " + ".join(f"{amount:f} ({place})" for place, amount in each if amount)
        yield Occurrence(
            claim.about,
            f"{claim.about!r} states {claim.units:g} units for {claim.subject}; by the declared sizes it takes "
            f"{parts_text}, together {total:f}. Sizes are rounded up to "
            f"{'1 KB for a write' if is_write else '4 KB for a read'}, "
            "never down" + (", and each index is a write of its own." if is_write else "."),
            f"State {total:f}, or compute the cost from the design with tablewright plan.",
        )


@rule("old-prices", "Prices that are out of date", "warning")
def old_prices(context: LintContext) -> Iterator[Occurrence]:
    """The price list has changed since."""
    prices = load_prices()
    for claim in context.design.claims:
        stated = [
            ("a million writes", claim.write_price, prices.standard.million_writes),
            ("a million reads", claim.read_price, prices.standard.million_reads),
            ("a write unit per hour", claim.write_hour_price, prices.standard.write_unit_hour),
            ("a read unit per hour", claim.read_hour_price, prices.standard.read_unit_hour),
        ]
        wrong = [
            (what, price, today) for what, price, today in stated if price is not None and Decimal(str(price)) != today
        ]
        if wrong:
            wrong_text = "; ".join(
                f"${price:g} for {what}, which costs ${today.normalize():f}" for what, price, today in wrong
            )
            read = f" (read on {claim.as_of})" if claim.as_of else ""
            yield Occurrence(
                claim.about,
                f"{claim.about!r} uses{read} {wrong_text} in {prices.region} (price list of {prices.date}). Every "
                "cost derived from it is wrong by that factor.",
                "Compute the cost from the design, with traffic= and volume=, at the prices of the dated price list.",
            )
