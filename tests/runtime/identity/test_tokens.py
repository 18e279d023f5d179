"""Who is asking: tokens, verified against the keys that a real server has."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tablewright.runtime.errors import ServiceProblem, ServiceUnavailable, Unauthenticated
from tablewright.runtime.identity.access import Caller
from tablewright.runtime.identity.tokens import Verifier, keys_at, parse_keys

ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example"
CLIENT = "client-1"
NOW = 1_800_000_000.0


class Key:
    """A signing key of an issuer."""

    def __init__(self, key_id: str) -> None:
        self.id = key_id
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def public(self) -> dict[str, Any]:
        found = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key()))
        return {**found, "kid": self.id, "use": "sig", "alg": "RS256"}


class Issuer:
    """An HTTP server that shows keys, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.body: bytes = b""
        self.status = 200
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(issuer.status)
                self.send_header("Content-Length", str(len(issuer.body)))
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/.well-known/jwks.json"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def show(self, *keys: Any) -> None:
        self.body = json.dumps({"keys": [key.public if isinstance(key, Key) else key for key in keys]}).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture(scope="module")
def keys() -> list[Key]:
    return [Key("first"), Key("second")]


@pytest.fixture
def issuer(keys: list[Key]) -> Iterator[Issuer]:
    issuer = Issuer()
    issuer.show(keys[0])
    yield issuer
    issuer.close()


MAPPED = {"Desk": ["servicedesk:Agents", "calls:Schedulers"], "tablewright/voice": ["servicedesk:VoiceAgents"]}


class Desk:
    """A verifier with a clock that is moved on."""

    def __init__(self, url: str) -> None:
        self.now = NOW
        self._verifier = Verifier(ISSUER, CLIENT, keys_at(url), roles=MAPPED, clock=lambda: self.now)

    def caller(self, token: str | None, scheme: str = "Bearer") -> Caller:
        return asyncio.run(self._verifier.caller(None if token is None else f"{scheme} {token}"))

    def refusal(self, token: str | None, kind: type[ServiceProblem] = Unauthenticated) -> str:
        with pytest.raises(kind) as refused:
            self.caller(token)
        return str(refused.value)


@pytest.fixture
def desk(issuer: Issuer) -> Desk:
    return Desk(issuer.url)


def claims(**changes: Any) -> dict[str, Any]:
    """As Cognito's ID tokens have them; what is changed to None is left out."""
    usual = {
        "sub": "u-1",
        "iss": ISSUER,
        "aud": CLIENT,
        "token_use": "id",
        "iat": int(NOW),
        "auth_time": int(NOW),
        "exp": int(NOW) + 3600,
        "email": "ada@example.org",
        "cognito:username": "ada",
        "cognito:groups": ["tasks:Admins", "Staff"],
    }
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def signed(key: Key, key_id: Any = None, **changes: Any) -> str:
    return jwt.encode(claims(**changes), key.private, algorithm="RS256", headers={"kid": key_id or key.id})


@pytest.mark.requirement("TM6")
def test_a_token_says_who_is_asking(desk: Desk, keys: list[Key]) -> None:
    assert desk.caller(signed(keys[0])) == Caller("u-1", "ada@example.org", frozenset({"tasks:Admins"}))
    assert desk.caller(signed(keys[0]), scheme="bearer").user_id == "u-1"
    nobody = desk.caller(signed(keys[0], **{"cognito:groups": None, "email": None}))
    assert nobody == Caller("u-1")


@pytest.mark.requirement("TM6")
def test_an_access_token_names_its_client_otherwise(desk: Desk, keys: list[Key]) -> None:
    access = {"token_use": "access", "aud": None, "client_id": CLIENT, "email": None, "username": "ada"}
    assert desk.caller(signed(keys[0], **access)).roles == {"tasks:Admins"}
    refused = desk.refusal(signed(keys[0], **{**access, "client_id": "other"}))
    assert refused == "the token was issued for another client"
    # Neither stands in for the other.
    assert "another client" in desk.refusal(signed(keys[0], **{**access, "client_id": None, "aud": CLIENT}))
    assert "another client" in desk.refusal(signed(keys[0], aud=None, client_id=CLIENT))


