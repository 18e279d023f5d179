"""Unsubscribe links for customers, without sign-in (RFC 8058), and the page that they open.

    https://hub.example.org/engagement/unsubscribe/<customer and program, in base64>.<signature>

    POST   unsubscribes: from the program, as mail programs do with one click, or from everything, by the page's button
    GET    shows a page with a button for each, and changes nothing: mail scanners follow links

The signature is an HMAC, so links cannot be forged and need no records. They do not expire: a customer can unsubscribe
with an old message.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from dataclasses import dataclass
from hashlib import sha256
from html import escape

__all__ = ["PAGE_HEADERS", "Subscription", "UnsubscribeLinks", "done_page", "offer_page", "unknown_page"]

_SIGNATURE_BYTES = 24
_MAX_TOKEN_LENGTH = 2_000
_PURPOSE = b"tablewright engagement unsubscribe"
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}


@dataclass(frozen=True, slots=True)
class Subscription:
    """A customer, and the program that sent the link."""

    customer_id: str
    program_id: str
    marketplace_id: str


class UnsubscribeLinks:
    """Creates links and reads their tokens."""

    def __init__(self, base: str, secret: bytes) -> None:
        """``base`` is the public address of engagement."""
        self._base = base.rstrip("/")
        # A separate key: other signatures made with the secret are not valid tokens.
        self._key = hmac.new(secret, _PURPOSE, sha256).digest()

    def url(self, subscription: Subscription) -> str:
        parts = [subscription.customer_id, subscription.program_id, subscription.marketplace_id]
        content = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()
        return f"{self._base}/unsubscribe/{_encoded(content)}.{_encoded(self._signature(content))}"

    def read(self, token: str) -> Subscription | None:
        """The customer and program of a token; None if it is not valid."""
        if len(token) > _MAX_TOKEN_LENGTH:
            return None
        text, _, signature = token.partition(".")
        try:
            content, given = _decoded(text), _decoded(signature)
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(given, self._signature(content)):
            return None
        customer_id, program_id, marketplace_id = json.loads(content)
        return Subscription(customer_id, program_id, marketplace_id)

    def _signature(self, content: bytes) -> bytes:
        return hmac.new(self._key, content, sha256).digest()[:_SIGNATURE_BYTES]


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


# -- the page -----------------------------------------------------------------------------------------------------


def offer_page(program_name: str) -> str:
    return _page(
        "Unsubscribe",
        f"<p>Which messages do you want to stop receiving?</p>{_button('program', f'Messages from {program_name}')}"
        f"{_button('everything', 'All messages')}",
    )


def done_page(program_name: str, *, everything: bool) -> str:
    if everything:
        return _page("Unsubscribed", "<p>You will no longer receive messages from us.</p>")
    return _page(
        "Unsubscribed",
        f"<p>You will no longer receive messages from {escape(program_name)}.</p>"
        f"{_button('everything', 'Stop all messages')}",
    )


def unknown_page() -> str:
    return _page("Unknown link", "<p>This link is not valid. Use the complete link from the message.</p>")


def _button(scope: str, text: str) -> str:
    # Without an action, a form is sent to the address of its page.
    return (
        f'<form method="post"><input type="hidden" name="scope" value="{scope}"><button>{escape(text)}</button></form>'
    )


def _page(title: str, content: str) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;"
        "padding:0 1rem}button{font:inherit;padding:.6rem 1rem;margin:.3rem 0;width:100%}</style>"
        f"<main><h1>{title}</h1>{content}</main></html>"
    )
