"""A signal that raises inside of a commit, at any line of it: what is committed is kept, and others go on."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage.group_commit import Storage
from tests.engine.table_requests import on_demand


class Interrupted(BaseException):
    pass


def put(engine: Engine, name: str) -> None:
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": name}}})


def interrupted_put(engine: Engine, line: int) -> bool:
    """A put whose commit is broken off before so many lines of it have run; False if it has fewer."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if frame.f_code is not Storage._commit.__code__:
            return trace
        lines += event == "line"
        if lines == line:
            sys.settrace(None)
            raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        put(engine, "broken off")
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("durable", [False, True])
def test_a_commit_may_be_broken_off_at_any_line(tmp_path: Path, durable: bool) -> None:
    line = 1
    while True:
        with Engine.open(tmp_path / str(line) if durable else None) as engine:
            engine.call("CreateTable", on_demand(TableName="things"))
            if not interrupted_put(engine, line):
                break
            put(engine, "after")
            names = {item["pk"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]}
            assert names == {"broken off", "after"}
            assert engine._storage.newest_commit() is None
            assert engine.verify().problems == []
        line += 1
    assert line > 5
