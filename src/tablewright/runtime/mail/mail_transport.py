"""Mail transports: a mail server, Amazon SES, or a folder of .eml files if neither is set.

Unavailable   no mail can be sent now: the server cannot be reached, or a password or a sender has to be fixed
Deferred      this message is not accepted now, because of its recipient: others may be
MailRefused   this message will never be accepted, because of its recipient or its contents
"""

from __future__ import annotations

import os
import re
import smtplib
import ssl
import time
from collections.abc import Sequence
from email.message import EmailMessage
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from tablewright.durable_files import sync_path
from tablewright.runtime.aws_clients import client, transient
from tablewright.store import Unavailable

# What other packages use.
__all__ = ["Deferred"]

# How long sending a message may take; a claim on it lasts longer (see ``event_mail``).
SENT_WITHIN = 30.0
_QUIT_WITHIN = 2.0
# Characters of a response that are kept.
_MAX_RESPONSE = 300
# The server requires a login, or the login failed: not the recipient's fault.
_LOGIN_CODES = frozenset({530, 534, 535, 538})

# The tag of a message that names its record, and what SES takes for the value of a tag.
RECORD_TAG = "tablewright-record"
_TAG = re.compile(r"[A-Za-z0-9_.@-]{1,256}")


class MailRefused(Exception):
    """A message that will never be accepted; the text is the server's code."""


class Deferred(Unavailable):
    """One recipient cannot get mail at the moment, such as one whose mailbox is full; others may."""


class Transport(Protocol):
    """Sends messages to one recipient each.

    Raises Unavailable (or Deferred) for errors worth a retry, and MailRefused for others.
    """

    def send(self, message: EmailMessage) -> None: ...


class SmtpTransport:
    """A mail server: ``smtp://host:port``, with TLS where the server offers it (STARTTLS), or ``smtps://``, with TLS
    from the start.

    With ``user:password@`` it logs in, never without TLS. Certificates are verified, unless ``verify`` is False.
    """

    def __init__(self, url: str, *, verify: bool = True) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            # The error would quote what it takes for a port, such as a password with a slash in it.
            parts, host, port = urlsplit(""), None, None
        beyond = parts.path.strip("/") + parts.query + parts.fragment
        if parts.scheme not in ("smtp", "smtps") or not host or beyond:
            raise ValueError(
                "give the mail server as smtp://host:port or smtps://host:port; percent-encode all characters of a "
                "user name or a password except letters and digits (%2F for a slash)"
            )
        self._secure = parts.scheme == "smtps"
        self._verify = verify
        self._host = host
        self._port = port or (465 if self._secure else 25)
        self._user = unquote(parts.username or "")
        self._password = unquote(parts.password or "")
        # Our own host name, which takes a lookup; kept from the first session.
        self._name: str | None = None

    def send(self, message: EmailMessage) -> None:
        try:
            server = self._connect()
        except (smtplib.SMTPException, OSError) as error:
            raise Unavailable(f"the mail server cannot be used ({_describe(error)})") from error
        try:
            server.send_message(message, sender_of(message), [recipient_of(message)])
        except smtplib.SMTPRecipientsRefused as error:
            server.close()
            raise _outcome(*next(iter(error.recipients.values())), recipient_of(message)) from error
        except smtplib.SMTPDataError as error:
            server.close()
            raise _outcome(error.smtp_code, error.smtp_error, recipient_of(message)) from error
        except (smtplib.SMTPException, OSError) as error:
            server.close()
            # A server that ends the session whenever a certain recipient is named still takes the mail of others.
            kind = Deferred if server.has_named_recipient else Unavailable
            raise kind(f"the mail server did not accept the message ({_describe(error)})") from error
        # The server has accepted the message, whatever becomes of the session.
        server.quit_in_time()

    def _connect(self) -> _Session:
        context = self._tls()
        if self._secure:
            server: _Session = _SecureSession(
                self._host, self._port, local_hostname=self._name, timeout=SENT_WITHIN, context=context
            )
        else:
            server = _Session(self._host, self._port, local_hostname=self._name, timeout=SENT_WITHIN)
        try:
            self._name = server.local_hostname
            server.ehlo_or_helo_if_needed()
            if not self._secure and (self._user or server.has_extn("starttls")):
                server.starttls(context=context)
            if self._user:
                server.login(self._user, self._password)
        except BaseException:
            server.close()
            raise
        return server

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if not self._verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


