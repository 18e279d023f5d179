"""``System``: an application as the runtime knows it; ``Runtime``: what the systems of a process use.

    system = System("calls", "Calls", "...", design, router, service=lambda runtime: Calls(runtime.store))

A system has a design, a service (its use cases, without HTTP), a router (HTTP, without use cases), and perhaps
consumers, background work, demo data and screens. ``tablewright.systems`` lists the five that come with Tablewright;
``http.application`` makes an application of any of them.
"""

from __future__ import annotations

import asyncio
import difflib
import hmac
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from pydantic import SecretStr

from tablewright.model import Design, Table
from tablewright.runtime.aws_clients import client_problem, is_endpoint
from tablewright.runtime.http.rate_limit import RateLimit
from tablewright.runtime.identity import tokens
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Caller, Role
from tablewright.runtime.identity.deny_list import DenyList
from tablewright.runtime.identity.people import People
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.metrics import MeasuredBackend, Metrics
from tablewright.runtime.settings import PREFIX, Secrets, Settings
from tablewright.runtime.settings import SettingsError as SettingsError
from tablewright.store import AsyncStore, Backend, BlobStore, EmbeddedBackend, Store, StoreError, blob_store_of

if TYPE_CHECKING:
    from email.headerregistry import Address

    from fastapi import APIRouter

    from tablewright.engine import Engine
    from tablewright.runtime.background.consumer_threads import ConsumerSpec, ConsumerThreads
    from tablewright.runtime.identity.local_issuer import LocalIssuer
    from tablewright.runtime.mail import event_mail, mail_transport
    from tablewright.runtime.privacy.privacy import Privacy
    from tablewright.runtime.search.search import Search
    from tablewright.runtime.search.searchable import Searchable

OnProgress = Callable[[str, int, int], None]
"""Called with progress: what is being done, how much is done, and the total."""


@dataclass(frozen=True, slots=True)
class DemoUser:
    """A demo user of a system: the start page has a ready-made token for each."""

    user_id: str
    roles: tuple[Role, ...]
    about: str
    email: str | None = None


class Background(Protocol):
    """Work besides requests and consumers: started with the application, and stopped before it ends.

    ``stop`` is called twice: while the last requests are served, and after the last one.
    """

    def start(self) -> None: ...

    def stop(self) -> None: ...


@runtime_checkable
class Periodic(Background, Protocol):
    """Background work in turns. In a process, a thread of its own runs them; in a deployment, a schedule does."""

    name: str
    # How long after a turn the next one is due, at most; a schedule has whole minutes.
    every: timedelta
    # The role of the design, the consumer, or maintenance, whose policy it needs.
    role: str

    def turn(self, is_stopped: Callable[[], bool]) -> None:
        """Do the work that is due, and return soon after ``is_stopped`` returns True."""


@dataclass(frozen=True, slots=True)
class System:
    """An application: a design, a service, a router, and the roles that its routes are for.

    ``name`` is the first segment of its paths, ``title`` and ``about`` are shown on its pages. ``service`` creates the
    object that routes get from ``http.dependencies.service_of``; ``consumers`` and ``background`` declare what runs
    besides requests, and ``demo`` fills empty tables.
    """

    name: str
    title: str
    about: str
    design: Design
    router: APIRouter
    # Called once for each application.
    service: Callable[[Runtime], Any]
    roles: Sequence[Role] = ()
    # For a system with users of its own: given its service and a caller, the caller with the roles that count there.
    admit: Callable[[Any, Caller], Awaitable[Caller]] | None = None
    consumers: Callable[[Runtime, Any], Sequence[ConsumerSpec]] = lambda runtime, service: ()
    background: Callable[[Runtime, Any], Sequence[Background]] = lambda runtime, service: ()
    # Writes demo data into empty tables.
    demo: Callable[[Runtime, Any, OnProgress], Awaitable[None]] | None = None
    demo_users: Sequence[DemoUser] = ()
    # Further ids by which the system knows a person, such as a hash of a phone number.
    identities: Callable[[Runtime, str], Sequence[str]] = lambda runtime, person: ()
    # What can be found by a search, and by whom.
    search: Sequence[Searchable] = ()
    # The module whose ``app`` (a ``tablewright.ui.Application``) has its screens; imported where screens are shown.
    screens: str | None = None

    @property
    def tables(self) -> tuple[Table, ...]:
        return self.design.tables

    @property
    def tables_with_blobs(self) -> list[Table]:
        return [*dict.fromkeys(schema.table for schema in self.design.schemas if schema.large)]

    def background_work(self, runtime: Runtime, service: Any) -> list[Background]:
        """Its own background work, and what every system with large values has."""
        found = [*self.background(runtime, service)]
        if runtime.has_blobs and (tables := self.tables_with_blobs):
            from tablewright.runtime.background.orphan_collector import OrphanCollector

            found.append(OrphanCollector(self.name, runtime.maintenance_store, tables))
        return found


