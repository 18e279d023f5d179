"""What must not be kept: phone numbers, and secrets in free text.

A caller that looks like a phone number is known by a keyed hash of it: the same number gives the same hash, however it
is spelled, and without the key nobody can try all numbers. In text, secrets are masked where their context gives them
away (``secret_phrases``).
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from hashlib import sha256

_DIGITS = r"(?P<number>[0-9(][0-9 ()./-]{4,29}[0-9])"
_EXTENSION = r"(?:\s*(?:;?ext(?:ension|\.|=)?|x|#)\s*(?P<extension>[0-9]{1,6}))?"
_PHONE = re.compile(
    r"(?:(?:tel|sips?|callto|phone|mobile|whatsapp|sms)(?:://|:)?\s*)?"
    rf"\(?(?P<abroad>\+|00)?\s*{_DIGITS}{_EXTENSION}(?:[@;].{{0,100}})?",
    re.IGNORECASE,
)
# With its plus, a number is one wherever it stands: "Ada" <sip:+39061234567@example.org>
_WITHIN = re.compile(rf"(?<![\w.@+-])(?P<abroad>\+)\s?{_DIGITS}(?![0-9]){_EXTENSION}", re.IGNORECASE)
# +44 (0)20 ...: the zero is for those who call from inside the country.
_INLAND_ZERO = re.compile(r"\(\s*0\s*\)")
_MIN_DIGITS, _MAX_DIGITS = 7, 15
_SPACES = {ord(char): " " for char in map(chr, range(128)) if char.isspace()}


def caller_id(caller: str, secret: bytes) -> str:
    """How a caller is known: a phone number by its keyed hash, anything else by itself."""
    number = _number(caller)
    return caller if number is None else "phone-" + hmac.new(secret, number.encode(), sha256).hexdigest()[:40]


def _number(caller: str) -> str | None:
    """The number in one spelling, if it is one.

    0039... and +39... are one number; what has neither stays apart, as its country is not known.
    """
    plain = _plain(caller)
    found = _PHONE.fullmatch(plain) or _WITHIN.search(plain)
    if found is None:
        return None
    abroad = found["abroad"] is not None
    digits = re.sub(r"[^0-9]", "", _INLAND_ZERO.sub("", found["number"]) if abroad else found["number"])
    if not _MIN_DIGITS <= len(digits) <= _MAX_DIGITS:
        return None
    extension = "" if found["extension"] is None else "x" + found["extension"]
    return ("+" if abroad else "") + digits + extension


def _plain(text: str) -> str:
    """Plain digits, dashes and spaces for those of other scripts; marks that nobody sees are dropped."""
    if text.isascii():
        return text.translate(_SPACES).strip()
    plain = []
    for char in unicodedata.normalize("NFKC", text):
        category = unicodedata.category(char)
        if category == "Nd":
            plain.append(str(unicodedata.decimal(char)))
        elif category == "Pd" or char == "\u2212":
            plain.append("-")
        elif category != "Cf":
            plain.append(" " if char.isspace() else char)
    return "".join(plain).strip()