class _Session(smtplib.SMTP):
    """A session with a time limit, however slowly the server responds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._ends_at = time.monotonic() + SENT_WITHIN
        # Whether what goes wrong may be because of the recipient.
        self.has_named_recipient = False
        super().__init__(*args, **options)

    def rcpt(self, recip: str, options: Sequence[str] = ()) -> tuple[int, bytes]:
        self.has_named_recipient = True
        return super().rcpt(recip, options)

    def send(self, s: Any) -> None:
        self._limit_time()
        super().send(s)

    def getreply(self) -> tuple[int, bytes]:
        self._limit_time()
        return super().getreply()

    def quit_in_time(self) -> None:
        self._ends_at = time.monotonic() + _QUIT_WITHIN
        try:
            self.quit()
        except (smtplib.SMTPException, OSError):
            self.close()

    def _limit_time(self) -> None:
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if self.sock is not None:
            self.sock.settimeout(left)


class _SecureSession(_Session, smtplib.SMTP_SSL):
    pass


def _outcome(code: int, response: bytes | str, recipient: str) -> Exception:
    """What a response means that was given to a recipient, or to the message for her."""
    if code in _LOGIN_CODES:
        return Unavailable(f"the mail server responded with {code}")
    text = response.decode(errors="replace") if isinstance(response, bytes) else response
    # One line without the address, which the server may quote.
    line = re.sub(re.escape(recipient), "the recipient", " ".join(text.split()), flags=re.IGNORECASE)
    reply = f"{code} {''.join(filter(str.isprintable, line))}".strip()[:_MAX_RESPONSE]
    return MailRefused(reply) if 500 <= code < 600 else Deferred(reply)


def _describe(error: Exception) -> str:
    """The code or type of an error, without the server's text, which may quote an address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}; see the setting smtp_verify"
    return str(error.smtp_code) if isinstance(error, smtplib.SMTPResponseException) else type(error).__name__


class FolderTransport:
    """A folder of .eml files, for development: a message that is sent again replaces the earlier file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, message: EmailMessage) -> None:
        name = sha256(str(message["Message-ID"]).encode()).hexdigest()[:40]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft = self._folder / f".{name}.draft"
            with open(draft, "wb") as file:
                file.write(message.as_bytes())
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._folder / f"{name}.eml")
            sync_path(self._folder)
        except OSError as error:
            raise Unavailable(f"mail cannot be written to its folder ({type(error).__name__})") from error


class SesTransport:
    """Amazon SES, which replaces our Message-ID with its own; its parts are also in a tag, which bounces include."""

    def __init__(
        self, region: str | None, endpoint: str | None = None, *, configuration_set: str | None = None
    ) -> None:
        """``configuration_set`` is SES's: how mail is sent, and where bounces go; by default that of the sender."""
        self._place = region, endpoint
        self._more = {} if configuration_set is None else {"ConfigurationSetName": configuration_set}

    @cached_property
    def _client(self) -> Any:
        return client("ses", *self._place)

    def send(self, message: EmailMessage) -> None:
        from botocore.exceptions import ClientError

        sender, recipient = sender_of(message), recipient_of(message)
        try:
            with transient("SES"):
                self._client.send_raw_email(
                    Source=sender,
                    Destinations=[recipient],
                    RawMessage={"Data": message.as_bytes()},
                    Tags=[{"Name": RECORD_TAG, "Value": name}] if _TAG.fullmatch(name := _record_of(message)) else [],
                    **self._more,
                )
        except ClientError as error:
            code = str(error.response["Error"]["Code"])
            text = str(error.response["Error"].get("Message", "")).lower()
            # It names the identities that are not verified: the sender can be verified, but a recipient cannot.
            named = set(re.findall(r"[^\s,;:]+@[^\s,;:]+", text))
            if sender.lower() in named or ("not verified" in text and recipient.lower() not in named):
                raise Unavailable("the sender is not a verified identity in SES; verify it") from error
            raise MailRefused(code) from error


def _record_of(message: EmailMessage) -> str:
    """The record of a message: event and recipient, as its Message-ID has them."""
    return str(message["Message-ID"]).strip().strip("<>").rpartition("@")[0]


def sender_of(message: EmailMessage) -> str:
    return str(message["From"].addresses[0].addr_spec)


def recipient_of(message: EmailMessage) -> str:
    return str(message["To"].addresses[0].addr_spec)
