"""Models at HTTP endpoints: requests in batches, with timeouts and retries, and a circuit breaker.

    POST {"modelId": "propensity-v1", "customers": [{"customerId", "subject": {"type", "id"}, "attributes"}, ...]}
    200  {"scores": [0.85, {"value": 0.2, "confidence": 0.9}, null, ...]}          one for each, in order

Transient failures (no response, 408, 425, 429, 5xx) are retried, three attempts in all, with full-jitter backoff; an
invalid response is not. After five failures in a row an endpoint gets no requests for two seconds; then one request
is sent, and each failure doubles the time, up to half a minute.

The statuses 400, 409, 413 and 422 concern the customers of the request; every other one that is not 200 concerns all
requests (``ModelOutage``).
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn

import orjson

from tablewright.systems.engagement.configuration import ScoringModel
from tablewright.systems.engagement.delivery.outbound_http import Outbound, Refusal, Unanswered
from tablewright.systems.engagement.scoring.outages import ModelFailed, ModelOutage
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import Scored

MAX_CALL_ATTEMPTS = 3
FAILURES = 5
REST = 30.0
_FIRST_REST = 2.0
_FIRST_WAIT = 0.2
_PASSES = frozenset({408, 425, 429})
_ABOUT_CUSTOMERS = frozenset({400, 409, 413, 422})


@dataclass(slots=True)
class _Circuit:
    failures: int = 0
    # Of the last failure.
    reason: str = ""
    closed_at: float = 0.0
    trying: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Endpoints:
    """Calls endpoints; each has its own circuit breaker."""

    def __init__(
        self,
        outbound: Outbound,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        entropy: random.Random | None = None,
    ) -> None:
        self._outbound = outbound
        self._clock = clock
        self._sleep = sleep
        self._random = entropy or random.Random()
        self._circuits: dict[str, _Circuit] = {}

    def __call__(
        self,
        model: ScoringModel,
        prospects: Sequence[Prospect],
        deadline: float | None,
        halted: Callable[[], bool] = lambda: False,
    ) -> list[Any]:
        """Results for prospects, not yet checked; ModelFailed if there are none. ``deadline`` is a clock time."""
        assert model.endpoint is not None
        if deadline is not None and deadline <= self._clock():
            # Not a failure of the endpoint.
            raise ModelFailed("the time limit was reached before it was called")
        circuit = self._circuits.setdefault(model.endpoint, _Circuit())
        self._enter(circuit)
        try:
            answers = self._ask(model, model.endpoint, _body(model, prospects), deadline, halted)
        except BaseException as error:
            # An endpoint that refuses these customers is available for others.
            if isinstance(error, ModelFailed) and not isinstance(error, ModelOutage):
                self._answered(circuit)
            else:
                self._failed(circuit, str(error) if isinstance(error, ModelFailed) else "it was interrupted")
            raise
        self._answered(circuit)
        return _read(answers, len(prospects))

    def _answered(self, circuit: _Circuit) -> None:
        with circuit.lock:
            circuit.failures, circuit.trying = 0, False

    def _enter(self, circuit: _Circuit) -> None:
        with circuit.lock:
            if circuit.failures < FAILURES:
                return
            left = circuit.closed_at - self._clock()
            if circuit.trying or left > 0:
                why = f"too many failures; calls are suspended: {circuit.reason}"
                raise ModelOutage(why, rest=max(0.0, left))
            circuit.trying = True

    def _failed(self, circuit: _Circuit, reason: str) -> None:
        with circuit.lock:
            circuit.reason = reason
            circuit.failures += 1
            circuit.trying = False
            if circuit.failures >= FAILURES:
                rest = min(REST, _FIRST_REST * 2.0 ** min(circuit.failures - FAILURES, 10))
                circuit.closed_at = self._clock() + rest

    def _ask(
        self, model: ScoringModel, endpoint: str, body: bytes, deadline: float | None, halted: Callable[[], bool]
    ) -> bytes:
        reason = "it did not respond in time"
        for attempt in range(MAX_CALL_ATTEMPTS):
            if attempt and (halted() or not self._wait(attempt, deadline)):
                break
            within = model.timeout_seconds
            if deadline is not None:
                within = min(within, deadline - self._clock())
                if within <= 0:
                    break
            try:
                headers = self._outbound.credentials(endpoint, model.headers)
                answer = self._outbound.post(endpoint, body, headers, within)
            except Refusal as refusal:
                raise ModelOutage(str(refusal), by_policy=True) from None
            except Unanswered as unanswered:
                reason = "it did not respond in time" if "Timeout" in str(unanswered) else "it cannot be reached"
                continue
            if answer.status == 200:
                return answer.body
            reason = f"it responded with {answer.status}"
            if answer.status in _ABOUT_CUSTOMERS:
                raise ModelFailed(reason)
            if answer.status < 500 and answer.status not in _PASSES:
                break
        raise ModelOutage(reason)

    def _wait(self, attempt: int, deadline: float | None) -> bool:
        pause = self._random.uniform(0, _FIRST_WAIT * 2 ** (attempt - 1))
        if deadline is not None and self._clock() + pause >= deadline:
            return False
        self._sleep(pause)
        return True


def _body(model: ScoringModel, prospects: Sequence[Prospect]) -> bytes:
    customers = [
        {
            "customerId": each.customer_id,
            "subject": {"type": each.subject.type, "id": each.subject.id},
            "attributes": each.attributes,
        }
        for each in prospects
    ]
    return orjson.dumps({"modelId": model.model_id, "customers": customers}, default=_plain)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else str(value)


def _read(body: bytes, number: int) -> list[Any]:
    try:
        answer = json.loads(body, parse_float=_number, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ModelFailed("its response is not JSON") from None
    found = answer.get("scores") if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise ModelFailed("its response has no list of scores")
    if len(found) != number:
        raise ModelFailed("it returned a different number of scores than requested")
    return [Scored(each.get("value"), each.get("confidence")) if isinstance(each, dict) else each for each in found]


def _number(text: str) -> Decimal | str:
    """An exact number; the text itself if even its exponent is too large, which is not a valid score."""
    try:
        return Decimal(text)
    except ArithmeticError:
        return text


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
