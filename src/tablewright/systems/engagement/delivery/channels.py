"""Channel adapters: how a candidate is sent to a customer.

    email     a message to the address in the customer's attributes, through the runtime's mailer
    webhook   a signed POST, as standardwebhooks.com has it: webhook-id, webhook-timestamp, webhook-signature

A failure to send is one of these exceptions, by whom it concerns:

    AddressRefused    this customer's address, or this message, will never be accepted; others may be
    EndpointRefused   the receiver accepts no messages from us: a redirect, a wrong key, a deleted endpoint
    PolicyRefused     the settings do not allow it, or it cannot be sent as it is configured
    Deferred          this customer's mailbox accepts no mail at the moment
    Unavailable       the receiver is unavailable at the moment

The id of a delivery is the same in every attempt: it is the event of the Message-ID, and the ``webhook-id`` by which a
receiver recognizes a repetition. Refused mail that is sent again is a new message.
"""

from __future__ import annotations

import base64
import hmac
import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from string import Template
from typing import Annotated, Any, Protocol
from unicodedata import category

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tablewright.runtime import Event, Invalid
from tablewright.runtime.http.json_values import Said, in_json
from tablewright.runtime.mail import event_mail
from tablewright.runtime.mail.event_mail import DeadLettered
from tablewright.runtime.mail.mail_addresses import is_address
from tablewright.runtime.parameter_texts import message_of
from tablewright.store import Store, Unavailable
from tablewright.systems.engagement.configuration import EMAIL, WEBHOOK, Channel, CredentialHeaders, IsNumber, Web
from tablewright.systems.engagement.consent.unsubscribe_links import Subscription, UnsubscribeLinks
from tablewright.systems.engagement.delivery.outbound_http import Outbound, Refusal, Unanswered
from tablewright.systems.engagement.model import Candidate

# Longer than any adapter takes with all its attempts.
SENT_WITHIN = 60.0
_ATTEMPTS = 3
_FIRST_WAIT = 0.2
_PASSES = frozenset({408, 425, 429})
# Statuses of a receiver that does not accept this message, but may accept others.
_ABOUT_THIS = frozenset({400, 409, 413, 422})


# Names that a text may use beside attributes of the customer.
UNSUBSCRIBE_URL = "unsubscribe_url"
OURS = ("program", "customer_id", "subject_type", "subject_id", UNSUBSCRIBE_URL)


class AddressRefused(Exception):
    """A message that will never be accepted, because of its address or its contents; the text is the reason."""


class EndpointRefused(Exception):
    """A receiver that accepts no messages from us until someone changes its configuration or ours."""


