"""A signal that raises inside of a commit, at any line of it: what is committed is kept, and others go on."""

from __future__ import annotations

from pathlib import Path
from types import FrameType

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage.group_commit import Storage
from tests.engine.interruptions import Interrupted, interrupting
from tests.engine.table_requests import on_demand


def put(engine: Engine, name: str) -> None:
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": name}}})


def interrupted_put(engine: Engine, line: int) -> bool:
    """A put whose commit is broken off before so many lines of it have run; False if it has fewer."""

    def is_line(frame: FrameType, event: str) -> bool:
        return frame.f_code is Storage._commit.__code__ and event == "line"

    try:
        with interrupting(line, is_line):
            put(engine, "broken off")
    except Interrupted:
        return True
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
