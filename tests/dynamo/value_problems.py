"""What is wrong with a value."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ValidationException, checked


def problem(value: dict[str, Any]) -> str | None:
    with pytest.raises(ValidationException) as caught:
        checked(value)
    return caught.value.message
