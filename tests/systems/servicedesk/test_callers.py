"""Service Desk: a phone number is known by a keyed hash, whichever way it is written."""

from __future__ import annotations

import re
import unicodedata

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.runtime import SettingsError
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tests.systems.servicedesk.phone_numbers import SPELLINGS

SECRET = b"a key that nobody has"
HASHED = re.compile(r"phone-[0-9a-f]{40}")


def caller_id(caller: str, secret: bytes = SECRET, country: str | None = None, *, emails: bool = False) -> str:
    return CallerIds(secret, country=country, emails=emails).of(caller)


number = st.from_regex(r"[1-9][0-9]{7,13}", fullmatch=True)
gap = st.sampled_from(["", " ", "-", ".", "/", " - ", "\u00a0", "\u2013"])


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_a_number_is_the_same_caller(spelling: str) -> None:
    assert caller_id(spelling, SECRET) == caller_id("+39061234567", SECRET)


@pytest.mark.requirement("SD6")
@given(number, st.data())
def test_gaps_make_no_difference(digits: str, data: st.DataObject) -> None:
    gaps = [data.draw(gap) for _ in range(3)]
    places = sorted(data.draw(st.sets(st.integers(1, len(digits) - 1), max_size=3)))
    written = digits
    for place, filler in reversed(list(zip(places, gaps, strict=False))):
        written = written[:place] + filler + written[place:]
    for prefix in ("+", "00", "tel:+"):
        assert caller_id(prefix + written, SECRET) == caller_id("+" + digits, SECRET)
    assert caller_id(written, SECRET) == caller_id(digits, SECRET)


@pytest.mark.requirement("SD6")
@given(number)
def test_nothing_of_a_number_is_in_what_is_kept(digits: str) -> None:
    for written in (digits, "+" + digits, f"({digits[:3]}) {digits[3:]}"):
        kept = caller_id(written, SECRET)
        assert HASHED.fullmatch(kept)
        assert digits not in kept


@pytest.mark.requirement("SD6")
def test_the_hash_needs_its_key() -> None:
    assert caller_id("+39061234567", SECRET) != caller_id("+39061234567", b"another key")


@pytest.mark.requirement("SD6")
@given(number, number)
def test_different_numbers_are_different_callers(one: str, other: str) -> None:
    assert (caller_id("+" + one, SECRET) == caller_id("+" + other, SECRET)) == (one == other)


def test_the_zero_for_calls_inside_a_country_is_no_part_of_the_number() -> None:
    assert caller_id("+44 (0)20 7946 0958", SECRET) == caller_id("+442079460958", SECRET)


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize("country", sorted(phonenumbers.SUPPORTED_REGIONS))
@pytest.mark.parametrize("kind", [phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE])
def test_a_zero_in_brackets_makes_no_difference_in_any_country(country: str, kind: int) -> None:
    """In some countries, as in Italy, it is part of the number; in most it is not."""
    example = phonenumbers.example_number_for_type(country, kind)
    if example is None:
        pytest.skip("the plan of the country has no example of this kind")
    if example.country_code == 39 and kind == phonenumbers.PhoneNumberType.MOBILE:
        pytest.skip("mobile numbers of Italy never have a zero: with one, it is a fixed line")
    code, national = example.country_code, phonenumbers.national_significant_number(example)
    bracketed = f"+{code} (0){national.removeprefix('0')}"
    assert caller_id(bracketed) == caller_id(f"+{code}{national}")


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize("written", ["+39 (0)331 123456", "0039 (0) 331 123456", "tel:+39(0)331123456"])
def test_a_zero_in_brackets_is_kept_where_a_mobile_number_would_be_left_without_it(written: str) -> None:
    assert caller_id(written) == caller_id("+39 0331 123456") != caller_id("+39 331 123456")


def test_extensions_of_a_number_are_callers_of_their_own() -> None:
    whole = caller_id("+39061234567", SECRET)
    first = caller_id("+39 06 1234567 ext. 12", SECRET)
    assert HASHED.fullmatch(first)
    assert first != whole
    assert first == caller_id("+39061234567x12", SECRET) == caller_id("tel:+39061234567;ext=12", SECRET)
    assert first != caller_id("+39061234567x13", SECRET)


def test_a_number_without_its_country_stays_apart() -> None:
    """Nobody knows which country is meant, so it is not taken for a number of another one."""
    assert caller_id("06 1234567", SECRET) == caller_id("061234567", SECRET) != caller_id("+39061234567", SECRET)


