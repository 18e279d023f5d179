"""An operation or a callback that raises loses nobody else's write silently."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tablewright.engine.database import Database
from tablewright.engine.operations import HANDLERS
from tests.engine.storage.disk import Waiter, keys, put, putting


def break_off(monkeypatch: pytest.MonkeyPatch, error: BaseException, *, after_writing: bool) -> None:
    """Makes DescribeLimits an operation that raises, with or without having written something."""

    def handler(db: Database, _: dict[str, Any]) -> dict[str, Any]:
        if after_writing:
            db.storage.write()("CREATE TABLE half (done INTEGER)")
        raise error

    monkeypatch.setitem(HANDLERS, "DescribeLimits", handler)


def test_an_operation_that_fails_before_it_writes_affects_no_other_write(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(monkeypatch, ZeroDivisionError(), after_writing=False)
    waiter = Waiter(engine, "PutItem", putting("kept"))
    with pytest.raises(ZeroDivisionError):
        engine.call("DescribeLimits", {})
    engine.flush()
    assert waiter.told == [None]
    assert keys(engine) == {"before", "kept"}


@pytest.mark.parametrize("error", [ZeroDivisionError("a defect"), KeyboardInterrupt("an interrupt")])
def test_an_operation_that_fails_halfway_loses_no_write_silently(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    break_off(monkeypatch, error, after_writing=True)
    waiter = Waiter(engine, "PutItem", putting("refused"))
    with pytest.raises(type(error)):
        engine.call("DescribeLimits", {})
    assert waiter.was_refused
    engine.flush()
    assert keys(engine) == {"before"}
    # Nothing is left of the half: it can be tried again.
    with pytest.raises(type(error)):
        engine.call("DescribeLimits", {})
    put(engine, "after")
    assert engine.verify().ok


def test_a_callback_that_raises_does_not_keep_the_others_waiting(engine: Engine) -> None:
    def raises(_: InternalServerError | None) -> None:
        raise ZeroDivisionError

    _, commit = engine.execute("PutItem", putting("one"))
    assert commit is not None
    commit.when_durable(raises)
    waiter = Waiter(engine, "PutItem", putting("two"))
    engine.flush()
    assert waiter.told == [None]
