"""The unsubscribe page that messages link to, and one-click unsubscribe (RFC 8058)."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Path, Request
from starlette.responses import HTMLResponse

from tablewright.runtime import (
    Public,
    ResourceNotFound,
    documented,
)
from tablewright.store import Unreadable
from tablewright.systems.engagement.api.engagement_router import (
    Here,
    system_router,
)
from tablewright.systems.engagement.consent.customer_preferences import Scope, unsubscribed
from tablewright.systems.engagement.consent.unsubscribe_links import (
    PAGE_HEADERS,
    Subscription,
    done_page,
    offer_page,
    unknown_page,
)
from tablewright.systems.engagement.platform import Platform

_MAX_FORM_BYTES = 10_000
_MAX_FORM_FIELDS = 20

Link = Annotated[str, Path(max_length=2_000, description="the token from the link in the message")]


router = system_router()

# The response to an invalid link is a page as well.
_UNKNOWN_LINK: dict[int | str, dict[str, Any]] = {
    404: {"description": "The link is not complete", "content": {"text/html": {"schema": {"type": "string"}}}}
}
_FORM = {
    "requestBody": {
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "List-Unsubscribe": {"type": "string", "enum": ["One-Click"]},
                        "scope": {"type": "string", "enum": ["program", "everything"]},
                    },
                }
            }
        }
    }
}


@router.get("/unsubscribe/{token}", tags=["customers"], response_class=HTMLResponse, responses=_UNKNOWN_LINK)
async def unsubscribe_page(token: Link, here: Here, _: Public) -> HTMLResponse:
    """The unsubscribe page that a message links to. Nothing is changed."""
    subscription = here.unsubscribe_links.read(token)
    if subscription is None:
        return HTMLResponse(unknown_page(), 404, PAGE_HEADERS)
    return HTMLResponse(offer_page(await _program_name(here, subscription)), headers=PAGE_HEADERS)


@router.post(
    "/unsubscribe/{token}",
    tags=["customers"],
    response_class=HTMLResponse,
    responses={**documented(409), **_UNKNOWN_LINK},
    openapi_extra=_FORM,
)
async def unsubscribe(token: Link, request: Request, here: Here, _: Public) -> HTMLResponse:
    """Unsubscribe with one click (RFC 8058); the token in the address is sufficient.

    It unsubscribes from the program that sent the message, or from everything with the form field `scope=everything`.
    """
    subscription = here.unsubscribe_links.read(token)
    if subscription is None:
        return HTMLResponse(unknown_page(), 404, PAGE_HEADERS)
    form = (await request.body())[:_MAX_FORM_BYTES].decode("latin-1")
    fields = parse_qs(form, max_num_fields=_MAX_FORM_FIELDS) if form.count("&") < _MAX_FORM_FIELDS else {}
    scope: Scope = "everything" if fields.get("scope") == ["everything"] else "program"
    await here.engagement.preferences.change(
        subscription.customer_id,
        unsubscribed(subscription.program_id, scope),
        by="customer",
        source="page" if "scope" in fields else "one-click",
    )
    name = await _program_name(here, subscription)
    return HTMLResponse(done_page(name, everything=scope == "everything"), headers=PAGE_HEADERS)


async def _program_name(here: Platform, subscription: Subscription) -> str:
    try:
        program = await here.engagement.program(subscription.program_id, subscription.marketplace_id)
    except (ResourceNotFound, Unreadable):
        return subscription.program_id
    return program.program_name
