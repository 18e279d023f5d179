"""Service Desk: secrets are taken out of what is said, and nothing else is."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tablewright.systems.servicedesk.masking.secret_shapes import MASK
from tablewright.systems.servicedesk.masking.secret_spans import mask
from tests.systems.servicedesk.sentences import (
    CODES,
    LINKED_PASSWORDS,
    NAMED_CODES,
    ORDINARY,
    PASSWORDS,
    PHRASES,
    PINS,
    SERIALS,
)

WORDS = ("zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

odd = (
    st.tuples(
        st.sampled_from(string.ascii_letters),
        st.text(string.ascii_letters + string.digits + "!#$%&*+-/<=>?@^_|~.,:;", min_size=2, max_size=20),
        st.sampled_from(string.digits),
    )
    .map("".join)
    .filter(lambda secret: "//" not in secret)
)
digits = st.text(string.digits, min_size=6, max_size=8)
spaced = st.tuples(st.integers(100, 999), st.sampled_from(" -"), st.integers(100, 999)).map(
    lambda parts: "".join(map(str, parts))
)
spoken = st.lists(st.sampled_from(WORDS), min_size=4, max_size=8).map(" ".join)
serials = st.tuples(
    st.text(string.ascii_uppercase, min_size=1, max_size=4),
    st.text(string.digits, min_size=2, max_size=6),
    st.text(string.ascii_uppercase + string.digits, min_size=1, max_size=8),
).map("".join)


def hidden(template: str, secret: str, kind: str) -> None:
    found = mask(template.format(secret))
    assert secret not in found.text, found.text
    assert kind in found.kinds
    assert MASK in found.text


@pytest.mark.requirement("SD6")
@given(st.sampled_from(PASSWORDS), odd)
@example("my password is {}", "[removed]1")
def test_a_password_is_masked_in_any_phrasing(template: str, secret: str) -> None:
    assume(secret not in template.format(MASK))
    hidden(template, secret, "password")


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize("secret", ["hunter", "letmein", "dragonfly", "Sunflower"])
@pytest.mark.parametrize("template", LINKED_PASSWORDS)
def test_a_password_that_is_a_word_is_taken_out_where_it_is_named(template: str, secret: str) -> None:
    hidden(template, secret, "password")


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize("secret", ["correct horse battery staple", "the blue whale swims", "Ada loves 3 cats"])
@pytest.mark.parametrize("template", PHRASES)
def test_a_phrase_is_taken_out_whole(template: str, secret: str) -> None:
    found = mask(template.format(secret))
    assert not [word for word in secret.split() if word != "the" and word in found.text]


@pytest.mark.requirement("SD6")
@given(st.sampled_from(PINS), st.one_of(digits, spaced, spoken, st.integers(1000, 9999).map(str)))
def test_a_pin_is_taken_out(template: str, secret: str) -> None:
    assume(secret not in template.format(MASK))
    hidden(template, secret, "password")


@pytest.mark.requirement("SD6")
@given(st.sampled_from(CODES), st.one_of(digits, spaced))
def test_a_code_is_masked_in_any_phrasing(template: str, secret: str) -> None:
    assume(secret not in template.format(MASK))
    hidden(template, secret, "mfa_code")


@pytest.mark.requirement("SD6")
@given(
    st.sampled_from(NAMED_CODES),
    st.one_of(spoken, spoken.map(lambda text: text.replace(" ", ", ")), digits.map(" ".join)),
)
def test_a_code_that_is_spelled_is_taken_out(template: str, secret: str) -> None:
    assume(secret not in template.format(MASK))
    hidden(template, secret, "mfa_code")


@pytest.mark.requirement("SD6")
@given(st.sampled_from(SERIALS), serials)
def test_a_serial_number_is_masked_in_any_phrasing(template: str, secret: str) -> None:
    assume(secret not in template.format(MASK))
    hidden(template, secret, "device_serial")


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize("imei", ["352099001761481", "35-209900-176148-1", "35 209900 176148 1"])
def test_an_imei_is_taken_out_without_a_word_about_it(imei: str) -> None:
    assert mask(f"It is {imei}, the black one").text == f"It is {MASK}, the black one"


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize(
    "secret",
    [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nb+c/d==\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7, and the rest was cut",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "xoxb-2048-abcdefghij",
    ],
)
def test_a_key_or_a_token_is_taken_out_by_its_form(secret: str) -> None:
    masked = mask(f"it answers 403, I sent {secret}")
    assert masked.text == f"it answers 403, I sent {MASK}"
    assert masked.kinds == ("password",)


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("My password is Hunter2 and I can't log in", f"My password is {MASK} and I can't log in"),
        ("Password: Hunter2. It worked before.", f"Password: {MASK}. It worked before."),
        ("my password is hunter two", f"my password is {MASK}"),
        ("my password is capital h u n t e r 2, I think", f"my password is {MASK}, I think"),
        ("I changed my password from Old1 to New2 today", f"I changed my password from {MASK} to {MASK} today"),
        ("it is not Hunter2 - that's my old password", f"it is not {MASK} - that's my old password"),
        ("my password is not Hunter2 any more", f"my password is not {MASK} any more"),
        ("Agent: what is your password? Caller: Hunter2.", f"Agent: what is your password? Caller: {MASK}."),
        ("my pin is 4711 and the code is 482910", f"my pin is {MASK} and the code is {MASK}"),
        ("the code is 7F3K9C", f"the code is {MASK}"),
        ("the six digits are 482913", f"the six digits are {MASK}"),
        ("le sei cifre sono 482 913", f"le sei cifre sono {MASK}"),
        ("die sechs Ziffern sind 482913", f"die sechs Ziffern sind {MASK}"),
        ("it asks for six digits and I never get them", "it asks for six digits and I never get them"),
        ("my recovery codes: abcd-1234 efgh-5678", f"my recovery codes: {MASK}"),
        ("at https://bob:Hunt@r2@example.org/share", f"at https://bob:{MASK}@example.org/share"),
        ("see https://example.org:8080/users/@ada", "see https://example.org:8080/users/@ada"),
        ("the serial number is C zero two X L", f"the serial number is {MASK}"),
        ("serial: C zero two X L", f"serial: {MASK}"),
        ("My laptop (serial C02XL0AAJGH5) is slow", f"My laptop (serial {MASK}) is slow"),
        ("my BitLocker recovery key is 123456-234567-345678-456789", f"my BitLocker recovery key is {MASK}"),
        ('he pasted x", "password": "hunter2", "y": 1', f'he pasted x", "password": "{MASK}", "y": 1'),
        ('password": "hunter2', f'password": "{MASK}'),
        ("DB_PASSWORD=hunter2 in the file", f"DB_PASSWORD={MASK} in the file"),
        ('{"dbPassword": "hunter2"}', f'{{"dbPassword": "{MASK}"}}'),
        ("sn=C02XL0GTJGH5", f"sn={MASK}"),
        ("the password was Hunter1 and now it is Hunter2", f"the password was {MASK} and now it is {MASK}"),
        ("my password is h u n t e r 2 and it fails", f"my password is {MASK} and it fails"),
        ("the password is s for sierra, u, n, 4", f"the password is {MASK}"),
        ("password: h as in hotel, u, n, t, 4, I think", f"password: {MASK}, I think"),
        ("la password è s come Savona, o, l, e, 7", f"la password è {MASK}"),
        ("the password is a 4 digit one", "the password is a 4 digit one"),
        ("Password: Hunter2\nCode: 482910\nS/N 5CG1234XYZ", f"Password: {MASK}\nCode: {MASK}\nS/N {MASK}"),
    ],
)
def test_the_text_around_a_secret_is_kept(said: str, kept: str) -> None:
    assert mask(said).text == kept


@pytest.mark.requirement("SD6")
def test_the_kinds_of_what_was_taken_out_are_named_once() -> None:
    text = "my password is Hunter2, my old password was Hunter1, the code is 482910, serial number 5CG1234XYZ"
    assert mask(text).kinds == ("password", "mfa_code", "device_serial")


@pytest.mark.parametrize("sentence", ORDINARY)
def test_ordinary_sentences_stay_as_they_are(sentence: str) -> None:
    assert (mask(sentence).text, mask(sentence).kinds) == (sentence, ())


def test_ordinary_sentences_stay_as_they_are_together() -> None:
    text = ". ".join(ORDINARY)
    assert mask(text).text == text


@given(st.lists(st.one_of(st.sampled_from(PASSWORDS + CODES + SERIALS), st.sampled_from(ORDINARY)), max_size=4), odd)
def test_a_text_without_secrets_is_not_masked_again(templates: list[str], secret: str) -> None:
    text = ". ".join(each.format(secret) if "{}" in each else each for each in templates)
    once = mask(text).text
    assert mask(once).text == once


@given(st.text(max_size=300))
def test_any_text_can_be_masked(text: str) -> None:
    found = mask(text)
    assert bool(found.kinds) == (found.text != text)


@pytest.mark.parametrize(
    "part", ["password ", "password is ", "code ", "1 ", "Aa1 ", "'", "serial number ", "mfa 12 ", "pin one two ", "a"]
)
def test_a_long_text_is_masked_whatever_it_repeats(part: str) -> None:
    """Patterns that try too much would not come to an end here."""
    text = (part * 50_000)[:50_000]
    once = mask(text).text
    assert mask(once).text == once


def test_a_password_that_begins_with_a_small_word_is_not_taken_for_it() -> None:
    assert mask("my credentials are bob a|00").text == mask("my credentials are bob x|00").text
    assert "00" not in mask("my credentials are bob a|00").text


def test_a_password_of_many_signs_is_reached_from_behind() -> None:
    assert "a:0" not in mask("a:0:0:0:0::0|0 was my old password").text


def test_keys_and_codecs_are_short_and_passwords_like_them_are_not() -> None:
    assert mask("the password screen hangs when I press F12 on x64").kinds == ()
    for secret in ("f000", "x1234", "h9999"):
        assert secret not in mask(f"passwd {secret}").text
