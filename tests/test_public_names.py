"""The names that `tablewright` promises, and what importing it costs."""

import subprocess
import sys

import pytest

import tablewright
from tablewright.systems import NAMES


def test_the_public_names_are_these() -> None:
    assert tablewright.__all__ == ["DynamoError", "Engine", "StorageError"]
    assert dir(tablewright) == ["DynamoError", "Engine", "StorageError", "__version__"]


def test_the_public_names_are_the_engine_s_own() -> None:
    from tablewright import engine

    assert tablewright.Engine is engine.Engine
    assert tablewright.DynamoError is engine.DynamoError
    assert tablewright.StorageError is engine.StorageError


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Table'"):
        _ = tablewright.Table  # type: ignore[attr-defined]


def test_import_loads_nothing_else() -> None:
    assert modules_after("import tablewright") == {"tablewright"}


def test_the_engine_needs_neither_the_wire_nor_botocore() -> None:
    loaded = modules_after("from tablewright import Engine; Engine.open().close()")
    assert {name.partition(".")[0] for name in loaded} == {"tablewright"}
    assert not [name for name in loaded if name.startswith("tablewright.wire")]


def test_the_designs_of_the_systems_need_neither_a_server_nor_botocore() -> None:
    """The design tools load them, and should answer at once."""
    models = ", ".join(f"tablewright.systems.{name}.model" for name in NAMES)
    loaded = modules_after(f"import {models}")
    assert {name.partition(".")[0] for name in loaded} == {"tablewright"}


def modules_after(statement: str) -> set[str]:
    """Modules of Tablewright and of the libraries that only the wire or a system needs, in a fresh interpreter."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"tablewright", "boto3", "botocore", "fastapi", "httptools", "uvicorn", "uvloop"}
    return {name for name in loaded.stdout.split() if name.partition(".")[0] in heavy}
