"""Packages that load their public names on first use: what type checkers read is what programs get."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tablewright import runtime, store

PACKAGES = (runtime, store)


def for_type_checkers(package: ModuleType) -> dict[str, str]:
    """The public names of a package, by the modules that it imports them from for type checkers."""
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_each_name_is_what_type_checkers_take_it_for(package: ModuleType) -> None:
    declared = for_type_checkers(package)
    assert sorted(declared) == sorted(package.__all__)
    for name, module in declared.items():
        assert getattr(package, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_package_loads_nothing_until_a_name_is_used(package: ModuleType) -> None:
    name = package.__name__
    program = f"import sys, {name}\nprint(*(each for each in sys.modules if each.startswith('{name}.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_another_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=rf"module '{package.__name__}' has no attribute 'Nothing'"):
        _ = package.Nothing
