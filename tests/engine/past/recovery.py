"""Recovery of the table ``music``, on or off."""

from __future__ import annotations

from tablewright.engine import Engine


def switch(engine: Engine, on: bool) -> None:
    specification = {"PointInTimeRecoveryEnabled": on}
    engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": specification})
