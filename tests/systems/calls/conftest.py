from __future__ import annotations

import httpx
import pytest

from tests.systems.harness import Served


@pytest.fixture
def staff(served: Served) -> httpx.Client:
    return served.client("cleo", "Schedulers", path="/calls")


@pytest.fixture
def admin(served: Served) -> httpx.Client:
    return served.client("root", "Admins", path="/calls")
