"""Which texts are mail addresses."""

from __future__ import annotations

import pytest

from tablewright.runtime.mail.mail_addresses import can_stand_in_header, is_address


@pytest.mark.parametrize(
    "address", ["ada@example.org", "a.b+c@mail.example.org", "o'neil@example.co.uk", "a@xn--bcher-kva.ch"]
)
def test_an_address_that_any_server_takes_is_one(address: str) -> None:
    assert is_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "ada@",
        "@example.org",
        "a@b",
        "a@localhost",
        "a@-b.org",
        "a@b-.org",
        "a..b@example.org",
        ".a@example.org",
        "a@example..org",
        "a@example.org.",
        "a b@example.org",
        '"a b"@example.org',
        "a@[127.0.0.1]",
        "üser@example.org",
        "a@example.org\n",
        f"{'x' * 65}@example.org",
        f"a@{'b' * 64}.org",
        "a@x.invalid",
    ],
)
def test_any_other_text_is_none(address: str) -> None:
    assert not is_address(address)


def test_our_own_address_may_be_in_a_domain_of_one_word() -> None:
    assert can_stand_in_header("tablewright@localhost")
    assert not can_stand_in_header("tablewright@local host")
