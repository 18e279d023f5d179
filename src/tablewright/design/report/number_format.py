"""Numbers, amounts of money and sizes as text."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

__all__ = ["amount", "bytes_text", "exact_money", "money", "percent", "units_text"]


def money(cost: Decimal) -> str:
    """Dollars and cents."""
    return f"-${-cost:,.2f}" if cost < 0 else f"${cost:,.2f}"


def exact_money(cost: Decimal) -> str:
    """Dollars with all significant decimals."""
    if not cost:
        return "$0"
    return f"${plain(cost.quantize(Decimal('1E-10'), ROUND_HALF_UP))}" if cost < 1 else money(cost)


def plain(number: Decimal) -> str:
    """A number without an exponent, and without trailing zeros."""
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def units_text(units: Decimal) -> str:
    return _rounded(units, Decimal("0.01")) if units else "-"


def amount(quantity: Decimal) -> str:
    """A quantity of a bill: without decimals if it is large."""
    if quantity >= 1000 or quantity == quantity.to_integral_value():
        return f"{quantity:,.0f}"
    return _rounded(quantity, Decimal("0.001"))


def _rounded(number: Decimal, step: Decimal) -> str:
    """A number rounded to a step; a small one to two significant digits, so that it is not 0."""
    if abs(number) < step * 10:
        step = min(step, Decimal((0, (1,), number.adjusted() - 1)))
    return plain(number.quantize(step, ROUND_HALF_UP))


def percent(share: Decimal) -> str:
    return f"{share * 100:.1f} %"


def bytes_text(size: int) -> str:
    for unit, name in ((1024**3, "GB"), (1024**2, "MB"), (1024, "KB")):
        if size >= unit:
            return f"{plain((Decimal(size) / unit).quantize(Decimal('0.1'), ROUND_HALF_UP))} {name}"
    return f"{size} B"
