"""Idempotent execution: a request that arrives twice is executed once, and gets the same response twice.

A record is declared as any other entity, in the table that it protects or in another one:

    class Once(IdempotencyRecord, table=tickets):
        keys = Keys(PK="IDEMPOTENCY#{idempotency_key}", SK="METADATA")

and a request is executed under a key that its sender has chosen:

    def work() -> Outcome:
        ticket = Ticket(...)
        return Outcome({"ticket_id": ticket.ticket_id}, Create(ticket), Create(opened(ticket)))

    response = store.execute_once(Once, key, request, work)

    look ──▶ record found ─────────────────────────────▶ its response, or KeyMismatch if it is of another request
      │
      └────▶ work ──▶ one transaction: effect + record ──▶ the response
                 failed, whatever the reason: look once more, as a duplicate may have been faster

The effect and the response are written together or not at all, wherever a process dies. Of duplicates that run at the
same time, each may do its work, and one commits; the others get its response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Annotated, Any

import orjson
from pydantic_core import to_jsonable_python

from tablewright.model import Entity, EpochSeconds, Expiry, Lookup, ModelError
from tablewright.store.context import Context
from tablewright.store.errors import Cancelled, Conflict, InProgress, KeyMismatch
from tablewright.store.flow.driver import Flow
from tablewright.store.read.get import get
from tablewright.store.write.planning.operation import Operation
from tablewright.store.write.put import Create
from tablewright.store.write.transaction import transact


class IdempotencyRecord(Entity):
    """The record of an executed request, kept for a day; the base class of a table's own record.

    The field ``ttl`` is stored in the attribute ``ttl``; a table that has its time to live elsewhere says so:
    ``ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24)), AttributeName("expiresAt")] = None``.
    """

    idempotency_key: str
    # A digest of the request, by which another request under the same key is recognized.
    request_digest: str
    # The response as JSON, word for word.
    response: str
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24))] = None


class Outcome:
    """The result of the work: the response (any JSON value), and the writes that are committed with it.

    The response is stored with the writes, so it is known before they are made. ``at`` is the time for their stamps
    (``CreatedAt``, ``UpdatedAt``), for a response that shows them; ``record`` has values for further fields of the
    table's own record.
    """

    def __init__(
        self,
        response: Any,
        *operations: Operation,
        at: datetime | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.response = response
        self.operations = operations
        self.at = at
        self.record = record or {}


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The response that a request got when it was executed."""

    response: Any


class IdempotentRequest:
    """A request under a key: what ``execute_once`` of both stores is made of."""

    def __init__(self, record: type[IdempotencyRecord], key: str, request: Any) -> None:
        self._record = record
        self._key = key
        self._digest = digest(request)

    def find(self, context: Context) -> Flow[StoredResponse | None]:
        """The response of a duplicate that was executed; KeyMismatch if the key belongs to another request."""
        lookup = Lookup(self._record, "execute_once", None, {"idempotency_key": self._key})
        found = yield from get(context, lookup, consistent=True)
        if found is None:
            return None
        if found.request_digest != self._digest:
            raise KeyMismatch(f"the idempotency key {self._key} was used for another request")
        return StoredResponse(orjson.loads(found.response))

    def commit(self, context: Context, outcome: Outcome) -> Flow[Any]:
        """Write the outcome and its response in one transaction; the response as every duplicate will get it."""
        if not isinstance(outcome, Outcome):
            raise ModelError(
                f"execute_once: work has to return Outcome(response, *operations), not {type(outcome).__name__}"
            )
        response = _json("the response", outcome.response)
        record = self._record(
            idempotency_key=self._key, request_digest=self._digest, response=response.decode(), **outcome.record
        )
        if outcome.at is not None:
            time = outcome.at.timestamp()
            context = replace(context, clock=lambda: time)
        try:
            yield from transact(context, *outcome.operations, Create(record))
        except Cancelled as cancelled:
            reasons = list(cancelled.reasons)
            own = reasons.pop(len(outcome.operations))
            if own is None:
                raise Cancelled(reasons) from None
            if isinstance(own, Conflict):
                raise InProgress(
                    f"another request with the idempotency key {self._key} is being executed; try again"
                ) from None
            raise own from None
        return orjson.loads(response)


def digest(request: Any) -> str:
    """The same for the same request, whatever the order of its members."""
    return sha256(_json("the request", request, orjson.OPT_SORT_KEYS)).hexdigest()


def _json(what: str, value: Any, option: int = 0) -> bytes:
    try:
        return orjson.dumps(to_jsonable_python(value), option=option)
    except (TypeError, ValueError) as error:
        raise ModelError(f"execute_once: {what} has to be JSON: {error}") from None
