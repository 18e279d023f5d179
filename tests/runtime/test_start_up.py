"""The start of a process."""

from __future__ import annotations

import gc

import pytest

from tablewright.runtime.start_up import starting


def test_garbage_is_not_looked_for_while_a_process_starts_nor_later_among_what_it_has_made() -> None:
    before = gc.get_freeze_count()
    try:
        with starting():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def test_a_start_that_fails_leaves_everything_as_it_was() -> None:
    before = gc.get_freeze_count()
    with pytest.raises(ValueError, match="no start"), starting():
        raise ValueError("no start")
    assert gc.isenabled()
    assert gc.get_freeze_count() == before
