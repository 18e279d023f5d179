"""A mail server to receive what is sent."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Received:
    """A message that was accepted, with its envelope."""

    sender: str
    recipients: list[str]
    message: EmailMessage
    # Whether it came over TLS.
    encrypted: bool = False

    @property
    def recipient(self) -> str:
        assert len(self.recipients) == 1
        return self.recipients[0]

    @property
    def message_id(self) -> str:
        return str(self.message["Message-ID"])

    @property
    def text(self) -> str:
        return str(self.message.get_content())


@dataclass
class MailServer:
    """On a port of its own, which it keeps when it is stopped and started again."""

    port: int = field(default_factory=free_port)
    received: list[Received] = field(default_factory=list)
    # The recipients that were named, whether they were accepted or not.
    asked: list[str] = field(default_factory=list)
    # Answers other than 250, by what they are an answer to: an address, MAIL, or DATA. An empty one ends the session.
    answers: dict[str, str] = field(default_factory=dict)
    # Called when a recipient was named, and when a message has been accepted, before that is said.
    on_asked: Callable[[], object] = lambda: None
    on_accept: Callable[[], None] = lambda: None
    # With this, it offers STARTTLS, or has TLS from the start.
    tls: ssl.SSLContext | None = None
    implicit_tls: bool = False
    # With this, it wants a login, and lets nobody log in without TLS.
    login: tuple[bytes, bytes] | None = None
    _controller: Controller | None = None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def to(self, address: str) -> list[Received]:
        return [each for each in self.received if each.recipient == address]

    def start(self) -> MailServer:
        options: dict[str, Any] = {}
        if self.tls is not None:
            options["ssl_context" if self.implicit_tls else "tls_context"] = self.tls
        if self.login is not None:
            options |= {"authenticator": self._admit, "auth_required": True}
        self._controller = Controller(_Handler(self), hostname="127.0.0.1", port=self.port, **options)
        self._controller.start()
        return self

    def stop(self) -> None:
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    def __enter__(self) -> MailServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _admit(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=(data.login, data.password) == self.login, handled=False)


class _Handler:
    def __init__(self, server: MailServer) -> None:
        self._server = server

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self._server.answers.get("MAIL", "250 OK")

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self._server.answers.get(address, "250 OK")
        self._server.asked.append(address)
        self._server.on_asked()
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        if not answer:
            assert server.transport is not None
            server.transport.close()
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        answer = self._server.answers.get("DATA", "250 OK")
        if answer.startswith("250"):
            content = envelope.content
            assert isinstance(content, bytes)
            message = message_from_bytes(content, policy=default)
            assert isinstance(message, EmailMessage)
            encrypted = session.ssl is not None or self._server.implicit_tls
            self._server.received.append(Received(envelope.mail_from or "", envelope.rcpt_tos, message, encrypted))
            self._server.on_accept()
        return answer