@pytest.mark.parametrize(
    "caller",
    [
        "poc-user-001",
        "session-4f1e",
        "ada@example.org",
        "1234",
        "123456",
        "9b2d6f8e-1111-4222-8333-444455556666",
        "12345678901234567890",
        "+39 CALL ME",
        "",
        "++39061234567",
        "ada+39061234567@example.org",
        "session-+39061234567",
    ],
)
def test_what_is_no_number_is_kept_as_it_is(caller: str) -> None:
    assert caller_id(caller, SECRET) == caller


@given(st.text(max_size=60))
def test_any_caller_is_known_by_something(caller: str) -> None:
    kept = caller_id(caller, SECRET)
    assert caller_id(kept, SECRET) == kept
    assert kept == kept.strip()
    assert not [char for char in kept if unicodedata.category(char) in ("Cc", "Cf")]


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize(
    "caller",
    [
        "06 12345678",
        "sip:0612345678@pbx.example.org",
        "<sip:0612345678@pbx.example.org>",
        '"Ada Rossi" <sip:0612345678@10.0.0.1:5060;user=phone>',
        '"0612345678" <sip:0612345678@pbx>',
        "Ada Rossi <tel:06-1234-5678>",
        "<tel:0612345678>, <sip:ada@pbx>",
        "0612345678 (mobile)",
        "0612345678#",
        "cell: 0612345678",
        "Telefon 0612345678",
        "t\u00e9l\u00e9phone : 06 12 34 56 78",
        "numero: 0612345678",
        "cellulare 0612345678",
        "Handy: 06 12345678",
        "call from 0612345678",
        "06\u00b712\u00b734\u00b756\u00b778",
    ],
)
def test_a_number_without_its_country_is_known_in_what_switchboards_and_people_write(caller: str) -> None:
    assert caller_id(caller) == caller_id("0612345678")
    assert HASHED.fullmatch(caller_id(caller))


@pytest.mark.parametrize(
    "caller",
    [
        "sip:ada@pbx.example.org",
        '"Ada 2" <sip:ada.0612345678@pbx>',
        "mysip:0612345678x",
        "telemetry 06123456",
        "cell-7",
    ],
)
def test_an_address_without_a_number_is_kept(caller: str) -> None:
    assert caller_id(caller) == caller


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize(
    ("country", "caller", "number"),
    [
        ("IT", "06 1234567", "+39061234567"),
        ("GB", "020 7946 0958", "+442079460958"),
        ("US", "011 39 06 1234567", "+39061234567"),
        ("US", "(212) 555-0100", "+12125550100"),
        ("US", "*67 212 555 0100", "+12125550100"),
        ("US", "*67-212-555-0100", "+12125550100"),
        ("US", "1-800-FLOWERS", "+18003569377"),
        ("US", "+1-800-FLOWERS", "+18003569377"),
        ("US", "ANI: 2125550100", "+12125550100"),
        ("US", "212-555-0100 x44", "+12125550100 ext. 44"),
        ("DE", "+44 (0)20 7946 0958", "+442079460958"),
        ("DE", "0049 30 1234567", "030 1234567"),
    ],
)
def test_a_number_without_a_country_code_is_one_of_the_country_that_is_set(
    country: str, caller: str, number: str
) -> None:
    assert HASHED.fullmatch(caller_id(caller, country=country))
    assert caller_id(caller, country=country) == caller_id(number, country=country)


@pytest.mark.parametrize(
    "caller", ["INC0042918123", "session-2125550100-7", "a+12125550100b", "+12125550100-call-7", "POC-800"]
)
def test_a_number_inside_a_longer_id_is_none(caller: str) -> None:
    assert caller_id(caller, country="US") == caller


def test_a_country_that_there_is_not_is_refused() -> None:
    with pytest.raises(SettingsError, match="caller_country is XX"):
        CallerIds(SECRET, country="XX")


def test_what_looks_the_same_is_the_same_caller() -> None:
    assert caller_id(" Zoe\u0308\u0000\u200b ") == caller_id("Zo\u00eb") == "Zo\u00eb"


def test_addresses_are_hashed_by_choice() -> None:
    assert caller_id("Ada@Example.org") == "Ada@Example.org"
    hashed = caller_id("Ada@Example.org", emails=True)
    assert re.fullmatch(r"email-[0-9a-f]{40}", hashed)
    assert hashed == caller_id(" mailto:ada@example.org", emails=True) != caller_id("bob@example.org", emails=True)
    assert caller_id("poc-user-001", emails=True) == "poc-user-001"
