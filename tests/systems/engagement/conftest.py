from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.systems.engagement.engagement_fixtures import Workshop, write
from tests.systems.harness import Served


@pytest.fixture
def admin(served: Served) -> httpx.Client:
    # The customers of a program that does not say where it has them from.
    file = served.runtime.settings.data / "sources" / "customers.csv"
    if not file.exists():
        write(file, [("c-1", 40, "IT", 5)])
    return served.client("root", "Admins", path="/engagement")


@pytest.fixture
def member(served: Served) -> httpx.Client:
    return served.client("mia", "Viewers", path="/engagement")


@pytest.fixture
def machine(served: Served) -> httpx.Client:
    return served.client("shop", "EventSources", path="/engagement")


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with Workshop(tmp_path) as made:
        yield made