def test_groups_and_scopes_have_the_roles_that_they_are_mapped_to(desk: Desk, keys: list[Key]) -> None:
    staff = desk.caller(signed(keys[0], **{"cognito:groups": ["Desk", "tasks:Members", "Others"]}))
    assert staff.roles == {"servicedesk:Agents", "calls:Schedulers", "tasks:Members"}
    access = {"token_use": "access", "aud": None, "client_id": CLIENT, "cognito:groups": None}
    service = desk.caller(signed(keys[0], **access, scope="other/read tablewright/voice"))
    assert service.roles == {"servicedesk:VoiceAgents"}
    # A scope is no role by its name: any resource server of the issuer may have one like it.
    for scope in ("tablewright/voices", "tasks:Admins", "tablewright/tasks:Admins", ""):
        assert desk.caller(signed(keys[0], **access, scope=scope)).roles == frozenset()


@pytest.mark.requirement("TM6")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"iss": "https://evil.example.org"}, "the token is not valid: Invalid issuer"),
        ({"iss": None}, 'the token is not valid: Token is missing the "iss" claim'),
        ({"aud": "other"}, "the token was issued for another client"),
        ({"aud": None}, "the token was issued for another client"),
        ({"sub": None}, 'the token is not valid: Token is missing the "sub" claim'),
        ({"exp": None}, 'the token is not valid: Token is missing the "exp" claim'),
        ({"iat": None}, 'the token is not valid: Token is missing the "iat" claim'),
        ({"exp": "tomorrow"}, "the token is not valid: exp is not a time"),
        ({"token_use": "refresh"}, "the token is not valid: token_use is neither id nor access"),
        ({"cognito:groups": "tasks:Admins"}, "the token is not valid: cognito:groups is not a list"),
    ],
)
def test_a_claim_that_is_wrong_is_refused(desk: Desk, keys: list[Key], change: dict[str, Any], told: str) -> None:
    assert desk.refusal(signed(keys[0], **change)) == told


@pytest.mark.requirement("TM6")
def test_a_token_is_good_for_its_time_and_a_minute(desk: Desk, keys: list[Key]) -> None:
    token = signed(keys[0])
    for seconds, good in ((0, True), (3600, True), (3659, True), (3660, False), (100_000, False)):
        desk.now = NOW + seconds
        if good:
            desk.caller(token)
        else:
            assert desk.refusal(token) == "the token has expired; get a new one"
    desk.now = NOW
    for claim in ("nbf", "iat"):
        desk.caller(signed(keys[0], **{claim: int(NOW) + 60}))
        assert desk.refusal(signed(keys[0], **{claim: int(NOW) + 61})) == "the token is not valid yet"


