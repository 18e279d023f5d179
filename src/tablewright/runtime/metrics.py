"""Metrics for Prometheus, and the backend that counts requests to the database.

DynamoDB's own metrics, by table or operation: consumed capacity, user errors, system errors, failed conditions,
throttled requests, latency. Also HTTP requests, consumers, events and mail.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tablewright.store import Backend, Request, Response, ServiceError

_THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "Throttling",
    }
)
_SYSTEM_ERRORS = frozenset(
    {"InternalServerError", "InternalFailure", "ServiceUnavailable", "ConnectionError", "NotConnected"}
)
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The metrics of one process; each instance has a registry of its own, so that tests do not add up."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._labelled: dict[tuple[Any, ...], Any] = {}
        self.requests = Counter(
            "http_requests_total", "HTTP requests", ["system", "route", "method", "status"], registry=registry
        )
        self.request_seconds = Histogram(
            "http_request_seconds",
            "Time to respond",
            ["system", "route", "method"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.capacity = Counter(
            "dynamodb_consumed_capacity_units_total",
            "Consumed capacity, by access pattern",
            ["table", "pattern", "operation"],
            registry=registry,
        )
        self.operations = Histogram(
            "dynamodb_request_seconds", "Latency of operations", ["operation"], buckets=_SECONDS, registry=registry
        )
        self.user_errors = Counter(
            "dynamodb_user_errors_total", "Requests that were rejected", ["operation", "code"], registry=registry
        )
        self.system_errors = Counter(
            "dynamodb_system_errors_total", "Requests that failed in the database", ["operation"], registry=registry
        )
        self.failed_conditions = Counter(
            "dynamodb_conditional_check_failed_total", "Conditions that did not hold", ["operation"], registry=registry
        )
        self.throttles = Counter(
            "dynamodb_throttled_requests_total", "Requests that were throttled", ["operation"], registry=registry
        )
        self.records = Counter(
            "stream_records_total", "Records that consumers have handled", ["consumer"], registry=registry
        )
        self.dead_letters = Counter(
            "stream_dead_letters_total", "Records that became dead letters", ["consumer"], registry=registry
        )
        self.consumer_failures = Counter(
            "stream_consumer_failures_total", "Passes of consumers that failed", ["consumer"], registry=registry
        )
        self.events = Counter("events_total", "Events that were published", ["type"], registry=registry)
        self.mail = Counter("mail_total", "Mail messages, by outcome", ["outcome"], registry=registry)
        self.consumers = Gauge("stream_consumers", "Consumers that are running", registry=registry)

    def on_capacity(self, pattern: str, operation: str, consumed: Any) -> None:
        """The store's capacity hook."""
        for member in consumed if isinstance(consumed, list) else [consumed]:
            self.of(self.capacity, member.get("TableName", ""), pattern, operation).inc(
                member.get("CapacityUnits", 0.0)
            )

    def of(self, metric: Any, *labels: str) -> Any:
        """A metric with its labels, cached, as the library's own lookup takes several times as long."""
        key = (metric, *labels)
        found = self._labelled.get(key)
        if found is None:
            found = self._labelled[key] = metric.labels(*labels)
        return found

    def text(self) -> bytes:
        return generate_latest(self.registry)


class MeasuredBackend:
    """A backend whose requests are timed, and whose errors are counted."""

    def __init__(self, backend: Backend, metrics: Metrics) -> None:
        self._backend = backend
        self._metrics = metrics

    def call(self, request: Request) -> Response:
        began = time.perf_counter()
        try:
            return self._backend.call(request)
        except ServiceError as error:
            self._count(request.operation, error)
            raise
        finally:
            self._metrics.of(self._metrics.operations, request.operation).observe(time.perf_counter() - began)

    async def call_async(self, request: Request) -> Response:
        began = time.perf_counter()
        try:
            return await self._backend.call_async(request)
        except ServiceError as error:
            self._count(request.operation, error)
            raise
        finally:
            self._metrics.of(self._metrics.operations, request.operation).observe(time.perf_counter() - began)

    def close(self) -> None:
        self._backend.close()

    def _count(self, operation: str, error: ServiceError) -> None:
        metrics = self._metrics
        codes = [error.code]
        if error.code == "TransactionCanceledException":
            reasons: list[Mapping[str, Any]] = error.details.get("CancellationReasons", [])
            codes = [str(reason.get("Code", "None")) for reason in reasons]
        if any(code in ("ConditionalCheckFailedException", "ConditionalCheckFailed") for code in codes):
            metrics.failed_conditions.labels(operation).inc()
        elif any(code in _THROTTLES or code in ("ThrottlingError", "ProvisionedThroughputExceeded") for code in codes):
            metrics.throttles.labels(operation).inc()
        elif error.code in _SYSTEM_ERRORS or error.code.startswith("5"):
            metrics.system_errors.labels(operation).inc()
        else:
            metrics.user_errors.labels(operation, error.code).inc()
