"""The price list: dated data, exact, and replaceable."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tablewright.design.cost.prices import PRICE_LIST, Prices, PricesError, cents, load_prices


def written(folder: Path, **changes: object) -> Path:
    prices = json.loads(load_prices().model_dump_json())
    path = folder / "prices.json"
    path.write_text(json.dumps({**prices, **changes}))
    return path


@pytest.mark.requirement("X5")
def test_the_prices_are_those_of_the_31st_of_august_2026() -> None:
    prices = load_prices()
    assert (prices.region, prices.date.isoformat()) == ("us-east-1", "2026-08-31")
    assert f"{prices.region}-{prices.date}.json" == PRICE_LIST
    standard, infrequent = prices.standard, prices.infrequent_access
    assert (standard.million_writes, standard.million_reads) == (Decimal("0.625"), Decimal("0.125"))
    assert (standard.write_unit_hour, standard.read_unit_hour) == (Decimal("0.00065"), Decimal("0.00013"))
    assert (standard.storage_gb_month, infrequent.storage_gb_month) == (Decimal("0.25"), Decimal("0.10"))
    assert (infrequent.million_writes, infrequent.million_reads) == (Decimal("0.78"), Decimal("0.155"))
    assert prices.point_in_time_recovery_gb_month == Decimal("0.20")
    assert prices.free.storage_gb == 25
    assert prices.free.read_unit_hours == prices.free.write_unit_hours == 18_600


def test_another_list_can_be_given(tmp_path: Path) -> None:
    prices = load_prices(written(tmp_path, region="eu-west-1", backup_gb_month=0.11))
    assert prices.region == "eu-west-1"
    # Not the float, but what is written.
    assert prices.backup_gb_month == Decimal("0.11")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backup_gb_month": -1}, "backup_gb_month: Input should be greater than or equal to 0"),
        ({"date": "yesterday"}, "date: Input should be a valid date"),
        ({"discount": 1}, "discount: Extra inputs are not permitted"),
        ({"standard": {}}, "standard.million_writes: Field required"),
    ],
)
def test_a_list_that_is_wrong_is_refused_with_the_place(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(PricesError) as refusal:
        load_prices(written(tmp_path, **changes))
    assert message in str(refusal.value)


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PricesError, match="cannot be read"):
        load_prices(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("cheap")
    with pytest.raises(PricesError, match="is not JSON"):
        load_prices(tmp_path / "text.json")


def test_money_is_rounded_to_the_cent_half_up() -> None:
    assert cents(Decimal("0.125")) == Decimal("0.13")
    assert cents(Decimal("0.1249")) == Decimal("0.12")


def test_a_list_says_everything_that_is_billed() -> None:
    names = set(Prices.model_fields)
    assert {"stream_reads_100k", "backup_gb_month", "point_in_time_recovery_gb_month"} <= names
