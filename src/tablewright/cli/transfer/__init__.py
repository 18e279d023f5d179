"""Commands for data in two places: ``copy``, ``relocate`` and ``check``."""
