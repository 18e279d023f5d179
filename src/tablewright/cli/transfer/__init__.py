"""Commands that are about data in two places: ``copy`` and ``check``."""