@dataclass
class Runtime:
    """What the systems of a process use: settings, stores, metrics, tokens, mail.

    ``Runtime.open(settings, systems)`` opens the embedded engine, or connects to the endpoint; ``close`` ends it. Parts
    that not every process needs (mail, search, privacy) are created on first use, so that a function starts faster.
    """

    settings: Settings
    systems: Sequence[System]
    store: AsyncStore
    # The same data by blocking calls, for work in threads.
    sync_store: Store
    # The same again with the credentials of consumers and of maintenance, if those have profiles of their own.
    consumer_store: Store
    maintenance_store: Store
    metrics: Metrics
    secrets: Secrets
    verifier: tokens.Verifier
    issuer: LocalIssuer | None
    limit: RateLimit
    deny_list: DenyList
    # Who may sign in, with which roles.
    people: People
    clock: Callable[[], float] = time.time
    # Whether there is a blob store for large values.
    has_blobs: bool = False
    # Whether this is a function, which exists only while it is called: nothing goes on beside requests.
    is_function: bool = False
    # Whether this process serves the screens of the applications.
    has_screens: bool = False
    # Whether the tables have been made, or found, by this process.
    is_prepared: bool = False
    # The consumers that this process runs; None until its application is made.
    consumers: ConsumerThreads | None = field(default=None, repr=False)
    # Called with the address of this process as soon as it listens.
    on_listening: list[Callable[[str], None]] = field(default_factory=list, repr=False)
    # Set, on the event loop, as soon as the process begins to stop: responses without an end have to end then.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    # The embedded engine, and what uses it beside the stores and has to end before it.
    engine: Engine | None = field(default=None, repr=False)
    # Nobody else has sent mail since then, on an engine of one's own.
    opened_at: datetime = field(init=False)
    users_of_engine: ExitStack = field(default_factory=ExitStack, repr=False)

    def __post_init__(self) -> None:
        self.opened_at = self.now()

    @classmethod
    def open(
        cls,
        settings: Settings,
        systems: Sequence[System],
        *,
        clock: Callable[[], float] = time.time,
        accept_loss: bool = False,
        is_function: bool = False,
    ) -> Self:
        """Open everything; raises SettingsError, or the engine's StorageError, if that fails."""
        if settings.endpoint is not None and not is_endpoint(settings.endpoint):
            raise SettingsError("give the endpoint of DynamoDB as http://host:port or https://host")
        if settings.relocate_to is not None and settings.is_embedded:
            raise SettingsError(
                f"{PREFIX}RELOCATE_TO is for an endpoint: serve the data folder with tablewright serve first"
            )
        for name in ("consumer_profile", "maintenance_profile"):
            if settings.is_embedded and getattr(settings, name) is not None:
                raise SettingsError(
                    f"{PREFIX}{name.upper()} is for an endpoint: the embedded engine has no credentials"
                )
        _import(settings.extensions)
        if settings.mode == "production" and not settings.is_embedded:
            _check_shared(settings)
        _check_roles(settings, systems)
        secrets = Secrets(None if settings.memory else settings.data)
        issuer, verifier = _identity(settings, secrets, clock)
        if not is_function:
            # Now, and not with the first mail; most functions send none.
            _transport(settings)
            _sender(settings)
        metrics = Metrics()
        engine: Engine | None = None
        if settings.is_embedded:
            from tablewright.engine import Engine

            folder = None if settings.memory else settings.data
            engine = Engine.open(folder, clock=clock, accept_loss=accept_loss)
            plain: Backend = EmbeddedBackend(engine, owned=False)
        else:
            plain = _endpoint(settings)
        backend = MeasuredBackend(plain, metrics)
        tables = [events_table, internal_table, *(table for system in systems for table in system.tables)]
        options: dict[str, Any] = {
            "clock": clock,
            "cursor_secret": _secret(settings, secrets, "cursor_secret"),
            "table_names": {table.name: settings.name_of(table) for table in tables},
            "on_capacity": metrics.on_capacity,
            "blobs": _blobs(settings, engine),
        }
        sync_store = Store(backend, **options)

        def store_with(profile: str | None) -> Store:
            return (
                sync_store
                if profile is None
                else Store(MeasuredBackend(_endpoint(settings, profile), metrics), **options)
            )

        store = AsyncStore(backend, **options)
        maintenance_store = store_with(settings.maintenance_profile)
        deny_list = DenyList(store)
        known_roles = [role.name for system in systems for role in system.roles]
        runtime = cls(
            settings=settings,
            systems=systems,
            store=store,
            sync_store=sync_store,
            consumer_store=store_with(settings.consumer_profile),
            maintenance_store=maintenance_store,
            metrics=metrics,
            secrets=secrets,
            verifier=verifier,
            issuer=issuer,
            limit=RateLimit(settings.rate_limit, settings.rate_burst),
            deny_list=deny_list,
            people=People(
                store,
                deny_list,
                [*known_roles, RUNTIME_ADMINS.name],
                clock,
                lambda: runtime.app_url,
                settings.mail_language,
            ),
            clock=clock,
            has_blobs=options["blobs"] is not None,
            is_function=is_function,
            engine=engine,
        )
        return runtime

    @cached_property
    def mailer(self) -> event_mail.Mailer:
        """Sends mail about events, each once."""
        from tablewright.runtime.mail.event_mail import Mailer

        return Mailer(
            self.sync_store,
            _transport(self.settings),
            _sender(self.settings),
            count=lambda outcome: self.metrics.mail.labels(outcome).inc(),
            clock=self.now,
            sole_sender_since=self.opened_at if self.settings.is_embedded else None,
        )

    @cached_property
    def search(self) -> Search:
        """The full-text index of the systems."""
        from tablewright.runtime.search.search import Search

        searched = {system.name: system.search for system in self.systems}
        return Search(self.settings, self.store, self.maintenance_store, searched)

    @cached_property
    def privacy(self) -> Privacy:
        """Personal data across the systems."""
        from tablewright.runtime.privacy.privacy import Privacy

        return Privacy(
            self.maintenance_store,
            {**{system.name: system.tables for system in self.systems}, "runtime": self.internal_tables},
            lambda person: [each for system in self.systems for each in system.identities(self, person)],
            lambda: self.privacy_secret,
            self.clock,
            alone=self.settings.is_embedded,
        )

    @property
    def internal_tables(self) -> list[Table]:
        """The runtime's own tables that the systems use; that of events only if any of them publishes events."""
        used = {table for system in self.systems for table in system.design.internal_tables}
        return [table for table in (events_table, internal_table) if table is internal_table or table in used]

    @property
    def privacy_secret(self) -> bytes:
        """The key of the hashes that replace personal data."""
        return _secret(self.settings, self.secrets, "privacy_secret")

    @property
    def session_secret(self) -> bytes:
        """The key that signs the cookies of users who signed in to the applications."""
        return _secret(self.settings, self.secrets, "session_secret")

    @property
    def webhook_secret(self) -> bytes:
        """The key that signs webhooks."""
        return _secret(self.settings, self.secrets, "webhook_secret")

    @property
    def public_url(self) -> str | None:
        """The public address of the systems; in development, that of this machine."""
        settings = self.settings
        if settings.public_url is not None or settings.mode == "production":
            return settings.public_url
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        return f"http://{host}:{settings.port}"

    @property
    def app_url(self) -> str | None:
        """The address of the applications, for links in mail; None if there are none, or their port is not known."""
        settings = self.settings
        if not self.has_screens or self.public_url is None or (settings.public_url is None and settings.port == 0):
            return None
        return f"{self.public_url.rstrip('/')}/app"

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)

    def close(self) -> None:
        self.users_of_engine.close()
        if "search" in self.__dict__:
            self.search.close()
        stores = (self.sync_store, self.consumer_store, self.maintenance_store)
        for store in {id(store): store for store in stores}.values():
            store.close()
        if self.engine is not None:
            self.engine.close()


