"""Errors that services raise, without HTTP; ``http.problems`` maps each to a response.

ServiceProblem
├── Unauthenticated     no valid token
├── Forbidden           the caller is not allowed to do this
├── ResourceNotFound    not found
├── Invalid             the request does not fit the stored data
├── StateConflict       a conflict with the current state: a duplicate, a step that is not allowed
├── PreconditionFailed  it has changed since the caller read it
├── TooLarge            more than can be stored
├── TooManyRequests     too many requests; try again after ``retry_after`` seconds
└── ServiceUnavailable  a dependency of the service is unavailable
"""

from __future__ import annotations

from typing import Any


class ServiceProblem(Exception):
    """The base class of all errors of a service.

    ``kind`` is stable, for programs (the last segment of a problem's ``type``); the message is for people. ``details``
    are further members of the response, such as the invalid ``field``.
    """

    kind = "problem"

    def __init__(self, message: str, *, kind: str | None = None, **details: Any) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind
        self.details = details


class Unauthenticated(ServiceProblem):
    kind = "unauthenticated"


class Forbidden(ServiceProblem):
    kind = "forbidden"


class ResourceNotFound(ServiceProblem):
    kind = "not-found"


class Invalid(ServiceProblem):
    kind = "invalid"


class StateConflict(ServiceProblem):
    kind = "conflict"


class PreconditionFailed(ServiceProblem):
    kind = "precondition-failed"


class TooLarge(ServiceProblem):
    kind = "too-large"


class TooManyRequests(ServiceProblem):
    kind = "too-many-requests"

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServiceUnavailable(ServiceProblem):
    kind = "unavailable"
