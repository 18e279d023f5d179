"""Mail addresses: which texts are one, by the rules of ``email-validator``.

Only such as any server takes, and as can stand in a header as they are: words and dots between them, in a domain with a
dot; no comments, no quotes, no lists, nothing outside of ASCII, and no question mark, so that nothing can be taken for
an encoded word. Nothing is looked up.
"""

from __future__ import annotations

import re

__all__ = ["ADDRESS", "MAX_ADDRESS_LENGTH", "can_stand_in_header", "checked_address", "is_address"]

_WORD = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
# What the description of a field can say of it.
ADDRESS = rf"^{_WORD}(\.{_WORD})*@[A-Za-z0-9-]{{1,63}}(\.[A-Za-z0-9-]{{1,63}})*$"
MAX_ADDRESS_LENGTH = 254


def checked_address(text: str) -> str:
    """The same text; ValueError, with the reason, if it is no mail address."""
    if not can_stand_in_header(text):
        raise ValueError("it is no mail address")
    from email_validator import EmailNotValidError, validate_email

    try:
        validate_email(text, check_deliverability=False, allow_smtputf8=False, strict=True)
    except EmailNotValidError as error:
        raise ValueError(str(error)) from None
    return text


def is_address(text: str) -> bool:
    try:
        return bool(checked_address(text))
    except ValueError:
        return False


def can_stand_in_header(text: str) -> bool:
    """Whether a text has the form of an address; enough for our own, which may be at ``localhost``."""
    return len(text) <= MAX_ADDRESS_LENGTH and re.fullmatch(ADDRESS, text) is not None
