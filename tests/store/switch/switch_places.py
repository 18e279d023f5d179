"""Two engines with switches, and a backend whose requests can be kept on their way."""

from __future__ import annotations

import threading
import time
from typing import Any

from tablewright.engine import Engine
from tablewright.store import Backend, EmbeddedBackend, PlaceSwitch, Request, Response, ServiceError

TABLE = "Items"


class Places:
    """Two places with a table, and switches as a relocation would have them."""

    def __init__(self) -> None:
        self.engines = [Engine.open(), Engine.open()]
        for engine in self.engines:
            for name, keys in ((TABLE, ["pk"]), (PlaceSwitch.TABLE, ["id", "part"])):
                engine.call(
                    "CreateTable",
                    {
                        "TableName": name,
                        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in keys],
                        "KeySchema": [
                            {"AttributeName": key, "KeyType": kind}
                            for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
                        ],
                        "BillingMode": "PAY_PER_REQUEST",
                    },
                )
        self.set(0, PlaceSwitch("open", 1, frozenset({TABLE})))
        self.set(1, PlaceSwitch("standby", 0))

    def set(self, place: int, switch: PlaceSwitch) -> None:
        self.engines[place].call("PutItem", {"TableName": PlaceSwitch.TABLE, "Item": switch.item()})

    def switch(self, place: int) -> PlaceSwitch:
        return PlaceSwitch.of(self.engines[place].call("GetItem", PlaceSwitch.read().body).get("Item"))

    def step(self, place: int, update: dict[str, Any]) -> bool:
        """Whether a step was accepted."""
        try:
            EmbeddedBackend(self.engines[place], owned=False).call(Request("UpdateItem", update))
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def hold(self, place: int) -> None:
        """Hold a place, and wait until everybody knows."""
        assert self.step(place, self.switch(place).holding("h"))
        time.sleep(PlaceSwitch.HOLD_SECONDS)

    def move(self, place: int) -> None:
        assert self.step(place, self.switch(place).moving())

    def backend(self, place: int) -> Backend:
        return EmbeddedBackend(self.engines[place], owned=True)

    def keys(self, place: int) -> list[str]:
        return sorted(item["pk"]["S"] for item in self.engines[place].call("Scan", {"TableName": TABLE})["Items"])


class SlowBackend:
    """A backend whose requests about items wait, before or behind their execution, until they are let through."""

    def __init__(self, backend: Backend, *, before: bool = False) -> None:
        self._backend, self._before = backend, before
        self.arrived, self.released = threading.Event(), threading.Event()
        # What is raised instead of the response.
        self.lost: ServiceError | None = None

    def call(self, request: Request) -> Response:
        if request.body.get("TableName") == PlaceSwitch.TABLE:
            return self._backend.call(request)
        if self._before:
            self._wait()
        response = self._backend.call(request)
        if not self._before:
            self._wait()
        if self.lost is not None:
            raise self.lost
        return response

    async def call_async(self, request: Request) -> Response:
        raise NotImplementedError

    def close(self) -> None:
        self._backend.close()

    def _wait(self) -> None:
        self.arrived.set()
        assert self.released.wait(20)


def put(key: str) -> Request:
    return Request("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": key}}})


def get(key: str) -> Request:
    return Request("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": key}}, "ConsistentRead": True})
