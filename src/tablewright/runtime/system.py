"""What a system is to the runtime, and what the runtime is to a system.

    system = System("calls", "Calls", "...", design, router, service=lambda runtime: Calls(runtime.store))

A system has a design, a service (its use cases, without HTTP), a router (HTTP, without use cases), and perhaps
consumers and demo data. ``Runtime`` holds what they stand on. ``tablewright.systems`` lists the systems; the
application is made of any of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from tablewright.engine import Engine
from tablewright.model import Design, Table
from tablewright.runtime import aws_clients
from tablewright.runtime.consumer_threads import Consuming
from tablewright.runtime.http.rate_limit import RateLimit
from tablewright.runtime.identity import local_issuer, tokens
from tablewright.runtime.identity.tokens import Caller
from tablewright.runtime.internal_tables import events_table, notes_table
from tablewright.runtime.mail import event_mail, mail_transport
from tablewright.runtime.metrics import MeasuredBackend, Metrics
from tablewright.runtime.settings import PREFIX, Secrets, Settings
from tablewright.runtime.settings import SettingsError as SettingsError
from tablewright.store import (
    AsyncStore,
    Backend,
    BlobStore,
    BotocoreBackend,
    EmbeddedBackend,
    FolderBlobStore,
    S3BlobStore,
    Store,
    blob_store_of,
)

if TYPE_CHECKING:
    from fastapi import APIRouter

# Told how far something is: (what, done, of how many).
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class DemoUser:
    """Somebody to try a system as: a ready-made token is shown for each."""

    user_id: str
    groups: tuple[str, ...]
    about: str
    email: str | None = None


class Background(Protocol):
    """Work that goes on beside requests and consumers: started with the application, and stopped before it ends.

    It is told to stop twice: when the last requests are still being answered, and when there are none.
    """

    def start(self) -> None: ...

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class System:
    """One system."""

    name: str
    title: str
    about: str
    design: Design
    router: APIRouter
    # Made once for each application; routes find it by ``runtime.dependencies.service_of``.
    service: Callable[[Runtime], Any]
    # Of a system with users of its own: the caller with the groups that count, given its service; Forbidden for one who
    # was shut out. What the runtime shows of all systems is for those whom each of them admits.
    admit: Callable[[Any, Caller], Awaitable[Caller]] | None = None
    consumers: Callable[[Runtime, Any], Sequence[Consuming]] = lambda runtime, service: ()
    background: Callable[[Runtime, Any], Sequence[Background]] = lambda runtime, service: ()
    # Fills an empty store with something to look at.
    demo: Callable[[Runtime, Any, Tell], Awaitable[None]] | None = None
    demo_users: Sequence[DemoUser] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        return self.design.tables


@dataclass(slots=True)
class Runtime:
    """What systems stand on."""

    settings: Settings
    store: AsyncStore
    # The same data, for consumers and commands, which run in threads.
    blocking: Store
    metrics: Metrics
    secrets: Secrets
    verifier: tokens.Verifier
    issuer: local_issuer.LocalIssuer | None
    mailer: event_mail.Mailer
    limit: RateLimit
    clock: Callable[[], float] = time.time
    # Whether there is a place for large values outside of their items.
    has_blobs: bool = False
    # Set, on the loop, as soon as the process begins to stop: an answer without an end ends then.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _engine: Engine | None = field(default=None, repr=False)

    @classmethod
    def open(cls, settings: Settings, systems: Sequence[System], *, clock: Callable[[], float] = time.time) -> Self:
        """Open everything; SettingsError, or the engine's StorageError, when that is not possible."""
        if settings.endpoint is not None and not aws_clients.is_endpoint(settings.endpoint):
            raise SettingsError("the endpoint of a DynamoDB is given as http://host:port or https://host")
        _import(settings.extensions)
        if settings.mode == "production" and not settings.is_embedded:
            _check_shared(settings)
        secrets = Secrets(None if settings.memory else settings.data)
        issuer, verifier = _identity(settings, secrets, clock)
        carrier, sender = _carrier(settings), _sender(settings)
        metrics = Metrics()
        engine: Engine | None = None
        if settings.is_embedded:
            engine = Engine.open(None if settings.memory else settings.data, clock=clock)
            plain: Backend = EmbeddedBackend(engine, owned=False)
        else:
            plain = BotocoreBackend(settings.region or "us-east-1", settings.endpoint, {})
        backend = MeasuredBackend(plain, metrics)
        tables = [events_table, notes_table, *(table for system in systems for table in system.tables)]
        options: dict[str, Any] = {
            "clock": clock,
            "cursor_secret": _secret(settings.cursor_secret, secrets, "cursor_secret"),
            "table_names": {table.name: settings.name_of(table) for table in tables},
            "on_capacity": metrics.on_capacity,
            "blobs": _blobs(settings, engine),
        }
        blocking = Store(backend, **options)
        mailer = event_mail.Mailer(
            blocking,
            carrier,
            sender,
            count=lambda outcome: metrics.mail.labels(outcome).inc(),
            clock=lambda: datetime.fromtimestamp(clock(), UTC),
            alone_since=datetime.fromtimestamp(clock(), UTC) if settings.is_embedded else None,
        )
        return cls(
            settings=settings,
            store=AsyncStore(backend, **options),
            blocking=blocking,
            metrics=metrics,
            secrets=secrets,
            verifier=verifier,
            issuer=issuer,
            mailer=mailer,
            limit=RateLimit(settings.rate_limit, settings.rate_burst),
            clock=clock,
            has_blobs=options["blobs"] is not None,
            _engine=engine,
        )

    @property
    def privacy_secret(self) -> bytes:
        """The key of hashes that stand for personal data."""
        return _secret(self.settings.privacy_secret, self.secrets, "privacy_secret")

    @property
    def webhook_secret(self) -> bytes:
        """The key that signs webhooks."""
        return _secret(self.settings.webhook_secret, self.secrets, "webhook_secret")

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)

    def close(self) -> None:
        self.blocking.close()
        if self._engine is not None:
            self._engine.close()


