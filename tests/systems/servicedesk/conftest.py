from __future__ import annotations

import httpx
import pytest

from tests.systems.harness import Served


@pytest.fixture
def agent(served: Served) -> httpx.Client:
    return served.client("sam", "Agents", path="/servicedesk")
