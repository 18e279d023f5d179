"""Where the engine's meter is switched on; known without an engine."""

METER_VARIABLE = "TABLEWRIGHT_METER"
"""The environment variable that names the file to which charges are appended."""
