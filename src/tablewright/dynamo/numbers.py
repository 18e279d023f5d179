"""Numbers: the range that DynamoDB has, and the one way it writes each of them."""

from __future__ import annotations

import re

from tablewright.dynamo.errors import ValidationException
from tablewright.dynamo.item_size import text_size
from tablewright.dynamo.limits import MAX_DIGITS, MAX_EXPONENT, MIN_EXPONENT

NUMBER_OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
"""DynamoDB's message for a number beyond that range."""
_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", re.ASCII)
# Numbers that are canonical already, as nearly all are.
_CANONICAL = re.compile(r"-?[1-9][0-9]{0,18}(?:\.[0-9]{0,17}[1-9])?|-?0\.[0-9]{0,17}[1-9]|0").fullmatch


def canonical_number(text: str) -> str:
    """The one way DynamoDB writes this number: plain decimal, no needless zeros.

    The exponent is bounded before anything of its size is built, so ``1e999999999`` costs nothing.
    """
    if _CANONICAL(text):
        return text
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        if not text_size(text):
            raise ValidationException("The parameter cannot be converted to a numeric value")
        raise ValidationException(f"The parameter cannot be converted to a numeric value: {text}")
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", match[4]
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    # value = 0.digits x 10^point
    point = len(whole) - (len(whole) + len(fraction) - len(digits)) + _bounded_exponent(exponent)
    digits = digits.rstrip("0")
    if point - 1 > MAX_EXPONENT:
        raise ValidationException(NUMBER_OVERFLOW)
    if point - 1 < MIN_EXPONENT:
        raise ValidationException(
            "Number underflow. Attempting to store a number with magnitude smaller than supported range"
        )
    if len(digits) > MAX_DIGITS:
        raise ValidationException(f"Attempting to store more than {MAX_DIGITS} significant digits in a Number")
    return ("-" if sign == "-" else "") + _plain_decimal(digits, point)


def _bounded_exponent(exponent: str | None) -> int:
    if exponent is None:
        return 0
    # More than a few digits is out of range whatever they are; int() on a megabyte of digits is slow, or refuses.
    significant = exponent.lstrip("+-").lstrip("0")
    magnitude = 10**9 if len(significant) > 9 else int(significant or "0")
    return -magnitude if exponent[0] == "-" else magnitude


def _plain_decimal(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return digits[:point] + "." + digits[point:]
