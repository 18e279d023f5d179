"""Requests to an endpoint over TLS."""

from __future__ import annotations

import ssl

import pytest

from tablewright.store.backends.http.exchange import NO_RESPONSE, NOT_CONNECTED
from tablewright.store.flow.driver import Request
from tests.store.backends.cut_responses import TABLES, closed, in_the_body, reset, reset_in_the_body
from tests.store.backends.faces import Face, call, connected, failure
from tests.store.backends.scripted_server import Authority, Script, answering, response, scripted

__all__ = ["call"]

PUT = Request("PutItem", {"TableName": "rows", "Item": {"pk": {"S": "x" * 2_000_000}}})


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def test_requests_over_tls(call: Face, authority: Authority) -> None:
    page = b'{"TableNames":["%b"]}' % (b"a" * 300_000)
    with scripted(answering(response(page)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        for _ in range(3):
            assert len(call(backend, PUT)["TableNames"][0]) == 300_000
        assert server.connections == 1
        backend.close()


def test_the_bundle_of_the_environment_is_used(
    call: Face, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.bundle))
    with scripted(answering(response(TABLES)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https")
        assert call(backend) == {"TableNames": ["a"]}
        backend.close()


def test_an_untrusted_certificate_is_refused(call: Face, authority: Authority) -> None:
    with scripted(answering(response(TABLES)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https")
        failed = failure(call, backend)
        assert failed.code == NOT_CONNECTED
        assert "certificate" in failed.message.lower()
        backend.close()


def test_an_endpoint_that_refuses_us_by_an_alert(call: Face, authority: Authority) -> None:
    context = authority.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.bundle)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with scripted(answering(response(TABLES)), tls=context) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        failed = failure(call, backend)
        assert failed.code == NOT_CONNECTED
        assert "alert" in failed.message.lower()
        backend.close()


def test_an_alert_after_the_request(call: Face, authority: Authority) -> None:
    """With TLS 1.3 a client learns only then that its certificate was wanted."""
    context = authority.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.bundle)
    with scripted(answering(response(TABLES)), tls=context) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        assert failure(call, backend).code == NO_RESPONSE
        backend.close()


@pytest.mark.parametrize("script", [closed, reset, in_the_body, reset_in_the_body])
def test_tls_that_is_cut(call: Face, authority: Authority, script: Script) -> None:
    with scripted(script, answering(response(TABLES)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        assert failure(call, backend).code == NO_RESPONSE
        assert call(backend) == {"TableNames": ["a"]}
        backend.close()
