"""A stream that nobody reads is warned of before it fills the disk."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.streams import unread_streams
from tests.clocks import Clock
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, on_demand

HOUR = 3600.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A stream of 100 records of more than a kilobyte, which is more than it may have."""
    monkeypatch.setattr(unread_streams, "_MAX_BYTES", 100_000)
    with Engine.open(tmp_path, clock=clock) as opened:
        opened._background.stop()
        opened.call("CreateTable", on_demand(TableName="things", StreamSpecification=NEW_AND_OLD_IMAGES))
        for number in range(100):
            item = {"pk": {"S": str(number)}, "text": {"S": "x" * 1000}}
            opened.execute("PutItem", {"TableName": "things", "Item": item})
        opened.flush()
        opened.sweep()
        yield opened


def read(engine: Engine) -> None:
    (stream,) = engine.call("ListStreams", {})["Streams"]
    arn = stream["StreamArn"]
    (shard,) = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    engine.call("GetRecords", {"ShardIterator": engine.call("GetShardIterator", place)["ShardIterator"]})


def warnings(engine: Engine, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        engine.sweep()
    return [record.getMessage() for record in caplog.records]


def test_a_large_stream_unread_for_an_hour_is_warned_of(
    engine: Engine, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings(engine, caplog) == []
    clock.now += HOUR
    (warning,) = warnings(engine, caplog)
    assert "the stream arn:aws:dynamodb:us-east-1:123456789012:table/things/stream/" in warning
    assert "its 100 records take about 0 MB" in warning


def test_a_stream_that_is_read_is_not_warned_of(engine: Engine, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    clock.now += HOUR / 2
    read(engine)
    clock.now += HOUR / 2
    assert warnings(engine, caplog) == []
    clock.now += HOUR / 2
    assert len(warnings(engine, caplog)) == 1


def test_a_small_stream_is_not_warned_of(
    engine: Engine, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread_streams, "_MAX_BYTES", 1_000_000)
    clock.now += HOUR
    assert warnings(engine, caplog) == []


def test_what_is_free_counts(
    engine: Engine, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread_streams, "_MAX_BYTES", 1_000_000)
    monkeypatch.setattr(unread_streams, "_MAX_SHARE", 1e-9)
    clock.now += HOUR
    assert len(warnings(engine, caplog)) == 1
