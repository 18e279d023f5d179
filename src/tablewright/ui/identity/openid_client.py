"""Sign-in with OpenID Connect: the authorization code flow with PKCE, with any issuer.

    begin  ──▶ the issuer's page, with state, nonce and code challenge; what belongs to them is sealed in a cookie
    finish ──▶ code ──▶ token endpoint (with the code verifier) ──▶ ID token ──▶ verified as all tokens are; nonce

The endpoints are read from the issuer's ``/.well-known/openid-configuration``, at the first sign-in.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import httpx

from tablewright.runtime import Caller, ServiceUnavailable, Unauthenticated
from tablewright.runtime.identity.tokens import Verifier
from tablewright.ui.identity.session_cookie import Signer

__all__ = ["OpenIdClient"]

_TIMEOUT = 10.0
_MAX_RESPONSE = 200_000
_DESCRIPTION_LASTS = 3600.0
# How long a person may take to sign in on the issuer's page.
ATTEMPT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A user whom the issuer has authenticated, and the page they wanted."""

    caller: Caller
    name: str
    to: str


class OpenIdClient:
    """A client of one issuer."""

    def __init__(
        self,
        issuer: str,
        client_id: str,
        client_secret: str | None,
        scopes: str,
        redirect_uri: str,
        verifier: Verifier,
        signer: Signer,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._scopes = scopes
        self._redirect_uri = redirect_uri
        self._verifier = verifier
        self._signer = signer
        self._clock = clock
        self._description: Mapping[str, Any] = {}
        self._described_at = 0.0
        self._describing = asyncio.Lock()

    async def begin(self, to: str) -> tuple[str, str]:
        """Where to send the browser, and the cookie that it must return with."""
        endpoint = await self._endpoint("authorization_endpoint")
        state, nonce, code_verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = urlsafe_b64encode(sha256(code_verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect_uri,
            "scope": self._scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        sealed = {"state": state, "nonce": nonce, "code_verifier": code_verifier, "to": to}
        cookie = self._signer.seal(sealed, self._clock() + ATTEMPT_SECONDS)
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}", cookie

    async def finish(self, query: Mapping[str, str], cookie: str | None) -> SignedIn:
        """The user who returned from the issuer's page; Unauthenticated if the response is not valid."""
        begun = self._signer.unseal(cookie)
        if begun is None:
            raise Unauthenticated("this sign-in was started elsewhere, or too long ago; start again")
        if not hmac.compare_digest(query.get("state", "").encode(), begun["state"].encode()):
            raise Unauthenticated("the response does not belong to this sign-in; start again")
        # RFC 9207: a response of another issuer is not for us.
        if query.get("iss", self._issuer) != self._issuer:
            raise Unauthenticated("the response is from another issuer")
        if "error" in query:
            raise Unauthenticated(f"the issuer refused: {query.get('error_description') or query['error']}"[:300])
        if not query.get("code"):
            raise Unauthenticated("the response of the issuer has no code")
        token = await self._redeem(query["code"], begun["code_verifier"])
        caller, claims = await self._verifier.identity(token)
        nonce = claims.get("nonce")
        if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), begun["nonce"].encode()):
            raise Unauthenticated("the token was issued for another sign-in")
        if claims.get("token_use", "id") != "id":
            raise Unauthenticated("the issuer returned no ID token")
        given = claims.get("name") or claims.get("preferred_username") or caller.email or caller.user_id
        return SignedIn(caller, str(given)[:100], begun["to"])

    async def sign_out_url(self, back_to: str) -> str | None:
        """The issuer's sign-out address, if it has one."""
        try:
            endpoint = (await self._described()).get("end_session_endpoint")
        except ServiceUnavailable:
            return None
        if not isinstance(endpoint, str):
            return None
        query = urlencode({"client_id": self._client_id, "post_logout_redirect_uri": back_to})
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    async def _redeem(self, code: str, code_verifier: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "client_id": self._client_id,
            "code_verifier": code_verifier,
        }
        auth = None if self._client_secret is None else httpx.BasicAuth(self._client_id, self._client_secret)
        response = await _exchange("POST", await self._endpoint("token_endpoint"), data=form, auth=auth)
        token = response.get("id_token")
        if not isinstance(token, str):
            raise Unauthenticated(
                f"the issuer returned no ID token: {response.get('error', 'its response has none')}"[:300]
            )
        return token

    async def _endpoint(self, name: str) -> str:
        found = (await self._described()).get(name)
        if not isinstance(found, str) or not found.startswith(("https://", "http://")):
            raise ServiceUnavailable(f"the issuer's discovery document has no {name}")
        return found

    async def _described(self) -> Mapping[str, Any]:
        async with self._describing:
            if not self._description or self._clock() - self._described_at > _DESCRIPTION_LASTS:
                url = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
                found = await _exchange("GET", url)
                if found.get("issuer") != self._issuer:
                    raise ServiceUnavailable("the issuer's discovery document is of another issuer")
                self._description, self._described_at = found, self._clock()
        return self._description


async def _exchange(method: str, url: str, **options: Any) -> dict[str, Any]:
    """A JSON object from the issuer, whatever its status; ServiceUnavailable if there is none."""
    try:
        async with (
            asyncio.timeout(_TIMEOUT),
            httpx.AsyncClient(timeout=_TIMEOUT, follow_redirects=False) as client,
            client.stream(method, url, headers={"Accept": "application/json"}, **options) as response,
        ):
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > _MAX_RESPONSE:
                    raise ValueError("too long")
        found = httpx.Response(200, content=body).json()
        if not isinstance(found, dict) or response.status_code >= 500:
            raise ValueError("no object")
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError) as error:
        raise ServiceUnavailable("the issuer cannot be reached, or its response is not valid; try again") from error
    return found
