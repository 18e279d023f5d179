"""Imports follow the flow of data and never point back.

cli, pytest_plugin -> systems -> ui -> runtime -> store, design -> model -> dynamo
cli                -> deploy -> runtime, design
cli                -> studio -> sql, ui -> runtime -> store, design -> model -> dynamo
cli                -> transfer, sql            -> store, design -> model -> dynamo
                                                  wire, store -> engine -> dynamo

What is built on the store takes its public names only, `from tablewright.store import ...`.

The services, models and handlers of the systems know nothing of HTTP: not even through another module of the systems.

The checks read the syntax tree, so that imports inside functions and under TYPE_CHECKING count too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright import store

SOURCE = Path(__file__).resolve().parent.parent / "src" / "tablewright"

# For each part of the package, the other parts that it may import.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "dynamo": frozenset(),
    "engine": frozenset({"durable_files", "dynamo"}),
    "model": frozenset({"dynamo"}),
    "wire": frozenset({"event_loops", "listening", "engine", "dynamo"}),
    "store": frozenset({"lazy_names", "durable_files", "model", "engine", "dynamo"}),
    "design": frozenset({"model", "dynamo"}),
    "runtime": frozenset(
        {"lazy_names", "event_loops", "listening", "durable_files", "store", "design", "model", "engine", "dynamo"}
    ),
    "ui": frozenset({"runtime", "store", "model"}),
    "studio": frozenset({"listening", "sql", "ui", "runtime", "store", "design", "model", "engine", "dynamo"}),
    "systems": frozenset({"durable_files", "ui", "runtime", "store", "design", "model"}),
    "deploy": frozenset({"runtime", "design", "model", "engine"}),
    "transfer": frozenset({"durable_files", "store", "design", "model", "engine", "dynamo"}),
    "sql": frozenset({"store", "design", "model", "dynamo"}),
    "pytest_plugin": frozenset({"wire", "store", "engine"}),
    "cli": frozenset(
        {
            *("systems", "studio", "ui", "deploy", "runtime", "transfer", "sql"),
            *("listening", "store", "design", "model", "wire", "engine", "dynamo"),
        }
    ),
    "lazy_names": frozenset(),
    "event_loops": frozenset(),
    "listening": frozenset(),
    "durable_files": frozenset(),
    "__main__": frozenset({"cli"}),
    "__init__": frozenset({"engine", "dynamo"}),
}
# The parts that know no more of the store than it promises.
AROUND_THE_STORE = frozenset({"runtime", "ui", "studio", "systems", "transfer", "sql", "cli"})

# The modules of a system that know nothing of HTTP, and what that is.
WITHOUT_HTTP = frozenset({"service", "model", "handlers"})
HTTP = frozenset({"fastapi", "starlette"})


def violations(package: Path) -> list[str]:
    found = []
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package)
        part = module.parts[0].removesuffix(".py")
        if part not in MAY_IMPORT:
            found.append(f"{module}: {part} has no rule")
            continue
        for line, imported in imported_parts(path, package):
            if imported != part and imported not in MAY_IMPORT[part]:
                found.append(f"{module}:{line}: {part} imports {imported}")
    return found


def internals(package: Path) -> list[str]:
    """The imports of what the store keeps to itself."""
    found = []
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package)
        if module.parts[0].removesuffix(".py") in AROUND_THE_STORE:
            for line, name in imported_names(path, package):
                rest = name.removeprefix(f"{package.name}.store.")
                if rest != name and rest not in store.__all__:
                    found.append(f"{module}:{line}: {rest} is internal to the store")
    return found


def http_imports(package: Path) -> list[str]:
    """The services, models and handlers of systems that import HTTP, each with the way by which it does."""
    paths = sorted((package / "systems").rglob("*.py"))
    imports = {module_name(path, package): [name for _, name in imported_names(path, package)] for path in paths}
    ways = [way_to_http(name, imports) for name in imports if name.rpartition(".")[2] in WITHOUT_HTTP]
    return [" imports ".join(each.removeprefix(f"{package.name}.systems.") for each in way) for way in ways if way]


def way_to_http(first: str, imports: dict[str, list[str]]) -> tuple[str, ...]:
    """The shortest way of imports from a module of the systems to HTTP; empty if there is none."""
    ways: list[tuple[str, ...]] = [(first,)]
    seen = {first}
    while ways:
        way = ways.pop(0)
        for name in imports[way[-1]]:
            if name.partition(".")[0] in HTTP:
                return *way, name
            # A module, or a name out of one.
            module = name if name in imports else name.rpartition(".")[0]
            if module in imports and module not in seen:
                seen.add(module)
                ways.append((*way, module))
    return ()


def module_name(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_parts(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """The parts of `package` that a module imports, with the line of each import."""
    for line, name in imported_names(path, package):
        first, _, rest = name.partition(".")
        if first == package.name and rest != "__version__":
            part = rest.partition(".")[0]
            yield line, part if part in MAY_IMPORT else "__init__"


def imported_names(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """The full name of all that a module imports, with the line of each import."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute_base(node, path, package)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names)


