from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tablewright.systems import load
from tests.systems.harness import Served, serving


@pytest.fixture
def staff(served: Served) -> httpx.Client:
    return served.client("op_1", "Operators", path="/support")


@pytest.fixture
def machine(served: Served) -> httpx.Client:
    return served.client("backend", "Services", path="/support")


@pytest.fixture
def admin(served: Served) -> httpx.Client:
    return served.client("admin", "Admins", path="/support")


@pytest.fixture
def quiet() -> Iterator[Served]:
    """Support alone, used by nobody else."""
    with serving(load("support"), batch_window=0) as served:
        yield served
