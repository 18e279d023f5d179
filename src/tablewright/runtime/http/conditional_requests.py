"""Conditional requests (RFC 9110): ETag, If-None-Match and If-Match, as dependencies of routes.

    @router.get("/tickets/{ticket_id}")
    async def get_ticket(ticket_id: UUID, desk: Desk, reading: Reading) -> TicketView:
        return _view(reading.of(await desk.get(ticket_id)))              # the ETag of it, or 304

    @router.patch("/tickets/{ticket_id}")
    async def change(ticket_id: UUID, body: Change, desk: Desk, changing: Changing) -> TicketView:
        return _view(changing.of(await desk.change(ticket_id, body.status, changing.seen)))

The ETag is put into the state of the request, and the gate adds it to the response. ``api_description`` adds the
headers and statuses to the OpenAPI description of every route that takes one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header
from starlette.requests import HTTPConnection

from tablewright.model import Entity
from tablewright.runtime.entity_tags import Seen, entity_tag
from tablewright.runtime.parameter_texts import matching

__all__ = ["ETAG", "IF_MATCH", "IF_NONE_MATCH", "Changing", "NotModified", "Reading"]

E = TypeVar("E", bound=Entity)

ETAG = "etag"
"""Where the state of a request has the ETag of its response."""
IF_MATCH = "If-Match"
IF_NONE_MATCH = "If-None-Match"

_TAG = re.compile(r'(W/)?"([^"]*)"')
_TAGS = matching(
    r'^[ \t]*(\*|(W/)?"[^"]*"([ \t]*,[ \t]*(W/)?"[^"]*")*)[ \t]*$',
    'use an ETag as it was sent, in its quotes: "5-1a2b"; or * for any state',
)
_MAX_LENGTH = 2_000


class NotModified(Exception):
    """The caller already has what would be sent."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A request for one thing."""

    _request: HTTPConnection
    _held: str | None

    def of(self, entity: E, parts: Iterable[Entity] | None = None) -> E:
        """What is shown, whose tag becomes the ETag; NotModified if the caller has it already."""
        tag = entity_tag(entity, parts)
        self._request.scope["state"][ETAG] = tag
        # A weak comparison: what was compressed on its way is still the same.
        if self._held is not None and (tag in _tags(self._held) or self._held.strip() == "*"):
            raise NotModified
        return entity


def _tags(header: str) -> frozenset[str]:
    return frozenset(tag for _, tag in _TAG.findall(header))


@dataclass(frozen=True, slots=True)
class _Changing:
    """A request to change one thing."""

    _request: HTTPConnection
    seen: Seen

    def of(self, entity: E) -> E:
        """What became of it, whose tag becomes the ETag."""
        self._request.scope["state"][ETAG] = entity_tag(entity)
        return entity


async def _reading(
    request: HTTPConnection,
    if_none_match: Annotated[
        str | None,
        Header(
            alias=IF_NONE_MATCH,
            max_length=_MAX_LENGTH,
            description="the ETag of what the caller has: the response is 304 without a body if it has not changed",
        ),
    ] = None,
) -> _Reading:
    return _Reading(request, if_none_match)


async def _changing(
    request: HTTPConnection,
    if_match: Annotated[
        str | None,
        Header(
            alias=IF_MATCH,
            max_length=_MAX_LENGTH,
            pattern=_TAGS,
            description=(
                "the ETag of what the change is based on, in quotes: the response is 412 if it has changed since"
            ),
        ),
    ] = None,
) -> _Changing:
    if if_match is None:
        return _Changing(request, Seen())
    if if_match.strip() == "*":
        return _Changing(request, Seen(frozenset("*")))
    # A strong comparison, which weak tags never pass.
    return _Changing(request, Seen(frozenset(tag for weak, tag in _TAG.findall(if_match) if not weak)))


Reading = Annotated[_Reading, Depends(_reading)]
"""A dependency: shows one thing to a caller who may have it already."""
Changing = Annotated[_Changing, Depends(_changing)]
"""A dependency: changes one thing for a caller who may send the ETag of what they saw."""
