"""Callers: bearer tokens, verified against the keys of their issuer.

    Caller(user_id="u-1", email="ada@example.org", roles={"tasks:Members"})

Tokens are Cognito's: ``sub``, ``email``, ``cognito:groups``; the client is the ``aud`` of an ID token, or the
``client_id`` of an access token. The algorithm is pinned to RS256, the issuer and the client are checked, clocks may
differ by a minute. Roles come from the groups, and from the scopes of a service's token (client credentials), which has
no groups (``access.roles_of``).

Keys are fetched when a token names an unknown one, at most every half minute, and refreshed once an hour: key rotation
works without action, and invented key ids cannot be used to flood the issuer. While the issuer does not respond, known
keys stay valid.

PyJWT, and cryptography with it, are imported with the first token: consumers and schedules never get one.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tablewright.runtime.errors import ServiceUnavailable, Unauthenticated
from tablewright.runtime.identity.access import Caller, roles_of

if TYPE_CHECKING:
    import jwt

# What other packages use.
__all__ = [
    "Verifier",
    "is_user_id",
]

_ALGORITHM = "RS256"
_LEEWAY = 60
_KEYS_LAST = 3600.0
_ASK_AGAIN_AFTER = 30.0
# As long as there is no key at all.
_ASK_FIRST_AFTER = 1.0
_FETCH_TIMEOUT = 5.0
_MAX_TOKEN_LENGTH = 8192
_MAX_KEY_SET_BYTES = 100_000
_MAX_REMEMBERED = 4096
# As OpenID Connect bounds it; keys of items are made from it.
_MAX_USER_ID_LENGTH = 255
_LAST_TIME = 2**40
_NO_KEYS = "tokens cannot be verified at the moment: the keys of the issuer cannot be fetched"


def is_user_id(text: str) -> bool:
    """Whether a text is a valid user id: not empty, and short enough for a key."""
    try:
        return 0 < len(text.encode()) <= _MAX_USER_ID_LENGTH
    except UnicodeEncodeError:
        return False


Keys = Mapping[str, "jwt.PyJWK"]
FetchKeys = Callable[[], Awaitable[Keys]]


def keys_at(url: str) -> FetchKeys:
    """Fetches the keys of an issuer from a URL."""

    async def fetch() -> Keys:
        return parse_keys(await _fetched(url))

    return fetch


def keys_of(issuer: str) -> FetchKeys:
    """Fetches the keys of an issuer from Cognito's address, or from the one in its discovery document."""
    base = issuer.rstrip("/")

    async def fetch() -> Keys:
        found = await _fetched(f"{base}/.well-known/jwks.json", missing={})
        if not parse_keys(found):
            described = await _fetched(f"{base}/.well-known/openid-configuration")
            url = described.get("jwks_uri") if isinstance(described, dict) else None
            if not isinstance(url, str) or described.get("issuer") != issuer:
                raise ServiceUnavailable(_NO_KEYS)
            found = await _fetched(url)
        return parse_keys(found)

    return fetch


async def _fetched(url: str, *, missing: Any = None) -> Any:
    """JSON from an issuer; ``missing`` is what there is instead, if it says that there is nothing."""
    import httpx

    try:
        # httpx limits each step, this limits the whole.
        async with (
            asyncio.timeout(_FETCH_TIMEOUT),
            httpx.AsyncClient(timeout=_FETCH_TIMEOUT, follow_redirects=False) as client,
        ):
            response = await client.get(url)
            if response.status_code == 404 and missing is not None:
                return missing
            response.raise_for_status()
            if len(response.content) > _MAX_KEY_SET_BYTES:
                raise ValueError("too many keys")
            return response.json()
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError) as error:
        raise ServiceUnavailable(_NO_KEYS) from error


def parse_keys(key_set: Any) -> Keys:
    """The RSA signing keys of a JWKS, by id; other keys are ignored."""
    import jwt

    members = key_set.get("keys") if isinstance(key_set, dict) else None
    found: dict[str, jwt.PyJWK] = {}
    for member in members if isinstance(members, list) else ():
        if not isinstance(member, dict) or "kid" not in member:
            continue
        if member.get("kty") != "RSA" or member.get("use", "sig") != "sig":
            continue
        try:
            found[str(member["kid"])] = jwt.PyJWK(member, algorithm=_ALGORITHM)
        except (jwt.PyJWTError, ValueError):
            continue
    return found


