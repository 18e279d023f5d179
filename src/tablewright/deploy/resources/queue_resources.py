"""Queues of what could not be handled, each with an alarm (``alarm_resources``)."""

from __future__ import annotations

from tablewright.deploy.resources.data_resources import KEY
from tablewright.deploy.stack_template import Stack, att

__all__ = ["FAILURES", "add_failures"]

FAILURES = "Failures"
# The maximum for a queue: a person has to look into it by then.
_KEPT_SECONDS = 14 * 24 * 3600


def add_failures(stack: Stack, name: str, comment: str, owner: str | None = None) -> str:
    """A queue of failures; its name, which begins with ``name``."""
    return stack.add(
        f"{name}{FAILURES}",
        "AWS::SQS::Queue",
        {"KmsMasterKeyId": att(KEY), "MessageRetentionPeriod": _KEPT_SECONDS, "VisibilityTimeout": 60},
        comment,
        owner=owner,
    )
