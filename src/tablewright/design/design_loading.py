"""Loads designs by import path or file: the first step of every command of the design tools.

    load("tablewright.systems.calls")     a package with a module ``model``, or any module
    load("./model.py")                    a file
    module_at("shop")                     any module, with the same error messages

The designs of a module are its ``Design`` objects. A module without one, but with tables or entities, is one design of
all its tables and collections. Modules of the current folder can be imported.

Errors are ``DesignError``s that say what to do. A declaration that the model refuses is a ``RefusedError``, which lint
reports as a finding.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import pydantic

from tablewright import model as language
from tablewright.design.extras import extra_of
from tablewright.model import Collection, Design, Entity, ModelError, Table

__all__ = ["DesignError", "NoModuleError", "RefusedError", "load", "module_at", "place_in"]

T = TypeVar("T")

# Frames in these packages check a declaration; they do not contain it.
_NOT_THE_USERS = tuple(str(Path(file).parent) for file in (language.__file__, pydantic.__file__, importlib.__file__))

# Frames in Tablewright, but for the systems that come with it, were called by the user's code.
_PACKAGE = f"{Path(language.__file__).parents[1]}{os.sep}"
_SYSTEMS = f"{_PACKAGE}systems{os.sep}"

_MOVE_IT = 'put code that runs at import under if __name__ == "__main__":'


class DesignError(Exception):
    """A design that cannot be loaded; the message says what to do."""


class NoModuleError(DesignError):
    """There is no module with this name."""


class RefusedError(DesignError):
    """A declaration that the model refuses."""

    def __init__(self, error: ModelError, where: str | None) -> None:
        super().__init__(f"{error} ({where})" if where else str(error))
        self.error = error
        # File and line of the declaration.
        self.where = where


def load(path: str) -> list[Design]:
    """The designs of a module, by its import path or its file."""
    with _importing(path):
        module = _module(path)
        # A package keeps its design in `model`.
        if module.__name__ == path and hasattr(module, "__path__") and importlib.util.find_spec(f"{path}.model"):
            module = importlib.import_module(f"{path}.model")
    try:
        found = _designs(module)
    except ModelError as error:
        # The tables of the module cannot be one design.
        raise RefusedError(error, None) from error
    if not found:
        raise DesignError(f"{path} declares neither a Design nor tables; give the module that does")
    names = [design.name for design in found]
    for name in names:
        if names.count(name) > 1:
            raise DesignError(f"{path} has two designs named {name!r}; rename one of them")
    return found


def module_at(path: str) -> ModuleType:
    """A module, by its import path or its file; NoModuleError if there is none, DesignError if it is broken."""
    with _importing(path):
        return _module(path)


# -- modules --------------------------------------------------------------------------------------------------------


def _module(path: str) -> ModuleType:
    if path.endswith(".py") or "/" in path or "\\" in path:
        return _from_file(Path(path))
    if not all(part.isidentifier() for part in path.split(".")):
        raise NoModuleError(
            f"{path!r} is not an import path; give a module, such as shop.model, or a file, such as ./model.py"
        )
    return importlib.import_module(path)


@contextmanager
def _importing(path: str) -> Iterator[None]:
    """Import user modules; any error in them is raised as DesignError."""
    _add_to_path(Path.cwd())
    try:
        # Output of the imported module is not output of the command.
        with redirect_stdout(sys.stderr):
            yield
    except DesignError:
        raise
    except ModelError as error:
        raise RefusedError(error, _place_of(error)) from error
    except ModuleNotFoundError as error:
        if error.name and (path == error.name or path.startswith(f"{error.name}.")):
            raise NoModuleError(
                f"there is no module {error.name!r}; give one that can be imported from here, such as shop.model, "
                "or a file, such as ./model.py"
            ) from None
        extra = extra_of(error.name)
        remedy = "which is not installed here" if extra is None else f"of an extra: pip install 'tablewright[{extra}]'"
        raise DesignError(f"{path} needs the module {error.name!r}, {remedy}") from error
    except PermissionError as error:
        raise DesignError(f"no permission to read {error.filename or path}") from error
    except SystemExit as error:
        raise DesignError(f"{path} exits when it is imported{_at(error)}; {_MOVE_IT}") from error
    except Exception as error:
        # On one line, even if the message of the error is not.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        advice = f"; {_MOVE_IT}" if _runs_a_database(error) else ""
        raise DesignError(f"{path} cannot be imported: {reason}{_at(error)}{advice}") from error


def _from_file(path: Path) -> ModuleType:
    if path.is_dir():
        inner = next((each for each in (path / "model.py", *sorted(path.glob("*/model.py"))) if each.is_file()), None)
        raise DesignError(
            f"{path} is a folder; give the file in it, such as {inner or path / 'model.py'}, or an import path"
        )
    if not path.is_file():
        raise NoModuleError(f"there is no file {path}")
    path = path.resolve()
    folder, name = path.parent, path.stem
    # A file in a package is imported as its module, so that relative imports work.
    while (folder / "__init__.py").is_file():
        folder, name = folder.parent, f"{folder.name}.{name}"
    _add_to_path(folder)
    if "." in name:
        return importlib.import_module(name.removesuffix(".__init__"))
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    while name in sys.modules:
        name += "_"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DesignError(f"{path} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    # Annotations are resolved in ``sys.modules`` while the classes are created.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _add_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _at(error: BaseException) -> str:
    where = _place_of(error)
    return f" ({where})" if where else ""


def _place_of(error: BaseException) -> str | None:
    """The place of a failed declaration: the innermost line of the user's own code."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    return place_in(frames[-1].filename, frames[-1].lineno or 1) if frames else None


def _runs_a_database(error: BaseException) -> bool:
    """Whether a module that was imported for its design has continued to use it."""
    innermost = traceback.extract_tb(error.__traceback__)[-1].filename
    return innermost.startswith(_PACKAGE) and not innermost.startswith((_SYSTEMS, *_NOT_THE_USERS))


def place_in(file: str, line: int) -> str:
    """A line of a file, relative to the current folder if the file is in it."""
    relative = os.path.relpath(file)
    return f"{file if relative.startswith('..') else relative}:{line}"


def _is_ours(file: str) -> bool:
    return file.startswith(("<", *_NOT_THE_USERS)) or (file.startswith(_PACKAGE) and not file.startswith(_SYSTEMS))


# -- what is in them ------------------------------------------------------------------------------------------------


def _designs(module: ModuleType) -> list[Design]:
    members = [value for name, value in vars(module).items() if not name.startswith("__")]
    designs = _once(value for value in members if isinstance(value, Design))
    if designs:
        return designs
    classes = _once(value for value in members if isinstance(value, type))
    used = [kind.schema_.table for kind in classes if issubclass(kind, Entity) and "schema_" in vars(kind)]
    tables = _once([*(value for value in members if isinstance(value, Table)), *used])
    if not tables:
        return []
    collections = [
        kind
        for kind in classes
        if issubclass(kind, Collection) and kind is not Collection and kind.members_[0].schema.table in tables
    ]
    return [Design(_name_of(module), tables=tables, collections=collections)]


def _name_of(module: ModuleType) -> str:
    """The name of a design: of its module, or of the package if the module is called ``model``."""
    *outer, last = module.__name__.rstrip("_").split(".")
    if last == "model" and outer:
        last = outer[-1]
    return last.replace("_", " ").capitalize()


def _once(values: Iterable[T]) -> list[T]:
    return list({id(value): value for value in values}.values())