def _check_shared(settings: Settings) -> None:
    """Made by each process for itself, they would not fit: callers not found, cursors not read, signatures unlike."""
    shared = {name: getattr(settings, name) for name in ("cursor_secret", "privacy_secret", "webhook_secret")}
    missing = [f"{PREFIX}{name.upper()}" for name, secret in shared.items() if secret is None]
    if missing:
        raise SettingsError(f"processes in production share secrets: set {' and '.join(missing)}")


def _blobs(settings: Settings, engine: Engine | None) -> BlobStore | None:
    """Where large values go: a bucket, or a folder, which in production only the embedded engine may have.

    Processes on several machines would not find each other's files.
    """
    if settings.blob_bucket is not None:
        return S3BlobStore(settings.blob_bucket, region=settings.region, endpoint=settings.aws_endpoint)
    if engine is not None:
        return blob_store_of(engine)
    return None if settings.mode == "production" else FolderBlobStore(settings.data / "blobs")


def _import(extensions: Sequence[str]) -> None:
    for name in extensions:
        try:
            import_module(name)
        except ImportError as error:
            raise SettingsError(f"TABLEWRIGHT_EXTENSIONS: {name} cannot be imported: {error}") from None


def _secret(given: Any, secrets: Secrets, name: str) -> bytes:
    text = given.get_secret_value() if given is not None else secrets.get(name)
    return str(text).encode()


def _identity(
    settings: Settings, secrets: Secrets, clock: Callable[[], float]
) -> tuple[local_issuer.LocalIssuer | None, tokens.Verifier]:
    scope = settings.service_scope
    if settings.issuer is not None:
        if settings.audience is None:
            raise SettingsError(
                "an issuer needs an audience: set TABLEWRIGHT_AUDIENCE to the client that tokens are for"
            )
        url = settings.jwks_url or settings.issuer.rstrip("/") + "/.well-known/jwks.json"
        fetch = tokens.keys_at(url)
        return None, tokens.Verifier(settings.issuer, settings.audience, fetch, service_scope=scope, clock=clock)
    if settings.mode == "production":
        raise SettingsError("production needs an issuer of tokens: set TABLEWRIGHT_ISSUER and TABLEWRIGHT_AUDIENCE")
    issuer = local_issuer.LocalIssuer(secrets, clock)
    audience = local_issuer.AUDIENCE
    return issuer, tokens.Verifier(local_issuer.ISSUER, audience, issuer.keys, service_scope=scope, clock=clock)


def _carrier(settings: Settings) -> mail_transport.Carrier:
    if settings.ses or settings.event_bus is not None:
        problem = aws_clients.problem_with(settings.region, settings.aws_endpoint)
        if problem is not None:
            raise SettingsError(problem)
    if settings.ses:
        return mail_transport.SesCarrier(settings.region, settings.aws_endpoint)
    if settings.smtp_url is not None:
        try:
            return mail_transport.SmtpCarrier(settings.smtp_url.get_secret_value())
        except ValueError as error:
            raise SettingsError(f"TABLEWRIGHT_SMTP_URL: {error}") from None
    return mail_transport.FolderCarrier(settings.mail_folder or _mail_folder(settings))


def _sender(settings: Settings) -> Address:
    try:
        return event_mail.sender_from(settings.mail_from)
    except ValueError as error:
        raise SettingsError(f"TABLEWRIGHT_MAIL_FROM: {error}") from None


def _mail_folder(settings: Settings) -> Path:
    return settings.data / "mail"