class Verifier:
    """Verifies tokens of one issuer for one client."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        fetch: FetchKeys,
        *,
        roles: Mapping[str, Iterable[str]] = MappingProxyType({}),
        groups_claim: str = "cognito:groups",
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``roles`` maps the issuer's groups and scopes to roles, where they do not have the form of a role."""
        self._groups_claim = groups_claim
        self._issuer = issuer
        self._audience = audience
        self._fetch = fetch
        self._roles = roles
        self._clock = clock
        self._keys: Keys = {}
        # When they were fetched, and when that was tried last.
        self._fetched_at = -_KEYS_LAST
        self._asked_at = -_KEYS_LAST
        self._fetching = asyncio.Lock()
        # Verified tokens by digest: their expiry, key id and caller.
        self._verified: OrderedDict[bytes, tuple[float, str, Caller]] = OrderedDict()

    async def caller(self, authorization: str | None) -> Caller:
        """The caller of an Authorization header; Unauthenticated if it has no valid token."""
        scheme, _, token = (authorization or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated("send a bearer token in the Authorization header")
        if len(token) > _MAX_TOKEN_LENGTH:
            raise Unauthenticated("the token is too long")
        digest = sha256(token.encode("utf-8", "replace")).digest()
        known = self._verified.get(digest)
        if known is not None and known[0] > (now := self._clock()):
            keys = self._keys if now - self._fetched_at < _KEYS_LAST else await self._current()
            # A withdrawn key invalidates its tokens, as soon as the keys are fetched again.
            if known[1] in keys:
                return known[2]
        key_id, claims = await self._claims(token)
        caller = self._caller(claims)
        self._verified[digest] = float(claims["exp"]) + _LEEWAY, key_id, caller
        if len(self._verified) > _MAX_REMEMBERED:
            self._verified.popitem(last=False)
        return caller

    async def identity(self, token: str) -> tuple[Caller, Mapping[str, Any]]:
        """The subject and all claims of a token, once verified; Unauthenticated if it is not valid."""
        if len(token) > _MAX_TOKEN_LENGTH:
            raise Unauthenticated("the token is too long")
        _, claims = await self._claims(token)
        return self._caller(claims), claims

    async def _claims(self, token: str) -> tuple[str, dict[str, Any]]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") != _ALGORITHM:
                raise Unauthenticated(f"the token is not signed with {_ALGORITHM}")
            key_id = str(header.get("kid"))
            key = await self._key(key_id)
            claims = jwt.decode(
                token,
                key,
                algorithms=[_ALGORITHM],
                issuer=self._issuer,
                options={
                    "require": ["exp", "iat", "sub", "iss"],
                    "verify_aud": False,
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the token is not valid: {error}") from None
        self._check_times(claims)
        self._check_client(claims)
        return key_id, claims

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        """By our own clock, which tests can set."""
        now = self._clock()
        for claim in ("exp", "iat", "nbf"):
            # Not NaN either, with which every comparison is false.
            if claim in claims and not (isinstance(claims[claim], int | float) and 0 <= claims[claim] < _LAST_TIME):
                raise Unauthenticated(f"the token is not valid: {claim} is not a time")
        if claims["exp"] + _LEEWAY <= now:
            raise Unauthenticated("the token has expired; get a new one")
        if max(claims["iat"], claims.get("nbf", claims["iat"])) - _LEEWAY > now:
            raise Unauthenticated("the token is not valid yet")

    def _check_client(self, claims: Mapping[str, Any]) -> None:
        use = claims.get("token_use", "id")
        if use not in ("id", "access"):
            raise Unauthenticated("the token is not valid: token_use is neither id nor access")
        named = claims.get("client_id") if use == "access" else claims.get("aud")
        clients = named if isinstance(named, list) else [named]
        if self._audience not in clients:
            raise Unauthenticated("the token was issued for another client")

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        groups = claims.get(self._groups_claim) or []
        if not isinstance(groups, list):
            raise Unauthenticated(f"the token is not valid: {self._groups_claim} is not a list")
        roles = roles_of(map(str, groups), str(claims.get("scope", "")).split(), self._roles)
        email = claims.get("email")
        if not is_user_id(claims["sub"]):
            raise Unauthenticated("the token is not valid: sub is empty, too long or not text")
        return Caller(claims["sub"], None if email is None else str(email), roles)

    async def _key(self, key_id: str) -> jwt.PyJWK:
        key = (await self._current()).get(key_id) or (await self._refresh()).get(key_id)
        if key is None:
            raise Unauthenticated("the token is signed with an unknown key")
        return key

    async def _current(self) -> Keys:
        fresh = self._clock() - self._fetched_at < _KEYS_LAST
        # No request waits for the issuer while there are known keys.
        if self._keys and (fresh or self._fetching.locked()):
            return self._keys
        return await self._refresh()

    async def _refresh(self) -> Keys:
        """The issuer's current keys; the known ones if it was asked a moment ago or does not respond."""
        async with self._fetching:
            pause = _ASK_AGAIN_AFTER if self._keys else _ASK_FIRST_AFTER
            if self._clock() - self._asked_at >= pause:
                self._asked_at = self._clock()
                try:
                    self._keys = await self._fetch()
                    self._fetched_at = self._clock()
                except ServiceUnavailable:
                    if not self._keys:
                        raise
        if not self._keys:
            raise ServiceUnavailable(_NO_KEYS)
        return self._keys
