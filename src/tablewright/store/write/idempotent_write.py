"""Idempotent execution: a request that comes twice is carried out once, and answered twice.

A record is declared in the table that it protects, as any other entity:

    class Once(IdempotencyRecord, table=tickets):
        keys = Keys(PK="IDEMPOTENCY#{idempotency_key}", SK="METADATA")

and a request is carried out under a key that its sender has chosen:

    def work() -> Outcome:
        ticket = Ticket(...)
        return Outcome({"ticket_id": ticket.ticket_id}, Create(ticket), Create(opened(ticket)))

    answer = store.execute_once(Once, key, request, work)

1. ``begin`` claims the key: it creates the record, with a fingerprint of the request and a lease. If there is a record
   already, it has the answer (given again), or belongs to another request (KeyMismatch), or to one that is still being
   carried out (InProgress), or to one that was given up on when its lease ran out (taken over).
2. The work is done: it decides what to write, and what to answer.
3. ``complete`` writes all of it and the answer in one transaction, under the condition that the claim is still held.
   Whoever was slower than his lease writes nothing. A failure gives the claim back (``abandon``).

So the effect and the answer are stored together or not at all, wherever a process dies.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Any, Final
from uuid import uuid4

import orjson
from pydantic_core import to_jsonable_python

from tablewright.model import Entity, EpochMillis, EpochSeconds, Lookup, ModelError
from tablewright.model.declarations import Expiry
from tablewright.store.context import Context
from tablewright.store.errors import (
    AlreadyExists,
    Cancelled,
    ConditionFailed,
    Conflict,
    InProgress,
    KeyMismatch,
    NotFound,
    StoreError,
)
from tablewright.store.flow.driver import Flow
from tablewright.store.read.get import get
from tablewright.store.write.delete import delete
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.operation import Operation
from tablewright.store.write.put import create
from tablewright.store.write.update import Update, update

LEASE: Final = timedelta(seconds=60)
_ATTEMPTS = 5


class IdempotencyRecord(Entity):
    """What is remembered of a request, for a day; the base of a table's own record.

    The field ``ttl`` is stored in the attribute ``ttl``; a table that keeps its time to live elsewhere says so:
    ``ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24)), AttributeName("expiresAt")] = None``.
    """

    idempotency_key: str
    fingerprint: str
    # Whoever carries the request out, and until when nobody else may.
    claim: str
    leased_until: EpochMillis
    # The answer as JSON; None while the request is being carried out.
    response: str | None = None
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24))] = None


class Outcome:
    """What a piece of work comes to: the answer (anything that JSON has), and the writes to make it so."""

    def __init__(self, response: Any, *operations: Operation) -> None:
        self.response = response
        self.operations = operations


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry a request out."""

    record: IdempotencyRecord


@dataclass(frozen=True, slots=True)
class Answered:
    """The request has been carried out before, and this was the answer."""

    response: Any


def fingerprint(request: Any) -> str:
    """The same for the same request, whatever the order of its members."""
    return sha256(_json("the request", request, orjson.OPT_SORT_KEYS)).hexdigest()


def _json(what: str, value: Any, option: int = 0) -> bytes:
    try:
        return orjson.dumps(to_jsonable_python(value), option=option)
    except (TypeError, ValueError) as error:
        raise ModelError(f"execute_once: {what} has to be something that JSON has: {error}") from None


def begin(
    context: Context, record: type[IdempotencyRecord], key: str, request: Any, *, lease: timedelta = LEASE
) -> Flow[Claim | Answered]:
    """Claim a key, or give the answer that is known."""
    print_of_request = fingerprint(request)
    for _ in range(_ATTEMPTS):
        now = context.now()
        claimed = record(idempotency_key=key, fingerprint=print_of_request, claim=uuid4().hex, leased_until=now + lease)
        try:
            return Claim((yield from create(context, claimed)))
        except AlreadyExists:
            lookup = Lookup(record, "execute_once", None, {"idempotency_key": key})
            found = yield from get(context, lookup, consistent=True)
        if found is None:
            continue
        if found.fingerprint != print_of_request:
            raise KeyMismatch(f"the idempotency key {key} was used before, for another request")
        if found.response is not None:
            return Answered(orjson.loads(found.response))
        if found.leased_until > now:
            raise InProgress(f"the request with the idempotency key {key} is being carried out")
        try:
            again = {"claim": claimed.claim, "leased_until": claimed.leased_until}
            return Claim((yield from update(context, found, expect={"claim": found.claim}, **again)))
        except (ConditionFailed, NotFound):
            continue
    raise InProgress(f"many requests with the idempotency key {key} came at once; ask again")


def complete(context: Context, claim: Claim, outcome: Outcome) -> Flow[Any]:
    """Write the outcome and its answer, and give the answer as it will be given from now on."""
    record = claim.record
    if not isinstance(outcome, Outcome):
        raise ModelError(f"execute_once: its work gives an Outcome(response, ...), not a {type(outcome).__name__}")
    answer = _json("the response", outcome.response)
    keep = Update(record, response=answer.decode(), expect={"claim": record.claim, "response": None})
    try:
        yield from execute_all(context, [*outcome.operations, keep], f"{type(record).__name__}.execute_once")
    except Cancelled as cancelled:
        *reasons, own = cancelled.reasons
        if own is None:
            raise Cancelled(reasons) from None
        raise Conflict(
            f"the request with the idempotency key {record.idempotency_key} took longer than its lease, and another "
            "one took it over; nothing was written"
        ) from None
    return orjson.loads(answer)


def abandon(context: Context, claim: Claim) -> Flow[None]:
    """Give a claim back after a failure, so that the request can be sent again at once."""
    record = claim.record
    try:
        yield from delete(context, record, expect={"claim": record.claim, "response": None})
    except StoreError:
        # Somebody else has it by now, or the lease will run out.
        return
