"""Connectors of files, and what is read through them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tablewright.systems.engagement.configuration import FilesConnector
from tablewright.systems.engagement.model import Checkpoint
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.sources.connectors import Sources

START = Checkpoint()


def files(query: str = "SELECT * FROM c", **tables: str) -> FilesConnector:
    """A connector of files; without their names, of ``c.csv`` as ``c``."""
    subjects = {"subjectTypeColumn": "kind", "subjectIdColumn": "sku"} if "kind" in query else {}
    tables = tables or {"c": "c.csv"}
    return FilesConnector.model_validate({"type": "files", "tables": tables, "query": query, **subjects})


def read(
    folder: Path,
    connector: FilesConnector,
    after: Checkpoint = START,
    size: int = 3,
    halted: Callable[[], bool] = lambda: False,
) -> list[list[Prospect]]:
    """Chunks of prospects."""
    with Sources(folder).open(connector, halted) as source:
        return list(source.prospects("p", after, size))
