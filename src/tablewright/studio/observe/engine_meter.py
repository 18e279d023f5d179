"""The metering of an engine, shared by all windows of a studio, from when a user starts it.

    start_metering(engine)          heat_of(engine) is a MeteredHeat from now on
    units_by_table(heat)            read and write units of each table, with its indexes

Metering makes every request slower (some 30 us), so it is off until it is started.
"""

from __future__ import annotations

from decimal import Decimal
from weakref import WeakKeyDictionary

from tablewright.design.cost import MeteredHeat
from tablewright.engine import Engine

__all__ = ["heat_of", "start_metering", "stop_metering", "units_by_table"]

_heats: WeakKeyDictionary[Engine, MeteredHeat] = WeakKeyDictionary()


def heat_of(engine: Engine) -> MeteredHeat | None:
    """What was metered; None if it has not been started."""
    return _heats.get(engine)


def start_metering(engine: Engine) -> None:
    if engine not in _heats:
        heat = _heats[engine] = MeteredHeat()
        engine.meter(heat.add)


def stop_metering(engine: Engine) -> None:
    heat = _heats.pop(engine, None)
    if heat is not None:
        engine.stop_metering(heat.add)


def units_by_table(heat: MeteredHeat) -> dict[str, tuple[Decimal, Decimal]]:
    """The read and write units that each table consumed, with its indexes."""
    found: dict[str, tuple[Decimal, Decimal]] = {}
    for use in heat.patterns():
        for (table, _), (read, write) in use.places.items():
            known = found.get(table, (Decimal(0), Decimal(0)))
            found[table] = known[0] + read, known[1] + write
    return found
