"""Generated demo customers, always the same for the same number, and two models that score them."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import Scored, model

# What other packages use.
__all__ = ["write_customers"]

COLUMNS = (
    "customer_id",
    "first_name",
    "email",
    "country",
    "age",
    "visits",
    "days_since_purchase",
    "spent",
    "product",
)
_NAMES = ("Ada", "Bruno", "Chiara", "Dario", "Elena", "Fritz", "Greta", "Hugo", "Ines", "Jan", "Karla", "Luca")
_COUNTRIES = ("IT", "DE", "FR", "ES", "US")
_PRODUCTS = ("ESPRESSO-1", "GRINDER-2", "KETTLE-3", "SCALE-4")
_TELL_EVERY = 10_000


def customers(number: int) -> Iterator[tuple[Any, ...]]:
    """So many customers, unordered."""
    entropy = random.Random(number)
    identities = list(range(1, number + 1))
    entropy.shuffle(identities)
    for identity in identities:
        name = entropy.choice(_NAMES)
        yield (
            f"c-{identity:07}",
            name,
            f"{name.lower()}.{identity}@example.org",
            entropy.choice(_COUNTRIES),
            entropy.randint(16, 90),
            entropy.randint(0, 60),
            entropy.randint(0, 720),
            f"{entropy.uniform(0, 2_000):.2f}",
            entropy.choice(_PRODUCTS),
        )


def write_customers(path: Path, number: int, report: Callable[[int], None] = lambda done: None) -> None:
    """Write customers to a .csv or .parquet file, atomically."""
    draft = path.with_name(f".{path.name}.draft")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(draft, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for done, row in enumerate(customers(number), 1):
                writer.writerow(row)
                if done % _TELL_EVERY == 0 or done == number:
                    report(done)
            file.flush()
            os.fsync(file.fileno())
        if path.suffix == ".parquet":
            _as_parquet(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _as_parquet(file: Path) -> None:
    import duckdb

    made = file.with_suffix(".parquet-draft")
    source, target = (str(each).replace("'", "''") for each in (file, made))
    try:
        with duckdb.connect(":memory:", config={"memory_limit": "256MB", "threads": "1"}) as connection:
            connection.execute(f"COPY (SELECT * FROM read_csv('{source}')) TO '{target}' (FORMAT parquet)")
        os.replace(made, file)
    finally:
        made.unlink(missing_ok=True)


@model("propensity-v1")
def propensity(prospects: Sequence[Prospect]) -> list[Scored]:
    """How likely a customer buys again: visits increase it, time without a purchase decreases it."""
    found: list[Scored] = []
    for each in prospects:
        visits = _number(each, "visits")
        idle = _number(each, "days_since_purchase")
        value = (visits / (visits + 20)) * (Decimal(365) / (idle + 365))
        found.append(Scored(round(value, 6), Decimal("0.8")))
    return found


@model("value-v1")
def value(prospects: Sequence[Prospect]) -> list[Decimal]:
    """The value of a customer, between 0 and 1: the amount spent, up to 2,000."""
    return [round(min(_number(each, "spent"), Decimal(2_000)) / 2_000, 6) for each in prospects]


def _number(prospect: Prospect, name: str) -> Decimal:
    found = prospect.attributes.get(name)
    return max(Decimal(0), Decimal(str(found))) if isinstance(found, int | float | Decimal) else Decimal(0)