class PolicyRefused(Exception):
    """A message that the settings do not allow to be sent."""


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message to a customer."""

    delivery_id: str
    program_name: str
    channel: Channel
    candidate: Candidate
    at: datetime
    # How often it was refused and sent again.
    retries: int = 0


class Adapter(Protocol):
    def check(self, channel: Channel, attributes: Collection[str] | None) -> None:
        """Raise Invalid if a channel's configuration cannot work.

        ``attributes`` are those that every customer of the program has; None if unknown.
        """

    def lacks(self, channel: Channel, candidate: Candidate) -> str | None:
        """The first attribute that a message needs and the candidate lacks; nothing is sent without it."""

    def rendered(self, message: ChannelMessage) -> dict[str, str]:
        """The parts of the message that would be sent; AddressRefused if nothing could be sent."""

    def send(self, message: ChannelMessage) -> None:
        """Send, or raise one of the exceptions above."""


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


def _one_line(text: str) -> str:
    if any(category(char) in ("Cc", "Zl", "Zp") for char in text):
        raise ValueError("use one line, without control characters")
    return text


class EmailSettings(_Settings):
    """``$name`` in the texts stands for an attribute of the customer, or for one of ``OURS``."""

    address_attribute: str = Field(default="email", min_length=1, max_length=100)
    subject: Annotated[Said, Field(max_length=200), AfterValidator(_one_line)] = "$program"
    text: Annotated[Said, Field(max_length=20_000)] = "There is something for you: $subject_id\n"

    @property
    def names(self) -> list[str]:
        """The attributes that the texts need, each once."""
        found = [*Template(self.subject).get_identifiers(), *Template(self.text).get_identifiers()]
        return list(dict.fromkeys(found))


class WebhookSettings(_Settings):
    url: Web
    headers: CredentialHeaders = Field(default_factory=dict, max_length=5)
    timeout_seconds: Annotated[float, IsNumber, Field(ge=0.05, le=15)] = 5


class EmailAdapter:
    """Mail, each message once: the mailer stores a record of each."""

    def __init__(self, store: Store, mailer: event_mail.Mailer, links: UnsubscribeLinks | None) -> None:
        self._store = store
        self._mailer = mailer
        self._links = links

    def check(self, channel: Channel, attributes: Collection[str] | None) -> None:
        settings = _settings(EmailSettings, channel)
        for name, text in (("subject", settings.subject), ("text", settings.text)):
            if not Template(text).is_valid():
                raise _invalid(channel, name, "write $$ for a $ that does not start a name")
            for needed in Template(text).get_identifiers():
                if needed == UNSUBSCRIBE_URL and self._links is None:
                    raise _invalid(channel, name, f"${needed} needs the setting public_url")
                if attributes is not None and needed not in (*OURS, *attributes):
                    known = ", ".join(sorted({*OURS, *attributes}))
                    raise _invalid(channel, name, f"unknown name ${needed}; use one of {known}")
        address = settings.address_attribute if "address_attribute" in settings.model_fields_set else None
        if address is not None and attributes is not None and address not in attributes:
            raise _invalid(channel, "addressAttribute", f"there is no column {address}")

    def lacks(self, channel: Channel, candidate: Candidate) -> str | None:
        values = self._values("", candidate)
        return next((name for name in _settings(EmailSettings, channel).names if name not in values), None)

    def _values(self, program_name: str, candidate: Candidate) -> dict[str, str]:
        """The values of names in a text; an attribute that is null has none."""
        values = {name: str(value) for name, value in candidate.attributes.items() if value is not None}
        values |= {
            "program": program_name,
            "customer_id": candidate.customer_id,
            "subject_type": candidate.subject.type,
            "subject_id": candidate.subject.id,
        }
        link = _unsubscribe_url(self._links, candidate)
        return values if link is None else values | {UNSUBSCRIBE_URL: link}

    def rendered(self, message: ChannelMessage) -> dict[str, str]:
        settings = _settings(EmailSettings, message.channel)
        candidate = message.candidate
        address = candidate.attributes.get(settings.address_attribute)
        if not isinstance(address, str) or not is_address(address):
            raise AddressRefused("the customer has no address")
        values = self._values(message.program_name, candidate)
        subject, text = (Template(each).substitute(values) for each in (settings.subject, settings.text))
        return {"to": address, "subject": subject, "text": text}

    def send(self, message: ChannelMessage) -> None:
        candidate = message.candidate
        rendered = self.rendered(message)
        address = rendered["to"]
        # A refused message has a record, so it is never sent again; a retry is a new message.
        event_id = f"{message.delivery_id}.{message.retries}" if message.retries else message.delivery_id
        event = Event(event_id=event_id, source="engagement", type="Delivery", at=message.at, sequence="", detail={})
        try:
            link = _unsubscribe_url(self._links, candidate)
            self._mailer.send(event, event_mail.Message(address, rendered["subject"], rendered["text"], link))
        except DeadLettered as error:
            raise AddressRefused(str(error)) from error
        lookup = event_mail.MailRecord.by_recipient(event_id=event_id, recipient=event_mail.digest(address))
        found = self._store.get(lookup, consistent=True)
        if found is not None and found.state == "refused":
            raise AddressRefused(f"the mail server refused it: {found.reason}")


class WebhookAdapter:
    """Signed requests, with retries."""

    def __init__(
        self,
        outbound: Outbound,
        secret: bytes,
        clock: Callable[[], float],
        links: UnsubscribeLinks | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        entropy: random.Random | None = None,
    ) -> None:
        self._outbound = outbound
        self._secret = secret
        self._clock = clock
        self._links = links
        self._sleep = sleep
        self._random = entropy or random.Random()

    def check(self, channel: Channel, attributes: Collection[str] | None) -> None:
        settings = _settings(WebhookSettings, channel)
        for name, check in (
            ("url", lambda: self._outbound.check(settings.url)),
            ("headers", lambda: self._outbound.credentials(settings.url, settings.headers)),
        ):
            try:
                check()
            except Refusal as refusal:
                raise _invalid(channel, name, str(refusal)) from None

    def lacks(self, channel: Channel, candidate: Candidate) -> str | None:
        return None

    def rendered(self, message: ChannelMessage) -> dict[str, str]:
        settings = _settings(WebhookSettings, message.channel)
        return {"to": settings.url, "text": _body(message, _unsubscribe_url(self._links, message.candidate)).decode()}

    def send(self, message: ChannelMessage) -> None:
        settings = _settings(WebhookSettings, message.channel)
        body = _body(message, _unsubscribe_url(self._links, message.candidate))
        reason = "the webhook"
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._sleep(self._random.uniform(0, _FIRST_WAIT * 2 ** (attempt - 1)))
            headers = signed(message.delivery_id, int(self._clock()), body, self._secret)
            try:
                headers = self._outbound.credentials(settings.url, settings.headers) | headers
                answer = self._outbound.post(settings.url, body, headers, settings.timeout_seconds)
            except Refusal as refusal:
                raise PolicyRefused(str(refusal)) from None
            except Unanswered as unanswered:
                reason = f"the webhook did not respond ({unanswered})"
                continue
            reason = f"the webhook responded with {answer.status}"
            if 200 <= answer.status < 300:
                return
            if answer.status in _ABOUT_THIS:
                raise AddressRefused(reason)
            if answer.status < 500 and answer.status not in _PASSES:
                # A redirect is among these: it is not followed.
                raise EndpointRefused(reason)
        raise Unavailable(reason)


def signed(delivery_id: str, at: int, body: bytes, secret: bytes) -> dict[str, str]:
    """The headers by which a receiver verifies the sender, the time and the id of a message."""
    content = f"{delivery_id}.{at}.".encode() + body
    signature = base64.b64encode(hmac.new(secret, content, sha256).digest()).decode()
    return {"webhook-id": delivery_id, "webhook-timestamp": str(at), "webhook-signature": f"v1,{signature}"}


def adapters(
    store: Store,
    mailer: event_mail.Mailer,
    outbound: Outbound,
    secret: bytes,
    clock: Callable[[], float],
    links: UnsubscribeLinks | None = None,
) -> dict[str, Adapter]:
    return {EMAIL: EmailAdapter(store, mailer, links), WEBHOOK: WebhookAdapter(outbound, secret, clock, links)}


def _unsubscribe_url(links: UnsubscribeLinks | None, candidate: Candidate) -> str | None:
    """The unsubscribe link of a customer; None if the public address is unknown."""
    if links is None:
        return None
    return links.url(Subscription(candidate.customer_id, candidate.program_id, candidate.marketplace_id))


def _body(message: ChannelMessage, unsubscribe_url: str | None) -> bytes:
    candidate = message.candidate
    content = {
        "type": "candidate.delivered",
        "deliveryId": message.delivery_id,
        "timestamp": message.at.isoformat(),
        "programId": candidate.program_id,
        "marketplaceId": candidate.marketplace_id,
        "channelId": message.channel.channel_id,
        "customerId": candidate.customer_id,
        "subject": {"type": candidate.subject.type, "id": candidate.subject.id},
        # Numbers have the form of the API.
        "score": float(candidate.score),
        "attributes": in_json(candidate.attributes),
        "unsubscribeUrl": unsubscribe_url,
    }
    return orjson.dumps(content, default=str)


def _settings(kind: type[Any], channel: Channel) -> Any:
    try:
        return kind.model_validate(channel.config)
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid(channel, ".".join(map(str, first["loc"])), message_of(first)) from None


def _invalid(channel: Channel, place: str, reason: str) -> Invalid:
    """The error for a field of a channel's settings."""
    return Invalid(f"{channel.channel_id}: config.{place}: {reason}", kind="invalid-request", field=f"config.{place}")
