"""A token issuer for development: its key is in the data folder, and it signs any claims.

Production needs a real issuer, such as a Cognito user pool; this one is not available there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Self
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tablewright.runtime.identity.tokens import Keys, parse_keys
from tablewright.runtime.settings import Secrets, SettingsError

# What other packages use.
__all__ = [
    "LocalIssuer",
]

ISSUER = "urn:tablewright:local"
AUDIENCE = "tablewright"
LIFETIME = timedelta(hours=12)
_KEY = "issuer_key"
_KEY_ID = "local"
_KEY_BITS = 2048


class LocalIssuer:
    """Issues tokens, signed with the key of this data folder."""

    def __init__(self, secrets: Secrets, clock: Callable[[], float] = time.time) -> None:
        # Loaded once: a key is checked when it is loaded, which takes longer than many signatures.
        text = secrets.get(_KEY, _new_key)
        try:
            key = serialization.load_pem_private_key(text.encode(), password=None)
        except ValueError:
            raise SettingsError("the issuer_key in secrets.json is damaged; restore it from a backup") from None
        assert isinstance(key, rsa.RSAPrivateKey)
        self._key = key
        self._clock = clock

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """The issuer of a data folder that has been in use; tokens of a new key would not be accepted."""
        secrets = Secrets(folder)
        if _KEY not in secrets:
            raise SettingsError(
                f"there is no key in {folder} to sign a token with; run `tablewright up` on it first, or choose the "
                "folder that it runs on with --data"
            )
        return cls(secrets)

    def token(
        self, user_id: str, *, roles: Sequence[str] = (), email: str | None = None, lifetime: timedelta = LIFETIME
    ) -> str:
        """A token with the claims of Cognito's ID tokens; roles are the names of its groups."""
        now = int(self._clock())
        claims = {
            "sub": user_id,
            "iss": ISSUER,
            "aud": AUDIENCE,
            "token_use": "id",
            "iat": now,
            "exp": now + int(lifetime.total_seconds()),
            "jti": uuid4().hex,
            "cognito:groups": list(roles),
            **({} if email is None else {"email": email}),
        }
        return jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": _KEY_ID})

    async def keys(self) -> Keys:
        """Its public key, as a verifier fetches it."""
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        return parse_keys({"keys": [{**public, "kid": _KEY_ID}]})


def _new_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
