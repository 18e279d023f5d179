"""A signal handler may raise between any two lines of a call (Ctrl-C does): nobody else is the worse for it."""

from __future__ import annotations

import dis
import linecache
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tablewright
from tablewright.dynamo import DynamoError
from tablewright.engine import Engine
from tests.engine.interruptions import Interrupted, interrupting
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, on_demand, with_index

SOURCES = str(Path(tablewright.__file__).parent)
PUT: tuple[str, dict[str, Any]] = ("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}, "g": {"S": "1"}}})
GET: tuple[str, dict[str, Any]] = ("GetItem", {"TableName": "things", "Key": {"pk": {"S": "a"}}})


def interrupted(call: Callable[[], object], moment: int) -> bool:
    """Whether the call was still under way when so many steps of it were done, which is when it is broken off."""
    lines: dict[FrameType, int] = {}

    def is_step(frame: FrameType, event: str) -> bool | None:
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        previous, lines[frame] = lines.get(frame, 0), frame.f_lineno
        return event != "line" or _may_be_interrupted(frame, previous)

    try:
        with interrupting(moment, is_step) as steps:
            call()
    except (Interrupted, DynamoError):
        return True
    # A generator that is being closed swallows what is raised in it, and the call goes on.
    return steps() >= moment


def _may_be_interrupted(frame: FrameType, previous: int) -> bool:
    """Whether a signal handler can run at the start of this line: not at the ``try`` of a block, nor between the last
    line of a ``with`` block and its ``__exit__``. Only a trace function can raise there.
    """
    if frame.f_code.co_code[frame.f_lasti] == dis.opmap["NOP"]:
        return False
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return not (frame.f_lineno < previous and line.lstrip().startswith("with "))


def in_thread(call: Callable[[], object]) -> None:
    """The call, from another thread; it must not have to wait for what was broken off."""
    done = threading.Event()

    def work() -> None:
        call()
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(5), "a lock was left behind"


def pair(number: int) -> dict[str, Any]:
    items = ({"pk": {"S": name}, "g": {"S": str(number)}} for name in "xy")
    return {"TransactItems": [{"Put": {"TableName": "things", "Item": item}} for item in items]}


# An exception inside a generator that is being thrown away has nowhere to go.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("operation", ["put", "get", "transaction"])
def test_a_call_may_be_broken_off_at_any_moment(tmp_path: Path, operation: str) -> None:
    with Engine.open(tmp_path / "data") as engine:
        table = on_demand(TableName="things", StreamSpecification=NEW_AND_OLD_IMAGES)
        engine.call("CreateTable", with_index(table))
        calls: dict[str, Callable[[int], object]] = {
            "put": lambda number: engine.call(*PUT),
            "get": lambda number: engine.call(*GET),
            "transaction": lambda number: engine.call("TransactWriteItems", pair(number)),
        }
        other = {"TableName": "things", "Item": {"pk": {"S": "other"}}}
        moment = 1
        while interrupted(lambda now=moment: calls[operation](now), moment):  # type: ignore[misc]
            in_thread(lambda: engine.call("PutItem", other))
            x, y = (
                engine.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": name}}}).get("Item", {}).get("g")
                for name in "xy"
            )
            assert x == y
            moment += 1
        assert moment > 100
        assert engine.verify().problems == []
