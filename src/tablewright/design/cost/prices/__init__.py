"""DynamoDB's prices: a price list, as dated data.

    prices = load_prices()                       the newest one in the package
    prices = load_prices("eu-west-1.json")       another one, in the same format

Prices are decimals, never floats; money is rounded to the cent where a bill has a line, and nowhere else.
"""

from __future__ import annotations

import json
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

__all__ = ["PRICE_LIST", "FreeTier", "Prices", "PricesError", "TableClass", "cents", "load_prices"]

PRICE_LIST = "us-east-1-2026-08-31.json"
"""The default price list."""

Amount = Annotated[Decimal, Field(ge=0)]

_CENT = Decimal("0.01")


class PricesError(Exception):
    """A price list that cannot be used; the message says what to do."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TableClass(_Part):
    """The prices of a table class."""

    million_writes: Amount
    million_reads: Amount
    write_unit_hour: Amount
    read_unit_hour: Amount
    storage_gb_month: Amount


class FreeTier(_Part):
    """The monthly free tier of an account in a region: storage and provisioned capacity of Standard tables."""

    storage_gb: Amount
    read_unit_hours: Amount
    write_unit_hours: Amount
    stream_reads: Amount


class Prices(_Part):
    """A price list: its region and date, and the price of everything that is billed."""

    region: str
    date: date
    currency: str
    standard: TableClass
    infrequent_access: TableClass
    point_in_time_recovery_gb_month: Amount
    backup_gb_month: Amount
    stream_reads_100k: Amount
    free: FreeTier


def load_prices(path: str | Path | None = None) -> Prices:
    """The price list in a file, or the one in the package."""
    if path is None:
        text = (resources.files(__package__) / PRICE_LIST).read_text("utf-8")
    else:
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PricesError(f"the price list {path} cannot be read: {error}") from None
    try:
        return Prices.model_validate(json.loads(text, parse_float=Decimal))
    except (json.JSONDecodeError, RecursionError) as error:
        raise PricesError(f"the price list {path} is not JSON: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise PricesError(f"the price list {path}: {place}: {first['msg']}; see {PRICE_LIST} for the format") from None


def cents(amount: Decimal) -> Decimal:
    """An amount rounded to the cent, as on a line of a bill."""
    return amount.quantize(_CENT, ROUND_HALF_UP)
