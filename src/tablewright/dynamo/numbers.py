"""Numbers: DynamoDB's range, and the canonical form."""

from __future__ import annotations

import re

from tablewright.dynamo.errors import RequestValidationException
from tablewright.dynamo.item_size import number_size, text_size
from tablewright.dynamo.limits import MAX_DIGITS, MAX_EXPONENT, MIN_EXPONENT

NUMBER_OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
"""DynamoDB's message for a number beyond that range."""
_UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
_NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"
_LONG = 2**63
_INT = 2**31
_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", re.ASCII)
_FEW_DIGITS = 18
# Numbers that are canonical already, as nearly all are.
_CANONICAL = re.compile(r"-?[1-9][0-9]{0,18}(?:\.[0-9]{0,17}[1-9])?|-?0\.[0-9]{0,17}[1-9]|0").fullmatch


def canonical_number(text: str) -> str:
    """The canonical form of a number: plain decimal, no needless zeros.

    The exponent is bounded before anything of its size is built, so ``1e999999999`` costs nothing. Zero has a range
    too: that of the exponent it is written with.
    """
    if _CANONICAL(text):
        return text
    match = _NUMBER.fullmatch(text)
    exponent = None if match is None or not (match[2] or match[3]) else _exponent(match[4])
    if match is None or exponent is None:
        message = f"{_NOT_A_NUMBER}: {text}"
        raise RequestValidationException(message if text_size(text) else _NOT_A_NUMBER, newer=message)
    whole, fraction = match[2], match[3] or ""
    digits = (whole + fraction).lstrip("0")
    # value = 0.digits x 10^point
    precision, scale = len(digits) or 1, len(fraction) - exponent
    point = precision - scale
    if not MIN_EXPONENT <= point - 1 <= MAX_EXPONENT:
        raise _out_of_range(text, precision, len(fraction), exponent)
    digits = digits.rstrip("0")
    if len(digits) > MAX_DIGITS:
        raise RequestValidationException(f"Attempting to store more than {MAX_DIGITS} significant digits in a Number")
    return ("-" if match[1] == "-" else "") + _plain_decimal(digits, point) if digits else "0"


def sized_number(text: str) -> tuple[str, int]:
    """The canonical form of a number, and its size."""
    if text.isdigit() and text.isascii() and text[0] != "0" and len(text) <= _FEW_DIGITS:
        # Most numbers are integers.
        return text, 1 + (len(text.rstrip("0")) + 1 >> 1)
    number = canonical_number(text)
    return number, number_size(number)


def _exponent(text: str | None) -> int | None:
    """An exponent; None if it is not within 64 bits, and int() on a megabyte of digits is slow, or refuses."""
    if text is None:
        return 0
    significant = text.lstrip("+-").lstrip("0")
    if len(significant) > 19:
        return None
    exponent = int(significant or "0") * (-1 if text[0] == "-" else 1)
    return exponent if -_LONG <= exponent < _LONG else None


def is_big_decimal(fraction_digits: int, exponent: int) -> bool:
    """Whether Java's BigDecimal can represent a number: its exponent, and its scale, are integers of 32 bits."""
    return max(abs(exponent), abs(fraction_digits - exponent)) < _INT


def _out_of_range(text: str, precision: int, fraction_digits: int, exponent: int) -> RequestValidationException:
    """The older layer of checks uses Java's BigDecimal for numbers, and compares them in 32 bits."""
    older = f"{_NOT_A_NUMBER}: {text}"
    scale = fraction_digits - exponent
    if is_big_decimal(fraction_digits, exponent):
        wrapped = (precision - scale + _INT) % (2 * _INT) - _INT
        older = NUMBER_OVERFLOW if wrapped > 0 else _UNDERFLOW
    return RequestValidationException(older, newer=NUMBER_OVERFLOW if precision > scale else _UNDERFLOW)


def _plain_decimal(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return digits[:point] + "." + digits[point:]
