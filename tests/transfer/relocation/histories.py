"""Recorded histories: what clients asked for and were told while tables moved, and whether that can be.

An item has a version and the list of all operations that were applied to it. An append is never sent twice, so an
operation that is there twice was executed twice. Clients are threads or processes of one machine, whose monotonic clock
they share: what ended before something began has to be seen by it.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tablewright.store import EndpointBackend, OutcomeUnknown, Request, ServiceError, SwitchedBackend

KEYS = 12


@dataclass(frozen=True, slots=True)
class Event:
    kind: str  # append, read
    key: str
    operation: str
    began: float
    ended: float
    # ok: told that it is done; unknown: nobody knows; failed: told that it is not
    outcome: str
    seen: tuple[str, ...] = ()


class Client:
    """Appends to items and reads them, one operation after the other, until it is stopped."""

    def __init__(self, name: str, source: str, target: str, table: str) -> None:
        self._name, self._table = name, table
        self._backend = SwitchedBackend(_backend(source), _backend(target))
        self._chance = random.Random(name)
        self.events: list[Event] = []
        self.stop = threading.Event()
        self._number = 0

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self.step()
                time.sleep(0.004)
        finally:
            self._backend.close()

    def step(self) -> Event:
        key = f"k{self._chance.randrange(KEYS)}"
        self._number += 1
        operation = f"{self._name}-{self._number}"
        began = time.monotonic()
        is_read = self._chance.random() < 0.4
        seen: tuple[str, ...] = ()
        try:
            if is_read:
                body = {"TableName": self._table, "Key": {"pk": {"S": key}}, "ConsistentRead": True}
                response = self._backend.call(Request("GetItem", body))
                seen = tuple(each["S"] for each in response.get("Item", {}).get("log", {}).get("L", []))
            elif self._chance.random() < 0.5:
                self._backend.call(Request("UpdateItem", self._append(key, operation)))
            else:
                self._backend.call(
                    Request("TransactWriteItems", {"TransactItems": [{"Update": self._append(key, operation)}]})
                )
            outcome = "ok"
        except OutcomeUnknown:
            outcome = "unknown"
        except ServiceError as error:
            outcome = "failed" if error.code == "NotConnected" else "unknown"
        event = Event("read" if is_read else "append", key, operation, began, time.monotonic(), outcome, seen)
        self.events.append(event)
        return event

    def _append(self, key: str, operation: str) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "Key": {"pk": {"S": key}},
            "UpdateExpression": "SET #l = list_append(if_not_exists(#l, :none), :op) ADD n :one",
            "ExpressionAttributeNames": {"#l": "log"},
            "ExpressionAttributeValues": {
                ":none": {"L": []},
                ":op": {"L": [{"S": operation}]},
                ":one": {"N": "1"},
            },
        }


def _backend(place: str) -> EndpointBackend:
    return EndpointBackend("us-east-1", place, {"aws_access_key_id": "any", "aws_secret_access_key": "any"})


@contextlib.contextmanager
def clients(source: str, target: str, table: str, number: int = 3) -> Iterator[list[Client]]:
    """Clients at work, each in a thread and with a backend of its own."""
    found = [Client(f"c{each}", source, target, table) for each in range(number)]
    threads = [threading.Thread(target=client.run) for client in found]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        for client in found:
            client.stop.set()
        for thread in threads:
            thread.join(60)


def problems(events: Iterable[Event], final: dict[str, list[str]]) -> list[str]:
    """What cannot be in a history that one table, with one operation after the other, could have."""
    found: list[str] = []
    events = list(events)
    for key, log in final.items():
        if len(log) != len(set(log)):
            found.append(f"{key}: something was done twice")
    for event in events:
        log = final.get(event.key, [])
        if event.kind == "append":
            if event.outcome == "ok" and event.operation not in log:
                found.append(f"{event.key}: {event.operation} is lost")
            if event.outcome == "failed" and event.operation in log:
                found.append(f"{event.key}: {event.operation} was refused and done")
        elif event.outcome == "ok" and tuple(log[: len(event.seen)]) != event.seen:
            found.append(f"{event.key}: {event.operation} saw what never was, or was taken back")
    for key in final:
        found += _order(key, [event for event in events if event.key == key and event.outcome == "ok"], final[key])
    return found


def _order(key: str, events: list[Event], log: list[str]) -> list[str]:
    """In real time: whatever begins after something has ended comes after it."""
    places = {operation: number for number, operation in enumerate(log, 1)}

    def place(event: Event) -> int:
        """How many appends had been made when an operation took effect."""
        return len(event.seen) if event.kind == "read" else places.get(event.operation, 0)

    found: list[str] = []
    by_end = sorted(events, key=lambda event: event.ended)
    highest, position = 0, 0
    for event in sorted(events, key=lambda event: event.began):
        while position < len(by_end) and by_end[position].ended < event.began:
            highest = max(highest, place(by_end[position]))
            position += 1
        if place(event) < highest:
            found.append(f"{key}: {event.operation} goes back in time, behind {highest}")
    return found


def longest_pause(events: Iterable[Event]) -> float:
    """The longest that an append took that was done."""
    return max((event.ended - event.began for event in events if event.outcome == "ok"), default=0.0)


def main(name: str, source: str, target: str, table: str) -> None:
    """A client as a process: each operation is a line before it begins, and one when it has ended."""
    client = Client(name, source, target, table)
    while True:
        event = client.step()
        print(json.dumps(asdict(event)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
