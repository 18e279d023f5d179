"""Commands that are about data in two places: ``copy``, ``relocate`` and ``check``."""
