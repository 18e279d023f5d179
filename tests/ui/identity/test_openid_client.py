"""Sign-in by OpenID Connect: what is as it was begun is accepted, and everything else refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tablewright.runtime import Caller, ServiceUnavailable, Unauthenticated
from tablewright.runtime.identity.tokens import Verifier, keys_of
from tablewright.ui.identity.openid_client import OpenIdClient, SignedIn
from tablewright.ui.identity.session_cookie import Signer
from tests.clocks import Clock
from tests.ui.identity.openid_issuer import Issuer, issuing

pytestmark = pytest.mark.requirement("AP1")

BACK = "https://hub.example.org/app/sign-in/callback"


@pytest.fixture(scope="module")
def running() -> Iterator[Issuer]:
    with issuing(redirect_uris={BACK}) as issuer:
        yield issuer


@pytest.fixture
def issuer(running: Issuer) -> Issuer:
    running.instead, running.client_secret = {}, None
    running.redeemed.clear()
    return running


def client(issuer: Issuer, clock: Callable[[], float] = time.time, secret: str | None = None) -> OpenIdClient:
    verifier = Verifier(issuer.url, issuer.client_id, keys_of(issuer.url), groups_claim="groups", clock=time.time)
    signer = Signer(b"s" * 32, "sign-in", clock)
    return OpenIdClient(issuer.url, issuer.client_id, secret, "openid email", BACK, verifier, signer, clock)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def signed_in(issuer: Issuer, here: OpenIdClient, user: str = "u-1", **instead: str) -> SignedIn:
    """Go to the issuer, and come back with what it sends, or with something else."""
    url, cookie = await here.begin("/tasks/board")
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    back = parse_qs(urlsplit(issuer.approve(query, user)).query)
    return await here.finish({**{name: values[0] for name, values in back.items()}, **instead}, cookie)


def test_signing_in_at_the_issuer_signs_in_here(issuer: Issuer) -> None:
    found = run(signed_in(issuer, client(issuer)))
    assert found == SignedIn(
        Caller("u-1", "ada@example.org", frozenset({"tasks:Admins"})), "Ada Lovelace", "/tasks/board"
    )
    # The code verifier goes to the token endpoint and nowhere else; there is no secret.
    assert issuer.redeemed[0]["code_verifier"]
    assert "client_secret" not in issuer.redeemed[0]


def test_a_client_with_a_secret_sends_it(issuer: Issuer) -> None:
    issuer.client_secret = "a secret"
    assert run(signed_in(issuer, client(issuer, secret="a secret"))).caller.user_id == "u-1"
    with pytest.raises(Unauthenticated, match="invalid_client"):
        run(signed_in(issuer, client(issuer, secret="another")))


@pytest.mark.parametrize(
    ("instead", "message"),
    [
        ({"nonce": "another"}, "issued for another sign-in"),
        ({"nonce": None}, "issued for another sign-in"),
        ({"aud": "another-client"}, "issued for another client"),
        ({"iss": "https://elsewhere.example.org"}, "not valid"),
        ({"exp": 1_000_000_000}, "has expired"),
        ({"token_use": "access", "client_id": "tablewright-apps"}, "returned no ID token"),
        ({"groups": "tasks:Admins"}, "groups is not a list"),
    ],
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(issuer: Issuer, instead: dict[str, Any], message: str) -> None:
    issuer.instead = instead
    with pytest.raises(Unauthenticated, match=message):
        run(signed_in(issuer, client(issuer)))


@pytest.mark.parametrize(
    ("instead", "message"),
    [
        ({"state": "another"}, "does not belong to this sign-in"),
        ({"code": "made up"}, "invalid_grant"),
        ({"code": ""}, "has no code"),
        ({"iss": "https://elsewhere.example.org"}, "from another issuer"),
        ({"error": "access_denied", "error_description": "not today"}, "refused: not today"),
    ],
)
def test_a_response_that_is_not_to_this_sign_in_is_refused(
    issuer: Issuer, instead: dict[str, str], message: str
) -> None:
    with pytest.raises(Unauthenticated, match=message):
        run(signed_in(issuer, client(issuer), **instead))


def test_a_code_cannot_be_used_by_a_browser_that_did_not_begin(issuer: Issuer) -> None:
    async def work() -> None:
        here = client(issuer)
        url, _ = await here.begin("/")
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        back = {name: values[0] for name, values in parse_qs(urlsplit(issuer.approve(query, "u-1")).query).items()}
        for cookie in (None, "made up", (await here.begin("/"))[1]):
            with pytest.raises(Unauthenticated):
                await here.finish(back, cookie)

    run(work())
    assert issuer.redeemed == []


def test_a_sign_in_has_to_be_finished_in_time(issuer: Issuer) -> None:
    async def work() -> None:
        clock = Clock(time.time())
        here = client(issuer, clock)
        _, cookie = await here.begin("/")
        clock.now += 601
        with pytest.raises(Unauthenticated, match="too long ago"):
            await here.finish({"state": "x", "code": "y"}, cookie)

    run(work())


def test_an_unreachable_issuer_is_reported(issuer: Issuer) -> None:
    away = Issuer(url="http://127.0.0.1:9")
    with pytest.raises(ServiceUnavailable, match="cannot be reached"):
        run(client(away).begin("/"))


def test_the_description_has_to_be_of_the_issuer_itself(issuer: Issuer) -> None:
    other = Issuer(url=issuer.url.replace("127.0.0.1", "localhost"))
    with pytest.raises(ServiceUnavailable, match="of another issuer"):
        run(client(other).begin("/"))


def test_signing_out_goes_to_the_issuer(issuer: Issuer) -> None:
    url = run(client(issuer).sign_out_url("https://hub.example.org/app/sign-in"))
    assert url.startswith(f"{issuer.url}/logout?client_id=tablewright-apps&post_logout_redirect_uri=https")
