"""While many objects are made no garbage is looked for; then it is as the program has it."""

from __future__ import annotations

import gc

import pytest

from tablewright.store.garbage_collection import without_collection


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_as_before_afterwards(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        assert without_collection(gc.isenabled) is False
        assert gc.isenabled() is enabled
        with pytest.raises(ZeroDivisionError):
            without_collection(lambda: 1 // 0)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
