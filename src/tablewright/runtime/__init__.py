"""What a service needs around a store: settings, identity, HTTP, events, mail, consumers, metrics.

    settings            Settings, from the environment and a file; Secrets of a data folder
    system              System: an application as the runtime knows it; Runtime: what the systems of a process use
    errors              what services raise, without HTTP
    idempotency         requests that have an effect once
    audit               who changed what and when, written with the change
    entity_tags         ETags: a change is made only if the entity is still as the caller saw it
    internal_tables     the tables of the runtime itself
    start_up            the start of a process, with garbage collection off
    table_readiness     whether the tables of systems can be read
    metrics, logs       for Prometheus; lines of JSON
    http/               application, gate, routes, conditional requests, problems, admin routes, pages, the server
    background/         stream consumers, each in a thread; work in turns, such as the collection of orphans
    identity/           roles and who may make which call; tokens; the deny list; an issuer for development
    events/             from streams to subscribers; EventBridge
    mail/               messages about events, and transports that send them
    search/             the full-text index that consumers keep, and searches with the rights of the caller
    privacy/            personal data across the systems: found, exported, erased
    admin/              routes for those who run the systems: people, personal data, search

The names below are what a system and a command use; they are loaded on first use, as a command that only prints its
settings needs no FastAPI.
"""

from typing import TYPE_CHECKING

from tablewright.lazy_names import lazy_names

__all__ = [
    "UNSEEN",
    "Background",
    "Call",
    "Caller",
    "Changing",
    "ConsumerSpec",
    "Cursor",
    "DemoUser",
    "Event",
    "Forbidden",
    "Grant",
    "Idempotency",
    "IdempotencyKey",
    "Invalid",
    "Limit",
    "Mailer",
    "Message",
    "Metrics",
    "OnProgress",
    "Periodic",
    "PreconditionFailed",
    "Public",
    "Reading",
    "ResourceNotFound",
    "Responder",
    "Role",
    "Runtime",
    "Seen",
    "ServiceProblem",
    "ServiceUnavailable",
    "Settings",
    "SettingsError",
    "StateConflict",
    "System",
    "TooLarge",
    "TooManyRequests",
    "Unauthenticated",
    "allow",
    "allowed",
    "application",
    "calls_of",
    "documented",
    "publisher",
    "runtime_of",
    "service_of",
]

if TYPE_CHECKING:
    from tablewright.runtime.background.consumer_threads import ConsumerSpec
    from tablewright.runtime.entity_tags import UNSEEN, Seen
    from tablewright.runtime.errors import (
        Forbidden,
        Invalid,
        PreconditionFailed,
        ResourceNotFound,
        ServiceProblem,
        ServiceUnavailable,
        StateConflict,
        TooLarge,
        TooManyRequests,
        Unauthenticated,
    )
    from tablewright.runtime.events.event_log import Event, publisher
    from tablewright.runtime.http.application import application
    from tablewright.runtime.http.conditional_requests import Changing, Reading
    from tablewright.runtime.http.declared_calls import calls_of
    from tablewright.runtime.http.dependencies import (
        Cursor,
        IdempotencyKey,
        Limit,
        Public,
        allow,
        runtime_of,
        service_of,
    )
    from tablewright.runtime.http.problems import documented
    from tablewright.runtime.idempotency import Idempotency, Responder
    from tablewright.runtime.identity.access import Call, Caller, Grant, Role, allowed
    from tablewright.runtime.mail.event_mail import Mailer, Message
    from tablewright.runtime.metrics import Metrics
    from tablewright.runtime.settings import Settings, SettingsError
    from tablewright.runtime.system import Background, DemoUser, OnProgress, Periodic, Runtime, System
else:
    __getattr__ = lazy_names(
        globals(),
        {
            "background.consumer_threads": ("ConsumerSpec",),
            "entity_tags": ("Seen", "UNSEEN"),
            "errors": (
                "Forbidden",
                "Invalid",
                "PreconditionFailed",
                "ResourceNotFound",
                "ServiceProblem",
                "ServiceUnavailable",
                "StateConflict",
                "TooLarge",
                "TooManyRequests",
                "Unauthenticated",
            ),
            "events.event_log": ("Event", "publisher"),
            "http.application": ("application",),
            "http.conditional_requests": ("Changing", "Reading"),
            "http.declared_calls": ("calls_of",),
            "http.dependencies": ("Cursor", "IdempotencyKey", "Limit", "Public", "allow", "runtime_of", "service_of"),
            "http.problems": ("documented",),
            "idempotency": ("Idempotency", "Responder"),
            "identity.access": ("Call", "Caller", "Grant", "Role", "allowed"),
            "mail.event_mail": ("Mailer", "Message"),
            "metrics": ("Metrics",),
            "settings": ("Settings", "SettingsError"),
            "system": ("Background", "DemoUser", "OnProgress", "Periodic", "Runtime", "System"),
        },
    )
