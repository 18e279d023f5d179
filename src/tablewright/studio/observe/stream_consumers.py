"""The consumers of a stream, as far as the database shows: checkpoints, leases, how far behind, and dead letters.

Consumers store these as items of an internal table of their design (``store.streams.checkpoint``). The lag of a
consumer is derived from the first record after its checkpoint. The internal table is scanned, some pages of it at most.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from tablewright.dynamo import Item
from tablewright.model import ModelError, Table, schema_of
from tablewright.store import Checkpoint, CheckpointTable, DeadLetter
from tablewright.studio.studio_database import StudioDatabase
from tablewright.ui.api_calls import Refused

__all__ = ["ConsumerState", "FoundConsumers", "consumers_of", "images_of"]

_PAGES = 10
_LETTERS = 20


@dataclass(slots=True)
class ConsumerState:
    """A consumer of a stream."""

    name: str
    # How many seconds ago the first record was made that it has not handled; None where that cannot be found out.
    behind: float | None = 0.0
    owner: str | None = None
    leased_until: datetime | None = None
    is_rebuilding: bool = False
    letters: list[DeadLetter] = field(default_factory=list)
    # Whether there are more dead letters than these.
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class FoundConsumers:
    """The consumers of a stream; ``is_complete`` is False if an internal table was not scanned to its end."""

    consumers: list[ConsumerState]
    is_complete: bool


async def consumers_of(database: StudioDatabase, tables: Sequence[str], arn: str) -> FoundConsumers:
    """The consumers of a stream, ordered by name; ``tables`` are the existing tables."""
    found: dict[str, ConsumerState] = {}
    is_complete = True
    internal = {id(each): each for design in database.designs for each in design.internal_tables}
    for each in internal.values():
        name = database.name_of(each)
        if name not in tables or each.type_attribute is None or each.stream is not None:
            continue
        items, is_all = await _items(database, name, each.type_attribute)
        is_complete = is_complete and is_all
        await _note(database, each, items, arn, found)
    return FoundConsumers([found[name] for name in sorted(found)], is_complete)


async def _items(database: StudioDatabase, name: str, attribute: str) -> tuple[list[Item], bool]:
    """The items of consumers in an internal table."""
    request: dict[str, Any] = {
        "TableName": name,
        "FilterExpression": "#kind IN (:checkpoint, :letter)",
        "ExpressionAttributeNames": {"#kind": attribute},
        "ExpressionAttributeValues": {
            ":checkpoint": {"S": "ConsumerCheckpoint"},
            ":letter": {"S": "ConsumerDeadLetter"},
        },
    }
    items: list[Item] = []
    for _ in range(_PAGES):
        answer = await database.call("Scan", **request)
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return items, True
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    return items, False


async def _note(
    database: StudioDatabase, internal: Table, items: list[Item], arn: str, found: dict[str, ConsumerState]
) -> None:
    entities = CheckpointTable.of(internal)
    checkpoints, letters = schema_of(entities.checkpoint), schema_of(entities.dead_letter)
    for item in items:
        with suppress(ValidationError, ModelError):
            if checkpoints.matches(item):
                checkpoint = checkpoints.decode(item)
                if arn.endswith(f"/stream/{checkpoint.stream}"):
                    await _note_checkpoint(database, arn, checkpoint, found)
            elif letters.matches(item):
                letter = letters.decode(item)
                if arn.endswith(f"/stream/{letter.stream}"):
                    state = found.setdefault(letter.consumer, ConsumerState(letter.consumer))
                    if len(state.letters) < _LETTERS:
                        state.letters.append(letter)
                    else:
                        state.has_more = True


async def _note_checkpoint(
    database: StudioDatabase, arn: str, checkpoint: Checkpoint, found: dict[str, ConsumerState]
) -> None:
    state = found.setdefault(checkpoint.consumer, ConsumerState(checkpoint.consumer))
    if checkpoint.is_rebuild_marker:
        state.is_rebuilding = True
        return
    if checkpoint.finished:
        return
    state.owner = checkpoint.owner or state.owner
    state.leased_until = checkpoint.leased_until or state.leased_until
    behind = await _behind(database, arn, checkpoint)
    state.behind = None if behind is None or state.behind is None else max(state.behind, behind)


async def _behind(database: StudioDatabase, arn: str, checkpoint: Checkpoint) -> float | None:
    """The age of the first record behind a checkpoint; None if the stream does not say."""
    position: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
    if checkpoint.sequence is not None:
        position = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": checkpoint.sequence}
    try:
        shard = {"StreamArn": arn, "ShardId": checkpoint.shard}
        iterator = (await database.call("GetShardIterator", **shard, **position))["ShardIterator"]
        records = (await database.call("GetRecords", ShardIterator=iterator, Limit=1))["Records"]
    except Refused:
        return None
    if not records:
        return 0.0
    return max(0.0, time.time() - float(records[0]["dynamodb"]["ApproximateCreationDateTime"]))


def images_of(letter: DeadLetter) -> tuple[Item | None, Item | None]:
    """The item before and after the change of a dead letter, as far as it has them."""
    with suppress(ValueError, TypeError, AttributeError):
        change = json.loads(letter.record).get("dynamodb", {})
        return change.get("OldImage"), change.get("NewImage")
    return None, None
