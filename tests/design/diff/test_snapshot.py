"""Snapshots: stable, complete enough to be compared, and refused where they are not whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tablewright.design.design_loading import DesignError
from tablewright.design.diff import changes
from tablewright.design.diff.design_snapshot import read_snapshots, snapshot, snapshot_text
from tablewright.store.streams.checkpoint import CheckpointTable
from tests.design.subjects import DESIGNS, SYSTEMS
from tests.model.seed_designs import CANDIDATES


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_does_not_differ_from_its_snapshot(name: str, tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    path.write_text(snapshot_text([DESIGNS[name]]))
    (kept,) = read_snapshots(path)
    assert kept == snapshot(DESIGNS[name])
    assert changes(kept, snapshot(DESIGNS[name])) == []


def test_a_snapshot_is_the_same_in_every_process() -> None:
    program = (
        "from tablewright.design import load; from tablewright.design.diff import snapshot_text; "
        f"print(snapshot_text([design for path in {SYSTEMS!r} for design in load(path)]))"
    )
    one, other = (
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            timeout=60,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    )
    assert one == other


def test_what_a_store_declares_for_itself_is_no_part_of_a_design() -> None:
    design = DESIGNS["seed: engagement"]
    before = snapshot(design)
    CheckpointTable.of(CANDIDATES)
    assert snapshot(design) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON; write one with: tablewright diff --snapshot MODEL"),
        ("[]", "is not a snapshot"),
        ('{"designs": []}', "is not a snapshot"),
        ('{"tablewright-snapshot": 1}', "is not a snapshot"),
        ('{"tablewright-snapshot": 1, "designs": []}', "has snapshot format 1, and this version of tablewright reads"),
        ('{"tablewright-snapshot": 99, "designs": []}', "has snapshot format 99"),
        ('{"tablewright-snapshot": 2, "designs": [{}]}', "is damaged"),
        ('{"tablewright-snapshot": 2, "designs": [{"name": ["Shop"], "tables": {}}]}', "is damaged"),
        ("[" * 200_000, "is not JSON"),
    ],
)
def test_what_is_no_snapshot_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    path.write_text(content)
    with pytest.raises(DesignError, match=message):
        read_snapshots(path)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DesignError, match="cannot be read: No such file"):
        read_snapshots(tmp_path / "design.json")


def test_a_snapshot_is_plain_json() -> None:
    for design in DESIGNS.values():
        assert json.loads(json.dumps(snapshot(design))) == snapshot(design)
