"""The extra of Tablewright that installs a module, by the metadata of the installation.

extra_of("fastapi")     "systems": pip install 'tablewright[systems]'
"""

from __future__ import annotations

import re
from collections import Counter
from importlib.metadata import PackageNotFoundError, requires

__all__ = ["extra_of"]

# Modules with another name than their distribution.
_MODULES = {"pyjwt": "jwt"}
_FOR_DEVELOPERS = frozenset({"dev", "site"})
_OF_AN_EXTRA = re.compile(r"(?P<distribution>[\w.-]+).*\bextra == ['\"](?P<extra>\w+)['\"]")


def extra_of(module: str | None) -> str | None:
    """The smallest extra that installs a module; None if none does."""
    try:
        declared = requires("tablewright") or []
    except PackageNotFoundError:  # a source tree on the path
        return None
    wanted = (module or "").partition(".")[0]
    sizes: Counter[str] = Counter()
    having: set[str] = set()
    for found in filter(None, map(_OF_AN_EXTRA.match, declared)):
        name, extra = found["distribution"].lower(), found["extra"]
        # An extra that is built on another one includes it.
        sizes[extra] += 1
        if _MODULES.get(name, name.replace("-", "_")) == wanted and extra not in _FOR_DEVELOPERS:
            having.add(extra)
    return min(having, key=lambda extra: (sizes[extra], extra), default=None)
