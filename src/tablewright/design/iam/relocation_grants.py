"""The permissions for a relocation, in both of its places: of the programs that use the tables, and of the process.

Programs that use the tables read the switch. A process also ends an abandoned hold, and opens the place that tables
have moved to; a tenant only reads it, since holding the switch would hold everyone. The relocation process may do in
either place what the other needs: tables return in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.iam.grants import Grant, Resource
from tablewright.model import Design, Table

__all__ = ["of_relocation", "of_switch"]

_OF_TABLE = (
    ("DescribeTable", "tables as they are"),
    ("DescribeTimeToLive", "tables as they are"),
    ("DescribeContinuousBackups", "tables as they are"),
    ("CreateTable", "tables of the target"),
    ("UpdateTable", "streams, deletion protection"),
    # A stack turns it on for all tables, whatever the design says.
    ("UpdateContinuousBackups", "point-in-time recovery in the target"),
    ("Scan", "copy and compare items"),
    ("BatchGetItem", "compare items"),
    ("PutItem", "items of the other place"),
    ("DeleteItem", "items that are gone from the other place"),
)
_OF_CONTROL = (
    ("CreateTable", "the table of the switch"),
    ("DescribeTable", "the table of the switch"),
    ("GetItem", "the switch, the progress"),
    ("PutItem", "the switch, the progress"),
    ("UpdateItem", "the switch, the progress"),
    ("DeleteItem", "what is left when it is finished"),
    ("Query", "segments and shards"),
    ("ConditionCheckItem", "whether another process has taken over"),
)
_OF_TRIAL = ("CreateTable", "DescribeTable", "UpdateTable", "PutItem", "DeleteTable")


def of_switch(switch: Table, *, is_tenant: bool, reads_streams: bool) -> Iterator[Grant]:
    """The additional permissions of a role while its tables are relocated."""
    place = Resource(switch, shared=True)
    yield Grant("GetItem", place, "where the tables are")
    if not is_tenant:
        yield Grant("UpdateItem", place, "end an abandoned hold, open the place that tables have moved to")
    if reads_streams:
        reason = "finish the stream of the place that was left; IAM cannot limit it to one"
        yield Grant("ListStreams", Resource(switch, everything=True), reason)


def of_relocation(design: Design, switch: Table) -> Iterator[Grant]:
    """What ``tablewright relocate`` needs, for all tables of a design."""
    control = Resource(switch, shared=True)
    for action, reason in _OF_CONTROL:
        yield Grant(action, control, reason)
    trial = Table(f"{switch.name}-check", switch.partition, switch.sort)
    for action in _OF_TRIAL:
        yield Grant(
            action, Resource(trial, shared=True), "whether streams can be turned off and on, where that is not known"
        )
    yield Grant("ListTables", Resource(switch, everything=True), "which tables there are; IAM cannot limit it to one")
    for table in design.all_tables:
        for action, reason in _OF_TABLE:
            yield Grant(action, Resource(table), reason)
        if table.ttl is not None:
            yield Grant("UpdateTimeToLive", Resource(table), "expiry in the target")
        for action in ("DescribeStream", "GetShardIterator", "GetRecords"):
            yield Grant(action, Resource(table, stream=True), "follow changes")
