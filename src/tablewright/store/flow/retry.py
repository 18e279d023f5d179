"""Sending of requests: metered, and retried while the service is busy.

All flows send their requests through ``retrying``. The backoff is exponential with full jitter: a random time up to a
ceiling that doubles, so that clients that failed together do not retry together. The load on a service that fails or
throttles is limited for the store as a whole (``pacing``).

A write whose response was lost may have been executed. It is sent again if that does no harm: the same item is put, a
condition refuses it, a transaction has a token. A write that would count twice is not sent again, and a write that is
refused after its response was lost may have refused itself: both are ``OutcomeUnknown``.
"""

from __future__ import annotations

from tablewright.store.context import Context
from tablewright.store.errors import OutcomeUnknown, ServiceError, TableNotFound
from tablewright.store.flow.driver import Flow, Request, Response, Sleep, Work

MAX_REQUEST_ATTEMPTS = 8
_FIRST_CEILING = 0.05
_MAX_CEILING = 5.0

_TRANSIENT = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "Throttling",
        "ThrottledException",
        "RequestThrottled",
        "RequestLimitExceeded",
        "InternalServerError",
        "InternalFailure",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "TransactionConflictException",
        "TransactionInProgressException",
        "ReplicatedWriteConflictException",
        "DeadlineExceeded",
        "NotConnected",
        "ConnectionError",
        # A response with a status and no code comes from something in front of the service.
        "408",
        "429",
        "500",
        "502",
        "503",
        "504",
    }
)
# After these, a write may have been executed, or may still be.
_UNCERTAIN = frozenset(
    {
        "InternalServerError",
        "InternalFailure",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "TransactionInProgressException",
        "ConnectionError",
        "DeadlineExceeded",
        "500",
        "502",
        "503",
        "504",
    }
)
# The table is asked for more than its capacity.
_THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "Throttling",
        "ThrottledException",
        "RequestThrottled",
        "RequestLimitExceeded",
        "429",
    }
)
# Concurrent writers of the same items: the service is fine.
_CONTENTION = frozenset(
    {"TransactionConflictException", "TransactionCanceledException", "ReplicatedWriteConflictException"}
)
_CONDITION_FAILED = "ConditionalCheckFailedException"
# Reasons of a cancelled transaction that may pass.
_TRANSIENT_REASONS = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})

_METERED = frozenset(
    {
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    }
)


# Reads with the same response from every server.
_HEDGED = frozenset({"BatchGetItem", "GetItem", "Query", "TransactGetItems"})


def retrying(
    context: Context, request: Request, attempts: int = MAX_REQUEST_ATTEMPTS, *, repeatable: bool = True
) -> Flow[Response]:
    """Send a request, and retry it while it fails for a temporary reason; reports consumed capacity to the hook.

    ``repeatable``: whether executing it twice is the same as once. If not, it is not retried when it may have been
    executed.
    """
    hook, pacing = context.on_capacity, context.pacing
    if hook is not None and request.operation in _METERED:
        body = {**request.body, "ReturnConsumedCapacity": "INDEXES"}
        request = Request(request.operation, body, request.pattern)
    if context.hedge_after is not None and request.operation in _HEDGED:
        request.hedge_after = context.hedge_after
    budget = pacing.blob_budget if isinstance(request, Work) else pacing.budget
    attempt = 0
    lost: ServiceError | None = None
    while True:
        if pacing.rates and (seconds := pacing.wait(tables_of(request))):
            yield Sleep(seconds)
        try:
            response: Response = yield request
        except ServiceError as error:
            attempt += 1
            if not is_undone(error):
                if not repeatable:
                    raise OutcomeUnknown(request.operation, error) from error
                lost = error
            elif lost is not None and error.code == _CONDITION_FAILED:
                raise OutcomeUnknown(request.operation, lost) from error
            if error.code in _THROTTLED:
                pacing.throttled(tables_of(request))
            if attempt >= attempts or not is_transient(error) or not (error.code in _CONTENTION or budget.take()):
                _check_tables(error, request)
                raise
        else:
            budget.succeeded(attempt > 0)
            if pacing.rates:
                pacing.succeeded(tables_of(request))
            if hook is not None and "ConsumedCapacity" in response:
                hook(request.pattern, request.operation, response["ConsumedCapacity"])
            return response
        yield backoff(context, attempt)


def _check_tables(error: ServiceError, request: Request) -> None:
    """Raise an error that names the call to make, if there is no table or index for a request yet."""
    if request.operation not in _METERED:
        return
    if error.code == "ResourceNotFoundException":
        raise TableNotFound(tables_of(request)) from None
    if error.code == "ValidationException" and error.is_missing_index:
        table = request.body["TableName"]
        raise ServiceError(
            error.code, f"{error.message} (table {table}); store.ensure_tables(...) adds it", error.details
        ) from None


def tables_of(request: Request) -> list[str]:
    """The tables of a request."""
    body = request.body
    if "TransactItems" in body:
        names = [part["TableName"] for item in body["TransactItems"] for part in item.values()]
    else:
        names = [body["TableName"]] if "TableName" in body else list(body.get("RequestItems", ()))
    return list(dict.fromkeys(names))


def backoff(context: Context, attempt: int) -> Sleep:
    """The wait after so many failures."""
    # Bounded, because a consumer may fail for days, and a power past 1023 overflows a float.
    ceiling = min(_MAX_CEILING, _FIRST_CEILING * 2.0 ** min(attempt - 1, 30))
    return Sleep(context.entropy.uniform(0.0, ceiling))


def is_undone(error: ServiceError) -> bool:
    """Whether it is certain that the request has not been executed, and will not be."""
    return error.code not in _UNCERTAIN


def is_transient(error: ServiceError) -> bool:
    """Whether the same request may succeed a moment later."""
    if error.code != "TransactionCanceledException":
        return error.code in _TRANSIENT
    codes = {reason.get("Code", "None") for reason in error.details.get("CancellationReasons", ())} - {"None"}
    return bool(codes) and codes <= _TRANSIENT_REASONS
