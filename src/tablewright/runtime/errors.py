"""What a service refuses, without a word of HTTP; ``problems`` says what each becomes there.

ServiceProblem
├── Unauthenticated     nobody knows who is asking
├── Forbidden           who is asking may not
├── Missing             what was asked for is not there
├── Invalid             what was sent cannot be
├── Clash               it does not fit what is there: a duplicate, a step that the state does not allow
├── TooLarge            it would be more than can be kept
├── TooMany             too often; ``retry_after`` seconds
└── Unready             something that it needs cannot be reached at the moment
"""

from __future__ import annotations

from typing import Any


class ServiceProblem(Exception):
    """The base of all refusals. ``kind`` is stable, for programs; the message is for people.

    ``details`` are further members of the answer, such as the ``field`` that is meant.
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


class Missing(ServiceProblem):
    kind = "not-found"


class Invalid(ServiceProblem):
    kind = "invalid"


class Clash(ServiceProblem):
    kind = "conflict"


class TooLarge(ServiceProblem):
    kind = "too-large"


class TooMany(ServiceProblem):
    kind = "too-many-requests"

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unready(ServiceProblem):
    kind = "unavailable"
