"""Idempotency keys: the one mechanism behind ``Idempotency-Key``, for every system and every route that takes one.

    Idempotency-Key ──▶ digest of system, operation, caller and key ──▶ record: digest of the request, response, ttl

The first request stores its response in the transaction that has its effect (``store.execute_once``). For a day, the
same request of the same caller gets exactly that response, and changes nothing; another request with the key gets
``KeyMismatch``. A request that fails stores nothing, and leaves its key free.

A route makes a ``Responder``, and the service decides what is written:

    responder = Responder(ticket_view, caller.user_id, idempotency_key)
    return await desk.create(body.caller_id, body.issue_description, responder)

Without a key nothing is looked up and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, TypeVar

from tablewright.model import ItemWrite, Keys, Write
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, Cancelled, IdempotencyRecord, InProgress, KeyMismatch, Outcome, Store

__all__ = ["KEEP_RESPONSE", "UNKEYED", "Idempotency", "KeyedRequest", "Responder"]

T = TypeVar("T")
R = TypeVar("R")


class KeyedRequest(IdempotencyRecord, table=internal_table):
    """The response to a request with an idempotency key, of a system whose own tables have no such record."""

    keys = Keys(PK="REQUEST#{idempotency_key}", SK="REQUEST")


KEEP_RESPONSE = Write(
    "keep response",
    ItemWrite(KeyedRequest, "create"),
    about="in the transaction of a request with an idempotency key, which doubles the cost of all its writes",
)
"""The writes of a system to the internal table, for its design."""


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Responder(Generic[T, R]):
    """How a request is answered: the response to its result, and its idempotency key, if any.

    A response is any JSON value. Another one, such as a model, is made from stored JSON by ``load``.
    """

    view: Callable[[T], R]
    caller: str = ""
    key: str | None = None
    load: Callable[[Any], R] = _as_it_is


UNKEYED: Responder[Any, Any] = Responder(_as_it_is)
"""For callers other than routes: the result itself, without a key."""


class Idempotency:
    """Executes the keyed requests of one system.

    ``record`` is the entity to store responses in, where the system's own tables have one.
    """

    def __init__(self, system: str, record: type[IdempotencyRecord] = KeyedRequest) -> None:
        self._system = system
        self._record = record

    async def execute(
        self,
        store: AsyncStore,
        operation: str,
        request: Any,
        responder: Responder[Any, R],
        work: Callable[[], Awaitable[Outcome]],
    ) -> R:
        """The response to a request: that of its work, or the stored one.

        ``operation`` is what the request creates, as in "another ticket"; each operation has keys of its own.
        ``request`` is everything that the outcome depends on. Raises KeyMismatch, InProgress, or what the work raises;
        a single write raises its own error, not ``Cancelled``.
        """
        key = _key(responder)
        with _errors_for(operation, key):
            name = self._name(operation, responder.caller, key)
            return responder.load(await store.execute_once(self._record, name, request, work))

    def execute_blocking(
        self,
        store: Store,
        operation: str,
        request: Any,
        responder: Responder[Any, R],
        work: Callable[[], Outcome],
        *,
        scope: tuple[str, ...] = (),
    ) -> R:
        """The same with a synchronous store, for work that runs in threads.

        ``scope`` distinguishes the parts of one request that are transactions of their own.
        """
        key = _key(responder)
        with _errors_for(operation, key):
            name = self._name(operation, responder.caller, key, *scope)
            return responder.load(store.execute_once(self._record, name, request, work))

    def _name(self, *scope: str) -> str:
        """What a key is called in the table: a digest, so that neither the caller nor the key can be read there."""
        return sha256("\x00".join((self._system, *scope)).encode()).hexdigest()


def _key(responder: Responder[Any, Any]) -> str:
    if responder.key is None:
        raise ValueError("a request without an idempotency key is executed without this")
    return responder.key


@contextmanager
def _errors_for(operation: str, key: str) -> Iterator[None]:
    """Errors that name the key as it was sent, and the error of a single write as it would be without a key."""
    try:
        yield
    except KeyMismatch:
        raise KeyMismatch(f"the idempotency key {key} was used before, for another {operation}") from None
    except InProgress:
        raise InProgress(f"another {operation} with the idempotency key {key} is in progress; try again") from None
    except Cancelled as cancelled:
        first, *others = cancelled.reasons
        raise cancelled if others or first is None else first from None
