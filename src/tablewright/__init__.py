"""Tablewright: a DynamoDB-compatible database that lives in your process.

The public names are loaded on first use, so that `import tablewright` costs next to nothing and a program
that only wants the version never opens the engine's modules.
"""

from typing import TYPE_CHECKING

__all__ = ["DynamoError", "Engine", "StorageError"]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tablewright.engine import DynamoError, Engine, StorageError
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from tablewright import engine

        value = globals()[name] = getattr(engine, name)
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
