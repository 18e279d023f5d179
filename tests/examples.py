"""How many examples a property is tried with: a third of them by `make test`, all of them by `make test-slow`."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("THOROUGH_TESTS") == "1"


def examples(number: int) -> int:
    return number if THOROUGH else max(number // 3, 20)
