"""The state of a relocation in a place: a control table, with the switch, and who may write here.

    switch                  open, held, moved, standby (``PlaceSwitch``)
    main                    owner: the process that does the relocation; in the target, also its progress
    lane, one for each      a segment that is copied, or a shard that is followed: owner, position

An owner is a number that only grows. To take over, a process first writes its own into ``main``, which creating a lane
requires, and then into every lane. Later requests of the previous process are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import Item
from tablewright.store import PlaceSwitch, ServiceError
from tablewright.transfer.errors import TransferError
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.table_definition import TableDefinition
from tablewright.transfer.places.table_place import TablePlace

_MAIN: Item = {"id": {"S": "main"}, "part": {"S": "main"}}
CONTROL_DEFINITION = TableDefinition(
    {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in PlaceSwitch.KEY],
        "KeySchema": [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(PlaceSwitch.KEY, ("HASH", "RANGE"), strict=True)
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
)
_REFUSED = "ConditionalCheckFailedException"

# A write of a transaction: {"Put": {...}}.
Action = dict[str, Any]


class TakenOver(TransferError):
    """Another process has taken over the relocation."""

    def __init__(self) -> None:
        super().__init__("another process has taken over this relocation; this one has stopped")


@dataclass(slots=True)
class Lane:
    """The progress of a segment or a shard; ``position`` is JSON."""

    name: str
    position: dict[str, Any]

    @property
    def key(self) -> Item:
        return {"id": {"S": "lane"}, "part": {"S": self.name}}


class ControlTable:
    """The control table of one place, as the process with a number uses it; 0 only reads."""

    def __init__(self, place: TablePlace, calls: PatientCalls) -> None:
        self.place = place
        self._calls = calls
        self.owner = 0

    async def ensure(self) -> None:
        """Create the table if it does not exist."""
        await self.place.create(PlaceSwitch.TABLE, CONTROL_DEFINITION)

    async def _get(self, key: Item) -> Item | None:
        try:
            response = await self._calls.call(
                "GetItem", {"TableName": PlaceSwitch.TABLE, "Key": key, "ConsistentRead": True}
            )
        except ServiceError as error:
            if error.code == "ResourceNotFoundException":
                return None
            raise
        found: Item | None = response.get("Item")
        return found

    # -- the switch -------------------------------------------------------------------------------------------------

    async def switch(self) -> PlaceSwitch:
        return PlaceSwitch.of(await self._get(PlaceSwitch.KEY))

    async def set_switch(self, switch: PlaceSwitch, before: PlaceSwitch) -> None:
        """Write the switch of a place, unless it was changed concurrently."""
        put: dict[str, Any] = {"TableName": PlaceSwitch.TABLE, "Item": switch.item()}
        if before.exists:
            put |= {
                "ConditionExpression": "#s = :s AND epoch = :e",
                "ExpressionAttributeNames": {"#s": "state"},
                "ExpressionAttributeValues": {":s": {"S": before.state}, ":e": {"N": str(before.epoch)}},
            }
        else:
            put["ConditionExpression"] = "attribute_not_exists(id)"
        await self.write([{"Put": put}])

    async def step(self, update: dict[str, Any]) -> bool:
        """Move the switch one step; returns whether it did: another process may have moved it."""
        try:
            await self.write([{"Update": update}])
        except _StepRefused:
            return False
        return True

    # -- main -------------------------------------------------------------------------------------------------------

    async def main(self) -> Item | None:
        return await self._get(_MAIN)

    async def create_main(self, content: Item) -> None:
        """Begin a relocation, unless it has begun concurrently."""
        body = {
            "TableName": PlaceSwitch.TABLE,
            "Item": {**_MAIN, **content},
            "ConditionExpression": "attribute_not_exists(id)",
        }
        try:
            await self._calls.call("PutItem", body)
        except ServiceError as error:
            if error.code != _REFUSED:
                raise

    async def next_owner(self) -> int:
        """A number that no process had before."""
        body = {
            "TableName": PlaceSwitch.TABLE,
            "Key": _MAIN,
            "UpdateExpression": "ADD #o :one",
            "ExpressionAttributeNames": {"#o": "owner"},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        }
        return int((await self._calls.call("UpdateItem", body))["Attributes"]["owner"]["N"])

    async def take_over(self, owner: int) -> None:
        """Become the process that may write here."""
        self.owner = owner
        for key in [_MAIN, *(lane.key for lane in await self.lanes())]:
            body = {
                "TableName": PlaceSwitch.TABLE,
                "Key": key,
                "UpdateExpression": "SET #o = :me",
                "ConditionExpression": "attribute_not_exists(#o) OR #o <= :me",
                "ExpressionAttributeNames": {"#o": "owner"},
                "ExpressionAttributeValues": {":me": self._me},
            }
            await self._unless_taken("UpdateItem", body)

    async def update_main(self, values: Mapping[str, Any], removed: Iterable[str] = ()) -> Item:
        """Change the state of the relocation; returns all of it."""
        names = {f"#{number}": name for number, name in enumerate([*values, *removed])}
        placed = dict(zip(values, names, strict=False))
        sets = ", ".join(f"{placed[name]} = :{placed[name][1:]}" for name in values)
        gone = ", ".join(name for name, stands_for in names.items() if stands_for not in values)
        body = {
            "TableName": PlaceSwitch.TABLE,
            "Key": _MAIN,
            "UpdateExpression": f"SET {sets}" + (f" REMOVE {gone}" if gone else ""),
            "ConditionExpression": "#owner = :me",
            "ExpressionAttributeNames": {**names, "#owner": "owner"},
            "ExpressionAttributeValues": {
                ":me": self._me,
                **{f":{placed[name][1:]}": value for name, value in values.items()},
            },
            "ReturnValues": "ALL_NEW",
        }
        response = await self._unless_taken("UpdateItem", body)
        found: Item = response["Attributes"]
        return found

    async def ask(self, request: str, phases: Iterable[str]) -> bool:
        """Request a step of the relocation, if it is in one of some phases; returns whether it is."""
        known = {f":p{number}": {"S": phase} for number, phase in enumerate(phases)}
        body = {
            "TableName": PlaceSwitch.TABLE,
            "Key": _MAIN,
            "UpdateExpression": "SET asked = :a REMOVE answer",
            "ConditionExpression": f"phase IN ({', '.join(known)})",
            "ExpressionAttributeValues": {":a": {"S": request}, **known},
        }
        return await self._accepted(body)

    async def withdraw(self, request: str) -> None:
        """Withdraw the request."""
        body = {
            "TableName": PlaceSwitch.TABLE,
            "Key": _MAIN,
            "UpdateExpression": "REMOVE asked",
            "ConditionExpression": "asked = :a",
            "ExpressionAttributeValues": {":a": {"S": request}},
        }
        await self._accepted(body)

    async def clear(self) -> None:
        """Delete the state of the relocation, except for the switch."""
        for key in [*(lane.key for lane in await self.lanes()), _MAIN]:
            body = {
                "TableName": PlaceSwitch.TABLE,
                "Key": key,
                "ConditionExpression": "attribute_not_exists(#o) OR #o = :me",
                "ExpressionAttributeNames": {"#o": "owner"},
                "ExpressionAttributeValues": {":me": self._me},
            }
            await self._unless_taken("DeleteItem", body)

    # -- lanes ------------------------------------------------------------------------------------------------------

    async def lanes(self) -> list[Lane]:
        found: list[Lane] = []
        body: dict[str, Any] = {
            "TableName": PlaceSwitch.TABLE,
            "KeyConditionExpression": "id = :lane",
            "ExpressionAttributeValues": {":lane": {"S": "lane"}},
            "ConsistentRead": True,
        }
        while True:
            response = await self._calls.call("Query", body)
            found += [Lane(item["part"]["S"], json.loads(item["position"]["S"])) for item in response["Items"]]
            if "LastEvaluatedKey" not in response:
                return found
            body["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    async def set_lane(self, name: str, position: dict[str, Any]) -> Lane:
        """A lane that begins at a position."""
        lane = Lane(name, position)
        item = {**lane.key, "owner": self._me, "position": {"S": _text(position)}}
        await self.write([{"Put": {"TableName": PlaceSwitch.TABLE, "Item": item}}])
        return lane

    async def advance(self, lane: Lane, position: dict[str, Any], actions: list[Action], units: float = 1.0) -> None:
        """Write something together with the new position of the lane, in one transaction."""
        update = {
            "TableName": PlaceSwitch.TABLE,
            "Key": lane.key,
            "UpdateExpression": "SET #p = :new",
            "ConditionExpression": "#o = :me AND #p = :old",
            "ExpressionAttributeNames": {"#o": "owner", "#p": "position"},
            "ExpressionAttributeValues": {
                ":me": self._me,
                ":old": {"S": _text(lane.position)},
                ":new": {"S": _text(position)},
            },
        }
        try:
            await self._calls.call("TransactWriteItems", {"TransactItems": [{"Update": update}, *actions]}, units)
        except ServiceError as error:
            if not _is_refused(error):
                raise
            # The first attempt may have succeeded, and its response may have been lost.
            item = await self._get(lane.key) or {}
            if item.get("owner") != self._me or item.get("position") != {"S": _text(position)}:
                raise TakenOver from None
        lane.position = position

    async def write(self, actions: list[Action]) -> None:
        """Write something, if this process still may."""
        check = {
            "TableName": PlaceSwitch.TABLE,
            "Key": _MAIN,
            "ConditionExpression": "#o = :me",
            "ExpressionAttributeNames": {"#o": "owner"},
            "ExpressionAttributeValues": {":me": self._me},
        }
        try:
            await self._calls.call("TransactWriteItems", {"TransactItems": [{"ConditionCheck": check}, *actions]})
        except ServiceError as error:
            if not _is_refused(error):
                raise
            if ((await self.main()) or {}).get("owner") != self._me:
                raise TakenOver from None
            raise _StepRefused from None

    # -- conditions -------------------------------------------------------------------------------------------------

    @property
    def _me(self) -> dict[str, str]:
        return {"N": str(self.owner)}

    async def _unless_taken(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._calls.call(operation, body)
        except ServiceError as error:
            if error.code != _REFUSED:
                raise
            raise TakenOver from None

    async def _accepted(self, body: dict[str, Any]) -> bool:
        try:
            await self._calls.call("UpdateItem", body)
        except ServiceError as error:
            if error.code != _REFUSED:
                raise
            return False
        return True


class _StepRefused(TransferError):
    """The switch was changed concurrently."""

    def __init__(self) -> None:
        super().__init__("another process has changed the switch; run the same command again")


def _is_refused(error: ServiceError) -> bool:
    reasons = error.details.get("CancellationReasons", ())
    return any(reason.get("Code") == "ConditionalCheckFailed" for reason in reasons)


def _text(position: dict[str, Any]) -> str:
    return json.dumps(position, sort_keys=True)
