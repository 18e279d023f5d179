"""Mail addresses: which texts are one, by the rules of ``email-validator``.

Only addresses that every server accepts, and that can be in a header unencoded: words with dots between them, in a
domain with a dot; no comments, quotes or lists, nothing outside of ASCII, and no question mark, so that nothing looks
like an encoded word. Nothing is looked up.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from tablewright.runtime.parameter_texts import matching

__all__ = ["ADDRESS", "MailAddress", "can_stand_in_header", "is_address"]

_WORD = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
# What the description of a field can say of it.
ADDRESS = rf"^{_WORD}(\.{_WORD})*@[A-Za-z0-9-]{{1,63}}(\.[A-Za-z0-9-]{{1,63}})*$"
_MAX_LENGTH = 254


def _checked(text: str) -> str:
    """The same text; ValueError, with the reason, if it is not a mail address."""
    if not can_stand_in_header(text):
        raise ValueError("it is not a mail address")
    from email_validator import EmailNotValidError, validate_email

    try:
        validate_email(text, check_deliverability=False, allow_smtputf8=False, strict=True)
    except EmailNotValidError as error:
        raise ValueError(str(error)) from None
    return text


def is_address(text: str) -> bool:
    try:
        return bool(_checked(text))
    except ValueError:
        return False


def can_stand_in_header(text: str) -> bool:
    """Whether a text has the form of an address; enough for the sender's, which may be at ``localhost``."""
    return len(text) <= _MAX_LENGTH and re.fullmatch(ADDRESS, text) is not None


# A mail address in the body of a request.
MailAddress = Annotated[
    str,
    Field(
        max_length=_MAX_LENGTH,
        pattern=matching(ADDRESS, "it is not a mail address, such as ada@example.org"),
        json_schema_extra={"format": "email"},
        examples=["ada@example.org"],
    ),
    AfterValidator(_checked),
]
