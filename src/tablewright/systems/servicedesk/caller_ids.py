"""Ids of callers: a keyed hash of a phone number, and of an e-mail address if so configured.

    " tel:+39 (0)6 1234567 ext. 12 " ──▶ +39061234567x12 ──▶ phone-5e2c...      the same however it is spelled

Without the key, numbers cannot be found by brute force. A number without a country code belongs to the configured
country; if none is configured, it stays a different caller, as its country is unknown.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from hashlib import sha256

from tablewright.runtime import SettingsError

__all__ = ["CallerIds"]

_DIGITS = r"(?P<number>[0-9(][0-9 ()./\u00b7-]{4,29}[0-9])"
_EXTENSION = r"(?:\s*(?:;?ext(?:ension|\.|=)?|x|#)\s*(?P<extension>[0-9]{1,6}))?"
# Words for phone numbers, in the languages of the desk.
_NAMES = (
    "ani|call(?:er)?|caller ?id|callto|cell(?:ulare|phone)?|celular|from|handy|kom[o\u00f3]rka|mobil(?:e|funk|telefon)?"
    "|m[o\u00f3]vil|n[u\u00fa]mero?|number|phone|portable|rufnummer|sips?|sms|tel|t[e\u00e9]l[e\u00e9]fon[eo]?"
    "|t[e\u00e9]l[e\u00e9]phone|whatsapp"
)
_SCHEME = rf"(?:(?:{_NAMES})\b(?: from\b)?\s*(?:://|:|=|\.)?\s*)?"
_PHONE = re.compile(
    rf"{_SCHEME}\(?(?P<abroad>\+|00)?\s*{_DIGITS}{_EXTENSION}(?:[@;].{{0,100}}|\s*\([^()0-9]{{1,40}}\)|#)?",
    re.IGNORECASE,
)
# After a URI scheme, a number is recognised even without a plus: "Ada" <sip:061234567@example.org>
_ADDRESS = re.compile(
    rf"(?<![\w.@+-])(?:callto|sips?|sms|tel|whatsapp):(?P<abroad>\+|00)?{_DIGITS}{_EXTENSION}(?=[@;>\s]|$)",
    re.IGNORECASE,
)
# With a plus, a number is recognised anywhere: "Ada" <sip:+39061234567@example.org>
_WITHIN = re.compile(
    rf"(?<![\w.@+-])(?P<abroad>\+)\s?{_DIGITS}(?![0-9]|-[a-z]|(?!x[0-9]|ext)\w){_EXTENSION}", re.IGNORECASE
)
# 1-800-FLOWERS: keypad letters, in capitals, after a toll-free prefix.
_LETTERS = re.compile(r"(?P<abroad>\+)?(?:1[ .-]?)?\(?8(?:00|33|44|55|66|77|88)\)?[ .-]?[A-Z0-9][A-Z0-9 -]{5,12}")
# *67 and the like hide or show a caller's number, and are not part of it.
_STAR_CODE = re.compile(r"(?:\*|#)[0-9]{2}[*#]?[\s.-]*(?=[+0-9(])")
# +44 (0)20 ...: the zero is for calls within the country; in some countries it is part of the number.
_INLAND_ZERO = re.compile(r"\(\s*0\s*\)")
_EMAIL = re.compile(r"(?:mailto:)?([^\s@<>]{1,64}@[^\s@<>]{1,253}\.[^\s@<>.]{2,63})", re.IGNORECASE)
_MIN_DIGITS, _MAX_DIGITS = 7, 15


class CallerIds:
    """Ids of callers under one key. ``country`` applies to numbers without a country code, as in ISO 3166: ``IT``."""

    def __init__(self, secret: bytes, *, country: str | None = None, emails: bool = False) -> None:
        if country is not None:
            import phonenumbers

            if country not in phonenumbers.SUPPORTED_REGIONS:
                raise SettingsError(
                    f"caller_country is {country}, which is not a country; use a two-letter code such as IT"
                )
        self._secret = secret
        self._country = country
        self._emails = emails

    def of(self, caller: str) -> str:
        caller = _cleaned(caller)
        plain = _plain(caller)
        number = self._number(plain)
        if number is not None:
            return self._hash("phone", number)
        address = _EMAIL.fullmatch(plain) if self._emails else None
        return caller if address is None else self._hash("email", address[1].casefold())

    def _hash(self, kind: str, value: str) -> str:
        return f"{kind}-" + hmac.new(self._secret, value.encode(), sha256).hexdigest()[:40]

    def _number(self, plain: str) -> str | None:
        """The number in its normal form, if it is one."""
        plain = _STAR_CODE.sub("", plain, count=1)
        if self._country is not None and _LETTERS.fullmatch(plain) and any(map(str.isalpha, plain)):
            return _parsed(plain, self._country)
        found = _PHONE.fullmatch(plain) or _WITHIN.search(plain) or _ADDRESS.search(plain)
        if found is None:
            return None
        abroad = found["abroad"] is not None
        digits = _abroad_digits(found["number"]) if abroad else re.sub(r"[^0-9]", "", found["number"])
        if not _MIN_DIGITS <= len(digits) <= _MAX_DIGITS:
            return None
        extension = "" if found["extension"] is None else "x" + found["extension"]
        if abroad:
            # A number outside of its country's numbering plan is a caller as well.
            return (_parsed("+" + digits, None) or "+" + digits) + extension
        return ((self._country and _parsed(digits, self._country)) or digits) + extension


def _abroad_digits(written: str) -> str:
    """The digits after a plus, with the zero in brackets if numbers of the country begin with one: +39 (0)6."""
    import phonenumbers
    from phonenumbers import PhoneNumberType as Kind

    whole = re.sub(r"[^0-9]", "", written)
    try:
        # If the zero is not part of the number, the numbering plan removes it here, and in ``_parsed``.
        if phonenumbers.number_type(phonenumbers.parse("+" + whole, None)) in (
            Kind.FIXED_LINE,
            Kind.MOBILE,
            Kind.FIXED_LINE_OR_MOBILE,
        ):
            return whole
    except phonenumbers.NumberParseException:
        pass
    return re.sub(r"[^0-9]", "", _INLAND_ZERO.sub("", written))


def _parsed(number: str, country: str | None) -> str | None:
    """The number as +39061234567, if it is possible."""
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, country)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(parsed):
        return None
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)


def _cleaned(caller: str) -> str:
    """One form for texts that look the same: composed letters, no control characters, no surrounding spaces."""
    if caller.isascii() and caller.isprintable():
        return caller.strip()
    composed = unicodedata.normalize("NFC", caller)
    spaced = (" " if char.isspace() else char for char in composed)
    return "".join(char for char in spaced if unicodedata.category(char) not in ("Cc", "Cf")).strip()


def _plain(text: str) -> str:
    """Plain digits, dashes and spaces for those of other scripts."""
    if text.isascii() and text.isprintable():
        return text.strip()
    plain = []
    for char in unicodedata.normalize("NFKC", text):
        category = unicodedata.category(char)
        if category == "Nd":
            plain.append(str(unicodedata.decimal(char)))
        elif category == "Pd" or char == "\u2212":
            plain.append("-")
        else:
            plain.append(" " if char.isspace() else char)
    return "".join(plain).strip()
