"""The permissions of a consumer besides its writes: the stream that it reads, and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.checkpoint_tables import can_have_checkpoints
from tablewright.design.design_loading import DesignError
from tablewright.design.iam.grants import Grant, Resource
from tablewright.model import Design, Table

__all__ = ["of_checkpoints", "of_delivery", "of_stream"]


def of_stream(table: Table) -> Iterator[Grant]:
    yield Grant("DescribeTable", Resource(table), "find the latest stream")
    for action in ("DescribeStream", "GetShardIterator", "GetRecords"):
        yield Grant(action, Resource(table, stream=True), "read the stream")


def of_delivery(design: Design, table: Table, marks: Table) -> Iterator[Grant]:
    """What a function needs that Lambda calls with the records of a stream; Lambda keeps the place in it."""
    for action in ("DescribeStream", "GetShardIterator", "GetRecords"):
        yield Grant(action, Resource(table, stream=True), "Lambda reads the stream for the function")
    yield Grant("ListStreams", Resource(table, everything=True), "Lambda finds the stream; IAM cannot limit it to one")
    _check_checkpoints(design, table, marks)
    yield Grant("PutItem", Resource(marks), "records that were delivered, dead letters")


def of_checkpoints(design: Design, table: Table, checkpoints: Table) -> Iterator[Grant]:
    _check_checkpoints(design, table, checkpoints)
    for action, reason in (
        ("Query", "checkpoints and dead letters"),
        ("GetItem", "checkpoints"),
        ("UpdateItem", "checkpoints and leases"),
        ("PutItem", "dead letters"),
        ("DeleteItem", "checkpoints of closed shards, dead letters"),
    ):
        yield Grant(action, Resource(checkpoints), reason)


def _check_checkpoints(design: Design, table: Table, checkpoints: Table) -> None:
    if checkpoints.name == table.name or not can_have_checkpoints(checkpoints):
        reason = "their stream" if checkpoints.name == table.name else "a key other than two parts of text"
        raise DesignError(
            f"{design.name}: checkpoints of consumers of {table.name} cannot be in {checkpoints.name}, which has "
            f"{reason}; name another table with --checkpoints"
        )