@pytest.mark.requirement("TM6")
def test_only_the_one_algorithm_is_taken(desk: Desk, keys: list[Key]) -> None:
    unsigned = jwt.encode(claims(), "", algorithm="none", headers={"kid": "first"})
    assert desk.refusal(unsigned) == "the token is not signed with RS256"
    other = jwt.encode(claims(), keys[0].private, algorithm="RS512", headers={"kid": "first"})
    assert desk.refusal(other) == "the token is not signed with RS256"

    # The public key, which everybody knows, as the secret of another algorithm.
    pem = (
        keys[0]
        .private.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    for algorithm in ("HS256", "RS256"):
        head = _part({"alg": algorithm, "kid": "first", "typ": "JWT"})
        body = _part(claims())
        signature = _text(hmac.new(pem, f"{head}.{body}".encode(), hashlib.sha256).digest())
        assert "not" in desk.refusal(f"{head}.{body}.{signature}")


def _part(value: dict[str, Any]) -> str:
    return _text(json.dumps(value).encode())


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


@pytest.mark.requirement("TM6")
def test_what_is_altered_or_signed_by_another_is_refused(desk: Desk, keys: list[Key]) -> None:
    head, _, signature = signed(keys[0]).split(".")
    forged = f"{head}.{_part(claims(sub='root'))}.{signature}"
    assert desk.refusal(forged) == "the token is not valid: Signature verification failed"
    assert "Signature verification failed" in desk.refusal(signed(keys[1], key_id="first"))


@pytest.mark.parametrize("token", [None, "", "x", "a.b.c", "." * 100, "é.é.é", "x" * 9000])
def test_nonsense_is_refused(desk: Desk, token: str | None) -> None:
    desk.refusal(token)


def test_another_scheme_is_no_token(desk: Desk, keys: list[Key]) -> None:
    with pytest.raises(Unauthenticated):
        desk.caller(signed(keys[0]), scheme="Basic")


@pytest.mark.requirement("TM6")
def test_keys_are_asked_for_once_and_anew_when_the_issuer_changes_them(
    desk: Desk, issuer: Issuer, keys: list[Key]
) -> None:
    first, second = keys
    for number in range(20):
        desk.caller(signed(first, sub=f"u-{number}"))
    assert issuer.asked == 1
    # The issuer signs with another key from now on, and shows both.
    issuer.show(first, second)
    desk.now += 60
    desk.caller(signed(second))
    desk.caller(signed(first))
    assert issuer.asked == 2
    # The first one is withdrawn: its tokens are good until the keys are read anew, within the hour.
    issuer.show(second)
    old = signed(first, exp=int(NOW) + 100_000)
    desk.caller(old)
    desk.now += 3601
    assert desk.refusal(old) == "the token is signed with an unknown key"
    desk.caller(signed(second, exp=int(NOW) + 100_000))
    assert issuer.asked == 3


@pytest.mark.requirement("TM6")
def test_made_up_keys_do_not_flood_the_issuer(desk: Desk, issuer: Issuer, keys: list[Key]) -> None:
    desk.caller(signed(keys[0]))
    for second in range(120):
        desk.now = NOW + second
        for number in range(3):
            desk.refusal(signed(keys[1], key_id=f"made-up-{second}-{number}"))
    assert issuer.asked <= 1 + 120 / 30
    desk.caller(signed(keys[0]))


@pytest.mark.requirement("TM6")
def test_while_the_issuer_is_down_known_keys_go_on(desk: Desk, issuer: Issuer, keys: list[Key]) -> None:
    late = {"exp": int(NOW) + 100_000}
    desk.caller(signed(keys[0]))
    issuer.status = 500
    for seconds in (0, 3601, 3602, 7300):
        desk.now = NOW + seconds
        desk.caller(signed(keys[0], **late, sub=f"u-{seconds}"))
    # One request in every half minute tries, at most.
    assert issuer.asked == 3
    issuer.status = 200
    issuer.show(keys[1])
    desk.now += 31
    desk.caller(signed(keys[1], **late))
    desk.refusal(signed(keys[0], **late))


@pytest.mark.requirement("TM6")
def test_an_issuer_that_was_never_there_is_no_fault_of_the_caller(desk: Desk, issuer: Issuer, keys: list[Key]) -> None:
    issuer.status = 503
    for _ in range(5):
        told = desk.refusal(signed(keys[0]), ServiceUnavailable)
    assert told == "tokens cannot be verified at the moment: the keys of the issuer cannot be fetched"
    assert issuer.asked == 1
    issuer.status = 200
    desk.now += 1
    desk.caller(signed(keys[0]))


def test_tokens_with_a_known_key_do_not_wait_for_a_slow_issuer(keys: list[Key]) -> None:
    async def work() -> list[str]:
        now, slow = [NOW], asyncio.Event()
        answers = [parse_keys({"keys": [keys[0].public]})]

        async def fetch() -> Any:
            if not answers:
                await slow.wait()
                raise ServiceUnavailable("no answer")
            return answers.pop()

        verifier = Verifier(ISSUER, CLIENT, fetch, clock=lambda: now[0])
        late = {"exp": int(NOW) + 100_000}
        await verifier.caller(f"Bearer {signed(keys[0], **late)}")
        now[0] += 3601
        order: list[str] = []

        async def ask(name: str) -> None:
            await verifier.caller(f"Bearer {signed(keys[0], **late, sub=name)}")
            order.append(name)

        waiting = asyncio.create_task(ask("the one who asks"))
        await asyncio.sleep(0)
        await asyncio.wait_for(ask("another"), 5)
        slow.set()
        await asyncio.wait_for(waiting, 5)
        return order

    assert asyncio.run(work()) == ["another", "the one who asks"]


def test_keys_at_an_unreachable_address_are_unavailable() -> None:
    Desk("http://127.0.0.1:9/jwks.json").refusal(signed(Key("k")), ServiceUnavailable)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"keys": 7}', b'{"keys": [1, {}]}', b"x" * 200_000])
def test_what_is_no_key_set_has_no_keys(desk: Desk, issuer: Issuer, keys: list[Key], body: bytes) -> None:
    issuer.body = body
    desk.refusal(signed(keys[0]), ServiceUnavailable)


def test_keys_of_no_use_are_passed_over(keys: list[Key]) -> None:
    good = keys[0].public
    found = parse_keys(
        {
            "keys": [
                {**good, "kid": "broken", "n": "!"},
                {**good, "kid": "for encryption", "use": "enc"},
                {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
                {"kty": "EC", "kid": "curve", "crv": "P-256", "x": "x", "y": "y"},
                {name: value for name, value in good.items() if name != "kid"},
                good,
            ]
        }
    )
    assert list(found) == ["first"]
