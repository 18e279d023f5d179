"""What roles may do with blobs: what their patterns and writes take, and nothing else."""

from __future__ import annotations

from typing import Annotated

import pytest

from tablewright.design import iam
from tablewright.model import Design, Entity, Get, ItemWrite, Keys, Large, Reaction, Table, Write

scans = Table("Scans", "id", stream="NEW_AND_OLD_IMAGES")
labels = Table("Labels", "PK", stream="NEW_AND_OLD_IMAGES")

READS = ("s3:GetObject", "s3:ListBucket")
WRITES = ("s3:DeleteObject", "s3:GetObject", "s3:ListBucket", "s3:PutObject")


class Scan(Entity, table=scans):
    id: str
    content: Annotated[str, Large(1000)] = ""

    @Get()
    def by_id(self, id: str) -> None: ...

    @Get(load_large=False)
    def outline(self, id: str) -> None: ...


class Label(Entity, table=labels):
    text: str

    keys = Keys(PK="{text}")

    @Get()
    def by_text(self, text: str) -> None: ...


DESIGN = Design(
    "Scans",
    tables=[scans, labels],
    writes=[
        Write("fill", ItemWrite(Scan, "update", sets=[Scan.content])),
        Write("label", ItemWrite(Label, "put")),
        Write("label_scan", ItemWrite(Label, "put"), reads=[Scan.by_id]),
    ],
    roles={
        "reader": ["Scan.by_id"],
        "outliner": ["Scan.outline"],
        "writer": ["fill"],
        "labeller": ["label", "Label.by_text"],
        "reading_labeller": ["label_scan"],
    },
    reactions=[
        Reaction("index", Scan, effect="notify", consumer="index"),
        Reaction("count", Label, effect="notify", consumer="count"),
    ],
)


@pytest.mark.requirement("SH1", "X3")
@pytest.mark.parametrize(
    ("roles", "actions"),
    [
        (["reader"], READS),
        (["outliner"], READS),
        (["writer"], WRITES),
        (["labeller"], ()),
        (["reading_labeller"], READS),
        (["index"], READS),
        (["count"], ()),
        (["maintenance"], WRITES),
        (["labeller", "reader"], READS),
        ([], ()),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_role_may_do_with_blobs_what_its_calls_take(roles: list[str], actions: tuple[str, ...]) -> None:
    assert iam.blob_actions(DESIGN, roles) == actions


def test_maintenance_of_a_design_without_large_values_takes_none() -> None:
    design = Design("Labels", tables=[labels], roles={})
    assert iam.blob_actions(design, ["maintenance"]) == ()
