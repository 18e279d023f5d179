"""The requests of a copy: retried for as long as a service is only busy, and limited to a rate.

A store gives up after some attempts, since a caller waits for its response. A copy has time: it continues as long as
any request succeeds, and gives up after ten minutes in which none did; for a place that has never responded, after
seconds.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

from tablewright.store import Backend, Request, Response, ServiceError, is_transient
from tablewright.transfer.places.unit_rate import UnitRate

_PATIENCE_SECONDS = 600.0
# For a place that has never responded: its address is probably wrong.
_FIRST_PATIENCE_SECONDS = 5.0
_FIRST_CEILING = 0.05
_MAX_CEILING = 5.0
_READS = frozenset({"Scan", "BatchGetItem"})
_WRITES = frozenset({"BatchWriteItem", "TransactWriteItems"})


class PatientCalls:
    """Sends requests to a backend; rates are in capacity units per second, for all requests together."""

    def __init__(
        self,
        backend: Backend,
        *,
        read_rate: float | None = None,
        write_rate: float | None = None,
        first_patience: float = _FIRST_PATIENCE_SECONDS,
    ) -> None:
        """``first_patience`` is for how many seconds to retry as long as the place has never responded."""
        self.backend = backend
        self._patience = first_patience
        read = None if read_rate is None else UnitRate(read_rate)
        write = None if write_rate is None else UnitRate(write_rate)
        self._rates = {**dict.fromkeys(_READS, read), **dict.fromkeys(_WRITES, write)}

    async def call(self, operation: str, body: dict[str, Any], expected_units: float = 1.0) -> Response:
        """The response to a request that is expected to consume so many units."""
        rate = self._rates.get(operation)
        if rate is not None:
            body = {**body, "ReturnConsumedCapacity": "TOTAL"}
            await rate.take(expected_units)
        since, attempt = time.monotonic(), 0
        while True:
            try:
                response = await self.backend.call_async(Request(operation, body))
            except ServiceError as error:
                if not is_transient(error) or time.monotonic() - since > self._patience:
                    raise
                attempt += 1
                await pause(attempt)
            else:
                self._patience = _PATIENCE_SECONDS
                if rate is not None:
                    rate.settle(expected_units, _units(response, expected_units))
                return response

    def close(self) -> None:
        self.backend.close()


async def pause(attempt: int) -> None:
    """Wait after so many failures: a random time, up to a ceiling that doubles."""
    await asyncio.sleep(random.uniform(0.0, min(_MAX_CEILING, _FIRST_CEILING * 2.0 ** min(attempt, 10))))


def _units(response: Response, expected: float) -> float:
    """The capacity that a response reports as consumed; the expected one, if the endpoint does not report it."""
    consumed = response.get("ConsumedCapacity")
    if consumed is None:
        return expected
    parts = consumed if isinstance(consumed, list) else [consumed]
    return sum(float(part.get("CapacityUnits", 0.0)) for part in parts)