def _check_roles(settings: Settings, systems: Sequence[System]) -> None:
    """A role that is spelled wrong would open nothing; those of systems that do not run here are not known."""
    known = [role.name for system in systems for role in system.roles]
    names = {system.name for system in systems}
    for role in sorted({role for roles in settings.roles.values() for role in roles} - {*known}):
        if role.partition(":")[0] in names:
            near = difflib.get_close_matches(role, known, 1, 0)
            raise SettingsError(f"TABLEWRIGHT_ROLES: there is no role {role}; did you mean {' or '.join(near)}?")


def _endpoint(settings: Settings, profile: str | None = None) -> Backend:
    from tablewright.store import EndpointBackend

    options = {} if profile is None else {"profile_name": profile}
    region, place = settings.region or "us-east-1", settings.relocate_to
    try:
        backend = EndpointBackend(region, settings.endpoint, options)
        if place is None:
            return backend
        from tablewright.store import SwitchedBackend

        if is_endpoint(place):
            return SwitchedBackend(backend, EndpointBackend(region, place, options))
        return SwitchedBackend(backend, EndpointBackend(place.partition(":")[2] or None, None, options))
    except StoreError as error:
        raise SettingsError(str(error)) from None


def _check_shared(settings: Settings) -> None:
    """Secrets that each process made for itself would differ: hashes, cursors and signatures would not match."""
    if settings.master_secret is not None:
        return
    shared = {name: getattr(settings, name) for name in ("cursor_secret", "privacy_secret", "webhook_secret")}
    missing = [f"{PREFIX}{name.upper()}" for name, secret in shared.items() if secret is None]
    if missing:
        raise SettingsError(f"processes in production have to share their secrets: set {' and '.join(missing)}")


