"""Registries of models and filters, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Functions, each registered under a name; the last one with a name is used."""

    def __init__(self) -> None:
        self._functions: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """A decorator that registers a function."""

        def registered(function: T) -> T:
            self._functions[name] = function
            return function

        return registered

    def get(self, name: str) -> T | None:
        return self._functions.get(name)

    def names(self) -> str:
        """All names, for messages."""
        return ", ".join(sorted(self._functions))
