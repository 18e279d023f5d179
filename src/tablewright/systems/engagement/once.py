"""What is asked for with an idempotency key is carried out once; a key is of whoever chose it, and of one program."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Literal

from tablewright.store import InProgress, KeyMismatch, Outcome, Store
from tablewright.systems.engagement.model import Once, Program


def carried_out_once(
    store: Store,
    what: Literal["run", "event"],
    program: Program,
    key: str,
    by: str,
    request: Any,
    work: Callable[[], Outcome],
) -> Any:
    """The answer of some work, or the one that it had before."""
    # A digest, as both may have any characters; what is told has the key as it was sent.
    chosen = sha256(f"{by}\x00{key}".encode()).hexdigest()
    name = f"{what}/{program.program_id}/{program.marketplace_id}/{chosen}"
    try:
        return store.execute_once(Once, name, request, work)
    except KeyMismatch:
        raise KeyMismatch(f"the idempotency key {key} was used before, for another {what}") from None
    except InProgress:
        raise InProgress(f"the {what} with the idempotency key {key} is being carried out; ask again") from None
