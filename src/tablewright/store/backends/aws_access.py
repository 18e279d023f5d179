"""Credentials and addresses of requests: botocore's answers, requested outside of the hot path.

Credentials (keys, profiles, roles, SSO, containers, instance metadata, web identity), regions and endpoint rules are
botocore's, so that a store is configured like every other program on AWS. A botocore client knows where requests of a
service go: the URL that it would sign contains the endpoint and the region. Its answers are cached in a
``RequestSigner`` until the credentials change.

Credentials that expire are checked once per minute, in a thread, and botocore renews them minutes before they expire.
Credentials that the service reports as expired are loaded again.

If the configuration is plain, botocore is neither used nor imported (``plain_access``).
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tablewright.dynamo.credentials import AwsCredentials
from tablewright.store.backends.http.exchange import Destination, Proxy
from tablewright.store.backends.plain_access import DYNAMODB, STREAMS, PlainAccess, plain_access
from tablewright.store.backends.request_signer import RequestSigner
from tablewright.store.errors import ServiceError, StoreError

# What a configuration of the caller's does not say.
CONNECT_SECONDS = 5.0
RESPONSE_SECONDS = 30.0
MAX_CONNECTIONS = 100

_CHECK_SECONDS = 60.0
_NO_CREDENTIALS = (
    "there are no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE. "
    "An endpoint that does not check them, such as tablewright serve, accepts any values"
)
_PORTS = {"http": 80, "https": 443}


class AwsAccess:
    """The signers of one configuration. Its methods that ``load`` may use the network, and block."""

    def __init__(self, region: str | None, endpoint: str | None, options: Mapping[str, Any]) -> None:
        self._region, self._endpoint, self._options = region, endpoint, options
        self._plain = plain_access(region, endpoint, options)
        self._profile: str | None = options.get("profile_name")
        self._lock = threading.Lock()
        self._signers: dict[tuple[str, str], RequestSigner] = {}
        self._destinations: dict[str, Destination] = {}
        self._next_check = 0.0
        self._session: Any = None
        self._clients: dict[str, Any] = {}
        if self._plain is None:
            self._open()

    def _open(self) -> None:
        """Ask botocore: StoreError if it cannot use its configuration."""
        import botocore.session
        from botocore.exceptions import BotoCoreError, NoRegionError, ProfileNotFound

        self._session = botocore.session.Session(profile=self._profile)
        try:
            self._clients = {DYNAMODB: self._session.create_client(DYNAMODB, **self._arguments)}
        except NoRegionError:
            raise StoreError(
                "no region is configured: pass one, such as region='eu-west-1', or set AWS_DEFAULT_REGION; endpoints "
                "other than Amazon's accept any region"
            ) from None
        except ProfileNotFound:
            raise StoreError(
                f"there is no AWS profile {self._profile}; add it to ~/.aws/config, or name another"
            ) from None
        except BotoCoreError as error:
            raise StoreError(f"botocore cannot use its configuration: {error}") from error

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """What botocore's clients are made with."""
        from botocore.config import Config

        config = Config(
            connect_timeout=CONNECT_SECONDS, read_timeout=RESPONSE_SECONDS, max_pool_connections=MAX_CONNECTIONS
        )
        if self._options.get("config") is not None:
            config = config.merge(self._options["config"])
        others = {name: value for name, value in self._options.items() if name != "profile_name"}
        return {"region_name": self._region, "endpoint_url": self._endpoint, **others, "config": config}

    # -- the hot path -----------------------------------------------------------------------------------------------

    def signer(self, service: str, resource: str) -> RequestSigner | None:
        """The signer of requests to a service; None if it has to be loaded.

        ``resource`` is the ARN of a table, if the request names one: endpoint rules may look at it.
        """
        if self._next_check and time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + _CHECK_SECONDS
            threading.Thread(target=self._check, name="tablewright-credentials", daemon=True).start()
        return self._signers.get((service, resource))

    # -- what may block ---------------------------------------------------------------------------------------------

    def load(self, service: str, resource: str) -> RequestSigner:
        """The signer of requests to a service, with the current credentials."""
        with self._lock:
            # Endpoint rules look at what is named by an ARN.
            if self._plain is not None and not resource:
                signer = self._signer_of(self._plain, service)
            else:
                signer = self._asked(service, resource)
            self._signers[service, resource] = signer
        return signer

    def _asked(self, service: str, resource: str) -> RequestSigner:
        from botocore.exceptions import BotoCoreError, NoCredentialsError

        if self._session is None:
            self._open()
        try:
            return self._loaded(service, resource)
        except NoCredentialsError as error:
            raise ServiceError("NoCredentials", _NO_CREDENTIALS) from error
        except BotoCoreError as error:
            raise ServiceError("UnrecognizedClientException", str(error)) from error

    def load_renewed(self, service: str, resource: str, rejected: AwsCredentials) -> RequestSigner | None:
        """A signer with other credentials than those rejected by the service; None if there are no others."""
        if self._options.get("aws_access_key_id") is not None:
            return None
        signer = self.load(service, resource)
        if signer.credentials == rejected:
            # The clock that botocore goes by may be wrong: load them from where they come from.
            with self._lock:
                self._plain = plain_access(self._region, self._endpoint, self._options)
                self._session, self._clients, self._signers = None, {}, {}
            signer = self.load(service, resource)
        return None if signer.credentials == rejected else signer

    def _check(self) -> None:
        """Let botocore renew credentials that are about to expire; the next requests are signed with them."""
        try:
            for (service, resource), signer in list(self._signers.items()):
                if self._credentials() != signer.credentials:
                    self.load(service, resource)
        except Exception:
            # botocore has logged it. What there is may be valid for a while, and the next check tries again.
            return

    def _credentials(self) -> AwsCredentials:
        from botocore.credentials import RefreshableCredentials
        from botocore.exceptions import NoCredentialsError

        given = self._options
        if given.get("aws_access_key_id") is not None:
            return AwsCredentials(
                given["aws_access_key_id"], given["aws_secret_access_key"], given.get("aws_session_token")
            )
        found = self._session.get_credentials()
        if found is None:
            raise NoCredentialsError
        frozen = found.get_frozen_credentials()
        if isinstance(found, RefreshableCredentials) and not self._next_check:
            self._next_check = time.monotonic() + _CHECK_SECONDS
        return AwsCredentials(frozen.access_key, frozen.secret_key, frozen.token)

    def _signer_of(self, plain: PlainAccess, service: str) -> RequestSigner:
        address = plain.address(service)
        destination = self._destinations.get(address)
        if destination is None:
            url = urlsplit(address)
            destination = self._destinations[address] = Destination(
                host=url.hostname or "",
                port=url.port or _PORTS[url.scheme],
                tls=_tls_with(plain.ca_bundle) if url.scheme == "https" else None,
                proxy=None,
                connect_seconds=CONNECT_SECONDS,
                response_seconds=RESPONSE_SECONDS,
                max_connections=MAX_CONNECTIONS,
                tcp_keepalive=False,
            )
        return RequestSigner(destination, _host(address), "/", plain.region, plain.credentials)

    def _loaded(self, service: str, resource: str) -> RequestSigner:
        credentials = self._credentials()
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self._session.create_client(service, **self._arguments)
        if service == STREAMS:
            signed = client.generate_presigned_url("list_streams")
        elif resource:
            signed = client.generate_presigned_url("describe_table", {"TableName": resource})
        else:
            signed = client.generate_presigned_url("list_tables")
        url = urlsplit(signed)
        region = parse_qs(url.query)["X-Amz-Credential"][0].split("/")[2]
        address = f"{url.scheme}://{url.netloc}"
        destination = self._destinations.get(address)
        if destination is None:
            destination = self._destinations[address] = self._destination(address, client.meta.config)
        return RequestSigner(destination, _host(address), url.path or "/", region, credentials)

    def _destination(self, address: str, config: Any) -> Destination:
        url = urlsplit(address)
        return Destination(
            host=url.hostname or "",
            port=url.port or _PORTS[url.scheme],
            tls=self._tls(config.client_cert) if url.scheme == "https" else None,
            proxy=self._proxy(address, config),
            connect_seconds=float(config.connect_timeout),
            response_seconds=float(config.read_timeout),
            max_connections=config.max_pool_connections,
            tcp_keepalive=bool(config.tcp_keepalive),
        )

    def _tls(self, client_certificate: Any) -> ssl.SSLContext:
        """TLS as botocore has it: with its bundle of certificates, that of a setting, or none at all."""
        from botocore.httpsession import get_cert_path

        verify = self._arguments.get("verify")
        if verify is None:
            verify = self._session.get_config_variable("ca_bundle")
        verify = True if verify is None else verify
        if verify:
            context = ssl.create_default_context(cafile=get_cert_path(verify))
        else:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if client_certificate is not None:
            context.load_cert_chain(
                *(client_certificate if isinstance(client_certificate, tuple) else [client_certificate])
            )
        return context

    def _proxy(self, address: str, config: Any) -> Proxy | None:
        from botocore.httpsession import ProxyConfiguration
        from botocore.utils import get_environ_proxies

        settings = config.proxies_config or {}
        proxies = config.proxies if config.proxies is not None else get_environ_proxies(address)
        configured = ProxyConfiguration(proxies, settings)
        found = configured.proxy_url_for(address)
        if not found:
            return None
        if settings.get("proxy_use_forwarding_for_https"):
            raise StoreError("proxy_use_forwarding_for_https is not supported: requests to https go through a tunnel")
        url = urlsplit(found)
        tls = None
        if url.scheme == "https":
            tls = self._tls(settings.get("proxy_client_cert"))
            if settings.get("proxy_ca_bundle") is not None:
                tls.load_verify_locations(cafile=settings["proxy_ca_bundle"])
        head = "".join(f"{name}: {value}\r\n" for name, value in configured.proxy_headers_for(found).items())
        return Proxy(url.hostname or "", url.port or _PORTS[url.scheme], tls, head.encode("latin-1"))


def _tls_with(ca_bundle: str | None) -> ssl.SSLContext:
    """TLS as botocore has it: with a bundle of certificates, or those of certifi, or where there is none, its own."""
    if ca_bundle is None:
        try:
            from certifi import where

            ca_bundle = where()
        except ImportError:
            from botocore.httpsession import get_cert_path

            ca_bundle = get_cert_path(True)
    return ssl.create_default_context(cafile=ca_bundle)


def _host(address: str) -> str:
    """The Host header of an address: without its port, if that is the usual one."""
    url = urlsplit(address)
    host = url.netloc.rpartition("@")[2].lower()
    return host.removesuffix(f":{_PORTS[url.scheme]}")