def absolute_base(node: ast.ImportFrom, path: Path, package: Path) -> str:
    if not node.level:
        return node.module or ""
    parents = path.relative_to(package.parent).parts[: -node.level]
    return ".".join([*parents, *([node.module] if node.module else [])])


def test_no_import_points_back() -> None:
    assert violations(SOURCE) == []


def test_services_models_and_handlers_know_nothing_of_http() -> None:
    assert http_imports(SOURCE) == []


def test_an_import_of_http_is_found_through_other_modules(tmp_path: Path) -> None:
    package = tmp_path / SOURCE.name
    for module, source in {
        "a/service.py": "from tablewright.systems.shared import log",
        "a/api.py": "import fastapi",
        "shared.py": "def f():\n    from tablewright.systems import router",
        "router.py": "from starlette.responses import Response",
        "b/model.py": "from tablewright.systems.b import api\nimport tablewright.systems.b.model",
        "b/api.py": "from fastapi import APIRouter",
        "c/handlers.py": "from tablewright.systems.c.service import work\nimport httpx",
        "c/service.py": "from tablewright.systems.c.handlers import send",
    }.items():
        path = package / "systems" / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    assert http_imports(package) == [
        "a.service imports shared imports router imports starlette.responses.Response",
        "b.model imports b.api imports fastapi.APIRouter",
    ]


def test_nothing_around_the_store_imports_what_is_internal_to_it() -> None:
    assert internals(SOURCE) == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        (
            "systems/a.py",
            "from tablewright.store.read.entity_decoding import entity_of",
            ["1: read.entity_decoding.entity_of"],
        ),
        ("systems/b/c.py", "def f():\n    from tablewright.store import Store, plans", ["2: plans"]),
        ("runtime/a.py", "import tablewright.store.flow.driver", ["1: flow.driver"]),
        ("runtime/a.py", "from ..store.flow import Backend", ["1: flow.Backend"]),
        ("cli/a.py", "from tablewright.store import Store, Unreadable", []),
        ("store/a.py", "from tablewright.store.flow.driver import Backend", []),
    ],
)
def test_an_import_of_what_is_internal_is_found(tmp_path: Path, module: str, source: str, expected: list[str]) -> None:
    package = made_up_tree(tmp_path, module, source)
    assert internals(package) == [f"{module}:{each} is internal to the store" for each in expected]


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("engine/a.py", "from tablewright.wire import server", "engine/a.py:1: engine imports wire"),
        ("engine/a.py", "import tablewright.store.plan", "engine/a.py:1: engine imports store"),
        ("engine/a.py", "from tablewright import Engine", "engine/a.py:1: engine imports __init__"),
        ("engine/a.py", "from ..model import keys", "engine/a.py:1: engine imports model"),
        ("engine/b/c.py", "from ... import model", "engine/b/c.py:1: engine imports model"),
        ("model/a.py", "def f():\n    import tablewright.engine", "model/a.py:2: model imports engine"),
        (
            "wire/a.py",
            "if TYPE_CHECKING:\n    from tablewright.model import X",
            "wire/a.py:2: wire imports model",
        ),
        ("store/a.py", "from tablewright import runtime", "store/a.py:1: store imports runtime"),
        ("design/a.py", "from tablewright.store import X", "design/a.py:1: design imports store"),
        ("systems/a.py", "from tablewright.cli import main", "systems/a.py:1: systems imports cli"),
        ("extra.py", "", "extra.py: extra has no rule"),
    ],
)
def test_an_import_that_points_back_is_found(tmp_path: Path, module: str, source: str, expected: str) -> None:
    package = made_up_tree(tmp_path, module, source)
    assert violations(package) == [expected]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "engine/a.py",
            "from tablewright.dynamo.errors import X\nfrom . import errors\nfrom .errors import X",
        ),
        ("wire/a.py", "from tablewright.engine import Engine\nfrom tablewright import __version__"),
        ("store/a.py", "from ..model import X\nfrom tablewright.engine import Engine"),
        ("cli.py", "from tablewright import wire\nimport tablewrights.model"),
    ],
)
def test_imports_along_the_arrow_are_allowed(tmp_path: Path, module: str, source: str) -> None:
    assert violations(made_up_tree(tmp_path, module, source)) == []


def made_up_tree(folder: Path, module: str, source: str) -> Path:
    package = folder / "tablewright"
    path = package / module
    path.parent.mkdir(parents=True)
    path.write_text(source)
    return package
