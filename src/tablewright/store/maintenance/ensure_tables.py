"""Tables created from the model, and compared with it.

    describe all ──▶ differences ──▶ any unsafe? refuse before anything is changed ──▶ apply, one at a time, and wait

Several processes may do so at once, as they start: a change that another one made first counts as done.

It is safe to add a table, an index, time to live, a stream, recovery, encryption, protection and tags. It is not safe
to delete or rebuild: for another key, another projection, a local index, or another view type of the stream. What is in
the table and not in the model, such as an index of an older version, is reported and left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tablewright.model import Index, Table
from tablewright.store.argument_checks import TABLES, wrong_argument
from tablewright.store.context import Context
from tablewright.store.errors import NotReady, ServiceError, TableMismatch
from tablewright.store.flow.driver import Flow, Request, Sleep
from tablewright.store.maintenance.table_differences import Aspect, Difference, Resolution

_FIRST_PAUSE = 0.05
_MAX_PAUSE = 5.0
# The error for a table that another process is changing; and how often a change is then tried.
_BUSY = ("ResourceInUseException", "LimitExceededException", "ContinuousBackupsUnavailableException")
_TRIES = 10


@dataclass(frozen=True, slots=True)
class _Step:
    """A difference, and the request that resolves it, if there is one."""

    difference: Difference
    request: Request | None = None


def ensure_tables(
    context: Context, tables: Sequence[Table], *, dry_run: bool = False, wait: float = 600.0
) -> Flow[list[Difference]]:
    """Create tables, and add what they lack, as the model has it; returns the differences that were found.

    Each change is waited for, up to ``wait`` seconds. A dry run changes nothing and raises nothing: it returns what
    would be applied and what would be refused.
    """
    steps: list[_Step] = []
    for table in tables:
        if not isinstance(table, Table):
            raise wrong_argument("ensure_tables", TABLES, table)
        steps += yield from _plan(context, table, wait=None if dry_run else wait)
    if dry_run:
        return [step.difference for step in steps]
    _refuse([step.difference for step in steps])
    done: list[Difference] = []
    for table in tables:
        mine = [step for step in steps if step.difference.table == context.name_of(table)]
        done += yield from _apply(context, table, mine, wait)
        if any(step.difference.aspect is Aspect.TABLE for step in mine):
            # Time to live and recovery are not part of CreateTable. And if another process was faster, its table is
            # the one to compare with.
            rest = yield from _plan(context, table, wait)
            _refuse([step.difference for step in rest])
            done += yield from _apply(context, table, rest, wait)
    return done


def _refuse(differences: Sequence[Difference]) -> None:
    """TableMismatch, if some of them cannot be resolved safely."""
    refused = [difference for difference in differences if difference.resolution is Resolution.REFUSED]
    if refused:
        raise TableMismatch(refused)


def _apply(context: Context, table: Table, steps: Sequence[_Step], wait: float) -> Flow[list[Difference]]:
    done = []
    for step in steps:
        if step.request is None:
            done.append(step.difference)
            continue
        resolution = Resolution.APPLIED
        try:
            yield from _change(context, table, step, step.request, wait)
        except ServiceError as error:
            if not _is_unsupported(error):
                raise
            resolution = Resolution.UNSUPPORTED
        done.append(replace(step.difference, resolution=resolution))
    return done


def _change(context: Context, table: Table, step: _Step, request: Request, wait: float) -> Flow[None]:
    """Make a change and wait for it, unless another process makes it at the same time."""
    for tries in range(_TRIES):
        try:
            yield request
        except ServiceError as error:
            if _is_unsupported(error):
                raise
            # If a change is refused, the table decides: it may be as required by now.
            left = [each.difference for each in (yield from _plan(context, table, wait))]
            _refuse(left)
            if not any((each.aspect, each.name) == (step.difference.aspect, step.difference.name) for each in left):
                return
            if error.code not in _BUSY or tries == _TRIES - 1:
                raise
            yield Sleep(_FIRST_PAUSE * 2**tries)
        else:
            yield from _until_active(context.name_of(table), wait)
            return


def _is_unsupported(error: ServiceError) -> bool:
    """An operation that the endpoint does not have; or a member of UpdateTable that DynamoDB Local passes over, such as
    encryption, after which it finds nothing to do."""
    return error.is_missing_operation or error.message == "Nothing to update"


def _until_active(name: str, wait: float) -> Flow[dict[str, Any]]:
    """The description of a table once it and all of its indexes are ready."""
    pause = _FIRST_PAUSE
    while True:
        try:
            response = yield Request("DescribeTable", {"TableName": name})
        except ServiceError as error:
            # A table that was just made may not be known everywhere yet.
            if error.code != "ResourceNotFoundException" or wait <= 0:
                raise
            busy = [name]
        else:
            description: dict[str, Any] = response["Table"]
            busy = [name] if description["TableStatus"] != "ACTIVE" else []
            busy += [
                index["IndexName"]
                for index in description.get("GlobalSecondaryIndexes", ())
                if index.get("IndexStatus", "ACTIVE") != "ACTIVE"
            ]
            if not busy:
                return description
        if wait <= 0:
            raise NotReady(f"table {name!r} is not ready yet: {', '.join(busy)}")
        yield Sleep(min(pause, wait))
        wait -= pause
        pause = min(pause * 2, _MAX_PAUSE)


# -- differences ----------------------------------------------------------------------------------------------------


def _plan(context: Context, table: Table, wait: float | None) -> Flow[list[_Step]]:
    """The differences of one table. With ``wait``, a table that is being changed is waited for."""
    name = context.name_of(table)
    try:
        response = yield Request("DescribeTable", {"TableName": name})
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        missing = Difference(name, Aspect.TABLE, "", _key_text(table.partition, table.sort), None, Resolution.PLANNED)
        return [_Step(missing, Request("CreateTable", table.create_request(name)))]
    description: dict[str, Any] = response["Table"]
    if wait is not None:
        description = yield from _until_active(name, wait)
    steps = [
        *_compared_key(table, name, description),
        *_compared_indexes(table, name, description),
        *_compared_settings(table, name, description),
    ]
    steps += yield from _compared_time_to_live(table, name)
    steps += yield from _compared_recovery(table, name)
    steps += yield from _compared_tags(table, name, description)
    return steps


def _compared_key(table: Table, name: str, description: Mapping[str, Any]) -> Iterator[_Step]:
    found = _described_key(description["KeySchema"])
    expected = _key_text(table.partition, table.sort)
    if found != expected:
        yield _refused(name, Aspect.KEY, "", expected, found)
    types = _types(description)
    for attribute in table.key_attributes:
        wanted = table.types.get(attribute, "S")
        if types.get(attribute, wanted) != wanted:
            yield _refused(name, Aspect.ATTRIBUTE_TYPE, attribute, wanted, types[attribute])


def _compared_indexes(table: Table, name: str, description: Mapping[str, Any]) -> Iterator[_Step]:
    wanted = table.create_request(name)
    present = {index["IndexName"]: index for index in _described_indexes(description)}
    for definition in _described_indexes(wanted):
        index = table.index(definition["IndexName"])
        found = present.pop(index.name, None)
        if found is None:
            yield _missing_index(table, name, index, definition, description)
            continue
        for aspect, text in ((Aspect.INDEX_KEY, _index_key_text), (Aspect.PROJECTION, _projection_text)):
            if text(found) != text(definition):
                yield _refused(name, aspect, index.name, text(definition), text(found))
    for index_name, found in present.items():
        yield _Step(Difference(name, Aspect.INDEX, index_name, None, _index_key_text(found), Resolution.LEFT))


def _missing_index(
    table: Table, name: str, index: Index, definition: dict[str, Any], description: Mapping[str, Any]
) -> _Step:
    if not index.is_global:
        # A local index can only be created together with its table.
        return _refused(name, Aspect.INDEX, index.name, _index_key_text(definition), None)
    types = _types(description)
    types.update({attribute: table.types.get(attribute, "S") for attribute in index.attributes})
    throughput = description.get("ProvisionedThroughput", {})
    if description.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED") == "PROVISIONED":
        capacity = {
            unit: throughput[unit] for unit in ("ReadCapacityUnits", "WriteCapacityUnits") if unit in throughput
        }
        definition = {**definition, "ProvisionedThroughput": capacity}
    request = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in types.items()],
        "GlobalSecondaryIndexUpdates": [{"Create": definition}],
    }
    difference = Difference(name, Aspect.INDEX, index.name, _index_key_text(definition), None, Resolution.PLANNED)
    return _Step(difference, Request("UpdateTable", request))


def _compared_settings(table: Table, name: str, description: Mapping[str, Any]) -> Iterator[_Step]:
    stream = description.get("StreamSpecification", {})
    view = stream.get("StreamViewType") if stream.get("StreamEnabled") else None
    if table.stream is not None and view is None:
        specification = {"StreamEnabled": True, "StreamViewType": table.stream}
        yield _update(name, Aspect.STREAM, table.stream, StreamSpecification=specification)
    elif table.stream is not None and view != table.stream:
        # Another view type means another stream: consumers of the old one would lose their position.
        yield _refused(name, Aspect.STREAM, "", table.stream, view)
    elif view is not None and table.stream is None:
        yield _Step(Difference(name, Aspect.STREAM, "", None, view, Resolution.LEFT))
    if table.encryption and description.get("SSEDescription", {}).get("Status") not in ("ENABLED", "ENABLING"):
        yield _update(name, Aspect.ENCRYPTION, "enabled", SSESpecification={"Enabled": True})
    if table.deletion_protection and not description.get("DeletionProtectionEnabled"):
        yield _update(name, Aspect.PROTECTION, "enabled", DeletionProtectionEnabled=True)


def _compared_time_to_live(table: Table, name: str) -> Flow[list[_Step]]:
    response = yield from _asked("DescribeTimeToLive", {"TableName": name})
    if response is None:
        return _unsupported(name, Aspect.TIME_TO_LIVE, table.ttl)
    described = response["TimeToLiveDescription"]
    enabled = described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    found = described.get("AttributeName") if enabled else None
    if found == table.ttl:
        return []
    if table.ttl is None:
        return [_Step(Difference(name, Aspect.TIME_TO_LIVE, "", None, found, Resolution.LEFT))]
    if found is not None:
        return [_refused(name, Aspect.TIME_TO_LIVE, "", table.ttl, found)]
    body = {"TableName": name, "TimeToLiveSpecification": {"AttributeName": table.ttl, "Enabled": True}}
    difference = Difference(name, Aspect.TIME_TO_LIVE, "", table.ttl, None, Resolution.PLANNED)
    return [_Step(difference, Request("UpdateTimeToLive", body))]


def _compared_recovery(table: Table, name: str) -> Flow[list[_Step]]:
    if not table.point_in_time_recovery:
        return []
    response = yield from _asked("DescribeContinuousBackups", {"TableName": name})
    if response is None:
        return _unsupported(name, Aspect.RECOVERY, "enabled")
    backups = response["ContinuousBackupsDescription"]
    if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED":
        return []
    body = {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    difference = Difference(name, Aspect.RECOVERY, "", "enabled", None, Resolution.PLANNED)
    return [_Step(difference, Request("UpdateContinuousBackups", body))]


def _compared_tags(table: Table, name: str, description: Mapping[str, Any]) -> Flow[list[_Step]]:
    if not table.tags:
        return []
    arn = description["TableArn"]
    found: dict[str, str] = {}
    body = {"ResourceArn": arn}
    while True:
        response = yield from _asked("ListTagsOfResource", body)
        if response is None:
            return _unsupported(name, Aspect.TAG, ", ".join(table.tags))
        found.update({tag["Key"]: tag["Value"] for tag in response.get("Tags", ())})
        if not response.get("NextToken"):
            break
        body = {"ResourceArn": arn, "NextToken": response["NextToken"]}
    return [
        _Step(
            Difference(name, Aspect.TAG, key, value, found.get(key), Resolution.PLANNED),
            Request("TagResource", {"ResourceArn": arn, "Tags": [{"Key": key, "Value": value}]}),
        )
        for key, value in table.tags.items()
        if found.get(key) != value
    ]


def _asked(operation: str, body: dict[str, Any]) -> Flow[dict[str, Any] | None]:
    """The response; None if the endpoint does not have the operation."""
    try:
        response: dict[str, Any] = yield Request(operation, body)
    except ServiceError as error:
        if not _is_unsupported(error):
            raise
        return None
    return response


def _unsupported(name: str, aspect: Aspect, expected: str | None) -> list[_Step]:
    if expected is None:
        return []
    return [_Step(Difference(name, aspect, "", expected, None, Resolution.UNSUPPORTED))]


def _refused(name: str, aspect: Aspect, subject: str, expected: str, found: str | None) -> _Step:
    return _Step(Difference(name, aspect, subject, expected, found, Resolution.REFUSED))


def _update(name: str, aspect: Aspect, expected: str, **members: Any) -> _Step:
    difference = Difference(name, aspect, "", expected, None, Resolution.PLANNED)
    return _Step(difference, Request("UpdateTable", {"TableName": name, **members}))


# -- descriptions as text -------------------------------------------------------------------------------------------


def _types(description: Mapping[str, Any]) -> dict[str, str]:
    return {entry["AttributeName"]: entry["AttributeType"] for entry in description["AttributeDefinitions"]}


def _described_indexes(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        index
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for index in description.get(member) or ()
    ]


def _described_key(schema: Sequence[Mapping[str, str]]) -> str:
    kinds = ("HASH", "RANGE")
    parts = [[entry["AttributeName"] for entry in schema if entry["KeyType"] == kind] for kind in kinds]
    return " / ".join("+".join(part) for part in parts if part)


def _key_text(partition: str, sort: str | None) -> str:
    return partition if sort is None else f"{partition} / {sort}"


def _index_key_text(index: Mapping[str, Any]) -> str:
    return _described_key(index["KeySchema"])


def _projection_text(index: Mapping[str, Any]) -> str:
    projection = index["Projection"]
    included = ", ".join(sorted(projection.get("NonKeyAttributes") or ()))
    return f"{projection['ProjectionType']} {included}".strip()
