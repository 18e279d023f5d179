"""Blobs that nothing refers to are deleted in the background, for every system with large values."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import pytest

from tablewright.model import Entity, Keys, Large, Table
from tablewright.runtime.background.blob_ownership import owns_blobs
from tablewright.runtime.background.orphan_collector import OrphanCollector
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import FolderBlobStore, Store
from tablewright.systems import NAMES
from tests.deploy.stacks import needs
from tests.systems.dying_backend import Died
from tests.systems.harness import Clock, wait_for
from tests.systems.support.crashes import MortalBlobs

pytestmark = pytest.mark.requirement("SU15")
DAY = 86_400
LARGE = "x" * 3_000

papers = Table("collected-papers", "PK", point_in_time_recovery=True)
letters = Table("collected-letters", "PK", point_in_time_recovery=True)


class CollectedPaper(Entity, table=papers):
    number: int
    body: Annotated[str, Large(2_000)] = ""

    keys = Keys(PK="{number}")


class CollectedLetter(Entity, table=letters):
    number: int
    body: Annotated[str, Large(2_000)] = ""

    keys = Keys(PK="{number}")


def files(folder: Path) -> list[Path]:
    """All but the one that says whose they are."""
    return [each for each in folder.rglob("*") if each.is_file() and "~owner" not in each.parts]


def test_orphans_are_deleted_once_no_restore_can_need_them(tmp_path: Path) -> None:
    clock = Clock()
    with Store.open(clock=clock, blobs=FolderBlobStore(tmp_path)) as store:
        store.ensure_tables(internal_table, papers)
        store.create(CollectedPaper(number=1, body=LARGE))
        dying = Store(store.backend, clock=clock, blobs=MortalBlobs(tmp_path, 1))
        with pytest.raises(Died):
            dying.create(CollectedPaper(number=2, body=LARGE))
        collector = OrphanCollector("library", store, [papers], first=0.01, every=0.01)
        assert (collector.name, collector.role) == ("library.orphans", "maintenance")
        collector.start()
        try:
            # Not before a day is over, as it might be a write that is under way.
            assert len(files(tmp_path)) == 2
            clock.advance(25 * 3600)
            wait_for(lambda: len(files(tmp_path)) == 3)
            # Nor as long as the table can be restored to now.
            clock.advance(36 * DAY)
            wait_for(lambda: len(files(tmp_path)) == 1)
        finally:
            collector.stop()


def test_a_pass_that_has_to_stop_goes_on_in_the_next_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.runtime.background.orphan_collector._AT_ONCE", 2)
    monkeypatch.setattr("tablewright.store.blobs.orphan_blobs._PAGE", 2)
    clock = Clock()
    with Store.open(clock=clock, blobs=FolderBlobStore(tmp_path)) as store:
        store.ensure_tables(internal_table, papers, letters)
        assert owns_blobs(store, [papers, letters])
        for number in range(4):
            for made in (CollectedPaper(number=number, body=LARGE), CollectedLetter(number=number, body=LARGE)):
                store.create(made)
                store.delete(made)
        clock.advance(40 * DAY)
        collector = OrphanCollector("library", store, [papers, letters])
        left = [len(files(tmp_path))]
        # Each turn may look once.
        while left[-1] and len(left) < 30:
            collector.turn(partial(next, iter([False]), True))
            left.append(len(files(tmp_path)))
        assert left[-1] == 0
        assert len(left) > 3
        # The next pass begins again.
        collector.turn(lambda: False)


def test_every_system_with_large_values_has_a_collector_and_a_schedule_of_it() -> None:
    found = {name: [each.function.name for each in needs(name).schedules] for name in NAMES}
    with_orphans = [name for name, schedules in found.items() if f"{name}.orphans schedule" in schedules]
    assert with_orphans == [name for name in NAMES if needs(name).uses_blobs] == ["support", "tasks"]