def _blobs(settings: Settings, engine: Engine | None) -> BlobStore | None:
    """Where large values go: a bucket, or a folder, which in production only the embedded engine may have.

    Processes on several machines would not find each other's files.
    """
    from tablewright.store import FolderBlobStore, S3BlobStore

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


def _secret(settings: Settings, secrets: Secrets, name: str) -> bytes:
    """A secret by its name: as it is set, or from the one that all are derived from, or of the data folder."""
    given: SecretStr | None = getattr(settings, name)
    if given is not None:
        return given.get_secret_value().encode()
    if settings.master_secret is not None:
        # One way, so that who knows one of them knows none of the others.
        key = settings.master_secret.get_secret_value().encode()
        return hmac.digest(key, f"tablewright {name}".encode(), "sha256").hex().encode()
    return secrets.get(name).encode()


def _identity(
    settings: Settings, secrets: Secrets, clock: Callable[[], float]
) -> tuple[LocalIssuer | None, tokens.Verifier]:
    roles = settings.roles
    if settings.issuer is not None:
        if settings.audience is None:
            raise SettingsError(
                "an issuer needs an audience: set TABLEWRIGHT_AUDIENCE to the client id that tokens are issued for"
            )
        url = settings.jwks_url
        fetch = tokens.keys_of(settings.issuer) if url is None else tokens.keys_at(url)
        return None, tokens.Verifier(
            settings.issuer, settings.audience, fetch, roles=roles, groups_claim=settings.groups_claim, clock=clock
        )
    if settings.mode == "production":
        raise SettingsError("production needs an issuer of tokens: set TABLEWRIGHT_ISSUER and TABLEWRIGHT_AUDIENCE")
    from tablewright.runtime.identity import local_issuer

    issuer = local_issuer.LocalIssuer(secrets, clock)
    audience = local_issuer.AUDIENCE
    return issuer, tokens.Verifier(local_issuer.ISSUER, audience, issuer.keys, roles=roles, clock=clock)


def _transport(settings: Settings) -> mail_transport.Transport:
    from tablewright.runtime.mail import mail_transport

    if settings.ses or settings.event_bus is not None:
        problem = client_problem(settings.region, settings.aws_endpoint)
        if problem is not None:
            raise SettingsError(problem)
    if settings.ses:
        return mail_transport.SesTransport(
            settings.region, settings.aws_endpoint, configuration_set=settings.ses_configuration_set
        )
    if settings.smtp_url is not None:
        try:
            return mail_transport.SmtpTransport(settings.smtp_url.get_secret_value(), verify=settings.smtp_verify)
        except ValueError as error:
            raise SettingsError(f"TABLEWRIGHT_SMTP_URL: {error}") from None
    return mail_transport.FolderTransport(settings.mail_folder or _mail_folder(settings))


def _sender(settings: Settings) -> Address:
    from tablewright.runtime.mail import event_mail

    try:
        return event_mail.sender_from(settings.mail_from)
    except ValueError as error:
        raise SettingsError(f"TABLEWRIGHT_MAIL_FROM: {error}") from None


def _mail_folder(settings: Settings) -> Path:
    return settings.data / "mail"
