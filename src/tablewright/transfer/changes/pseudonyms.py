"""Pseudonyms for personal data: the same value has the same pseudonym everywhere, so related items stay related.

    ada@example.com     ─▶  amber-heron-91c3d04f2a7b@example.invalid
    +49 151 2345678     ─▶  +49 803 9914276            digits stay digits, and different numbers stay different
    Ada Lovelace        ─▶  Amber Heron 91c3d04f2a7b

They are derived from the value and a secret key (HMAC-SHA256; digits by a Feistel network over it, which is a
bijection). Without the key, a pseudonym cannot be traced to a person, not even by trying names.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from tablewright.model import Personal, Schema, personal_fields, personal_members
from tablewright.transfer.errors import TransferError

__all__ = ["Pseudonyms"]

_KEY_BYTES = 32
_MIN_KEY_BYTES = 16
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_DIGITS = re.compile(r"[^a-zA-Z]*\d[^a-zA-Z]*")
_ROUNDS = 10
# The first date, and the number of days.
_FIRST_DAY, _DAYS = date(1930, 1, 1), 28_000
_ADJECTIVES = (
    "amber azure bold brave bright calm clear cool coral dark deep early fair fine fresh gentle glad gold grand green"
    " kind light mild noble pale proud quick quiet silver soft swift warm"
)
_ANIMALS = (
    "badger bear beaver bison crane deer dove eagle elk falcon finch fox gull hare hawk heron horse ibex jay lark lynx"
    " marten moose otter owl puffin raven robin seal stork swan wren"
)
_FIRST, _SECOND = _ADJECTIVES.split(), _ANIMALS.split()


class Pseudonyms:
    """The pseudonyms of one key."""

    def __init__(self, key: bytes) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise TransferError(f"a pseudonym key must have at least {_MIN_KEY_BYTES} bytes; create a new one")
        self._key = key
        # Identifies the key without revealing anything about it.
        self.fingerprint = self._digest("fingerprint", b"").hex()[:16]

    @classmethod
    def from_file(cls, path: Path) -> Pseudonyms:
        """The pseudonyms of the key in a file, which is created if it does not exist."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return cls(path.read_bytes().strip())
        except OSError as error:
            raise TransferError(f"cannot write the key {path}: {error.strerror}; name another file") from None
        with open(descriptor, "wb") as file:
            file.write(secrets.token_hex(_KEY_BYTES).encode())
            file.flush()
            os.fsync(file.fileno())
        return cls(path.read_bytes().strip())

    def fields_of(self, schema: Schema, entity: BaseModel) -> dict[str, Any]:
        """The fields of an entity that are personal, or contain personal data, replaced."""
        found: dict[str, Any] = {}
        markers = personal_fields(schema)
        for name in schema.fields:
            value = entity.__dict__.get(name)
            replaced = self.of(value) if _is_personal(markers.get(name)) else self._inside(value)
            if replaced is not value:
                found[name] = replaced
        return found

    # -- values -------------------------------------------------------------------------------------------------

    def of(self, value: Any) -> Any:
        """The pseudonym of a value, of the same type; None and empty values stay."""
        if value is None or value in ("", b""):
            return value
        if isinstance(value, bool):
            return bool(self._number("bool", value) % 2)
        if isinstance(value, Enum):
            members = list(type(value))
            return members[self._number("enum", value.value) % len(members)]
        if isinstance(value, BaseModel):
            return value.model_copy(update={name: self.of(getattr(value, name)) for name in type(value).model_fields})
        if isinstance(value, Mapping):
            return {name: self.of(each) for name, each in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return type(value)(self.of(each) for each in value)
        return self._scalar(value)

    def _scalar(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int(("-" if value < 0 else "") + self._whole(str(abs(value))))
        if isinstance(value, float | Decimal):
            return type(value)(self._digits(str(value)) if "E" not in str(value).upper() else 0)
        if isinstance(value, datetime):
            day = self._day(value)
            return value.replace(year=day.year, month=day.month, day=day.day)
        if isinstance(value, date):
            return self._day(value)
        if isinstance(value, UUID):
            return UUID(bytes=self._digest("uuid", value.bytes)[:16], version=4)
        if isinstance(value, bytes):
            return self._digest("bytes", value)[: len(value)] if len(value) < 32 else self._digest("bytes", value)
        raise TransferError(f"there is no pseudonym for a value of the type {type(value).__name__}; remove Personal()")

    def _inside(self, value: Any) -> Any:
        """A value with the personal fields of models in it replaced; the same object if it has none."""
        if isinstance(value, BaseModel):
            changed: dict[str, Any] = {}
            markers = personal_members(type(value))
            for name in type(value).model_fields:
                inner = getattr(value, name)
                replaced = self.of(inner) if _is_personal(markers.get(name)) else self._inside(inner)
                if replaced is not inner:
                    changed[name] = replaced
            return value.model_copy(update=changed) if changed else value
        if isinstance(value, Mapping):
            members = {name: self._inside(each) for name, each in value.items()}
            return members if any(members[name] is not each for name, each in value.items()) else value
        if isinstance(value, list | tuple):
            replaced_members = [self._inside(each) for each in value]
            same = all(one is other for one, other in zip(replaced_members, value, strict=True))
            return value if same else type(value)(replaced_members)
        return value

    def _text(self, text: str) -> str:
        if _EMAIL.fullmatch(text):
            return f"{self._name(text.casefold(), '-')}@example.invalid"
        if _DIGITS.fullmatch(text):
            if text.startswith("+"):
                # The country stays, as the form of a number depends on it.
                return text[:3] + self._digits(text[3:], tweak=text[:3])
            return self._digits(text)
        separator = " " if " " in text else "-"
        name = self._name(text, separator)
        return name.title() if text[:1].isupper() and separator == " " else name

    def _name(self, text: str, separator: str) -> str:
        digest = self._digest("name", text.encode())
        return separator.join([_FIRST[digest[0] % len(_FIRST)], _SECOND[digest[1] % len(_SECOND)], digest[2:8].hex()])

    def _day(self, value: date) -> date:
        return _FIRST_DAY + timedelta(days=self._number("day", value.isoformat()) % _DAYS)

    # -- digits -------------------------------------------------------------------------------------------------

    def _digits(self, text: str, tweak: str = "") -> str:
        """Text with its digits replaced, and everything else unchanged."""
        digits = iter(self._permuted("".join(re.findall(r"\d", text)), tweak))
        return re.sub(r"\d", lambda _: next(digits), text)

    def _whole(self, digits: str) -> str:
        """The digits of an integer replaced by as many digits, so that different numbers stay different."""
        replaced = self._permuted(digits, "int")
        while len(digits) > 1 and replaced.startswith("0"):
            replaced = self._permuted(replaced, "int")
        return replaced

    def _permuted(self, digits: str, tweak: str) -> str:
        """A permutation of all digit strings of one length: a Feistel network whose halves are added to, in turn."""
        digits = "".join(str(int(each)) for each in digits)
        if len(digits) < 2:
            return str((int(digits) * 3 + self._number("digit", tweak)) % 10) if digits else ""
        middle = len(digits) // 2
        left, right = digits[:middle], digits[middle:]
        for turn in range(_ROUNDS):
            added = self._number(f"{turn}/{len(digits)}/{tweak}", right)
            width = len(left)
            left, right = right, f"{(int(left) + added) % 10**width:0{width}d}"
        return left + right

    # -- the key ------------------------------------------------------------------------------------------------

    def _number(self, purpose: str, value: Any) -> int:
        return int.from_bytes(self._digest(purpose, str(value).encode()), "big")

    def _digest(self, purpose: str, content: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + content, "sha256")


def _is_personal(marker: Personal | None) -> bool:
    """Whether a value is replaced; values that identify a parent item are not names of people."""
    return marker is not None and marker.kind != "part"
