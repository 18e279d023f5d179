"""Packages whose public names are loaded on first use: a program that needs one of them does not load all the others.

    if TYPE_CHECKING:
        from shop.orders import Order, place
    else:
        __getattr__ = lazy_names(globals(), {"orders": ("Order", "place")})

Type checkers read the imports, programs the table. A test compares the two, and both with ``__all__``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: dict[str, Any], modules: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """A ``__getattr__`` for a package, given its globals and the names that each of its modules has."""
    own_name = package["__name__"]
    module_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {own_name!r} has no attribute {name!r}")
        value = package[name] = getattr(import_module(f"{own_name}.{module_of[name]}"), name)
        return value

    return load
