"""An issuer of OpenID Connect on a port of its own: description, keys, sign-in page and token endpoint.

Its sign-in page has one link for each person. It checks what a client has to send (PKCE with S256, the redirect that it
knows, a client secret if there is one), takes each code once, and can be told to misbehave.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

PEOPLE: dict[str, dict[str, Any]] = {
    "u-1": {"email": "ada@example.org", "name": "Ada Lovelace", "groups": ["tasks:Admins", "Everybody"]},
    "u-2": {"email": "grace@example.org", "name": "Grace Hopper", "groups": ["Team"]},
    "u-3": {"email": "nobody@example.org", "name": "No Body", "groups": []},
}


@dataclass(slots=True)
class Issuer:
    """An issuer that is running."""

    client_id: str = "tablewright-apps"
    client_secret: str | None = None
    url: str = ""
    # What an ID token has beside, or instead of, what is right: {"nonce": "other"}.
    instead: dict[str, Any] = field(default_factory=dict)
    redirect_uris: set[str] = field(default_factory=set)
    # Requests of the token endpoint, as they came.
    redeemed: list[dict[str, str]] = field(default_factory=list)
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048), repr=False)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def description(self) -> dict[str, str]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/logout",
        }

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def approve(self, query: dict[str, str], user: str) -> str:
        """Where the browser goes after somebody signed in."""
        assert query["client_id"] == self.client_id
        assert query["redirect_uri"] in self.redirect_uris
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        assert "openid" in query["scope"].split()
        code = secrets.token_urlsafe(16)
        self._codes[code] = {**query, "user": user}
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], 'iss': self.url})}"

    def redeem(self, form: dict[str, str], authorization: str | None) -> tuple[int, dict[str, Any]]:
        self.redeemed.append(form)
        begun = self._codes.pop(form.get("code", ""), None)
        if self.client_secret is not None:
            expected = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
            if authorization != f"Basic {expected}":
                return 401, {"error": "invalid_client"}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if begun is None or begun["code_challenge"] != challenge.rstrip(b"=").decode():
            return 400, {"error": "invalid_grant"}
        return 200, {"id_token": self.token(begun["user"], begun["nonce"]), "token_type": "Bearer", "expires_in": 3600}

    def token(self, user: str, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": self.client_id, "sub": user, "iat": now, "exp": now + 3600, "nonce": nonce}
        claims = {**claims, **PEOPLE[user], **self.instead}
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})


@contextmanager
def issuing(**options: Any) -> Iterator[Issuer]:
    issuer = Issuer(**options)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/.well-known/openid-configuration":
                self._json(200, issuer.description())
            elif parts.path == "/keys":
                self._json(200, issuer.keys())
            elif parts.path == "/authorize" and "user" in query:
                self._redirect(issuer.approve(query, query["user"]))
            elif parts.path == "/authorize":
                links = "".join(
                    f'<p><a id="{user}" href="/authorize?{parts.query}&user={user}">{user}</a>' for user in PEOPLE
                )
                self._send(200, f"<!doctype html><title>Issuer</title>{links}".encode(), "text/html")
            elif parts.path == "/logout":
                self._redirect(query["post_logout_redirect_uri"])
            else:
                self._json(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._json(*issuer.redeem(form, self.headers["authorization"]))

        def _json(self, status: int, body: Any) -> None:
            self._send(status, json.dumps(body).encode(), "application/json")

        def _redirect(self, url: str) -> None:
            self.send_response(302)
            self.send_header("Location", url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
