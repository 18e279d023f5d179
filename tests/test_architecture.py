"""The reader sees the architecture in the names of folders and modules.

No two modules have the same name, no folder has so many that they cannot be taken in at once, and no module imports
another one that leads back to it, also not for type checking only. What a package keeps to itself is not imported from
other packages: a module that they may take something from says what, in its ``__all__``.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tablewright"

# Names that stand for the same thing wherever they are: a package's errors, and what each system consists of.
CONVENTIONAL = {"__init__", "__main__", "errors", "model", "service", "api", "views", "roles"}
MAX_MODULES = 16


def modules(package: Path) -> dict[str, Path]:
    """The modules of a package, by their full names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(package: Path) -> dict[str, set[str]]:
    """The modules that each module imports, inside functions and for type checking as well."""
    known = modules(package)
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for _, base, imported in imported_names(path):
            target = f"{base}.{imported}"
            found[name].add(target if target in known else base)
    return {name: {each for each in targets if each in known} for name, targets in found.items()}


def imported_names(path: Path) -> Iterator[tuple[int, str, str]]:
    """The line, the module and the name of each import."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"), filename=str(path))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: imports are absolute"
            yield from ((node.lineno, node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                base, _, name = alias.name.rpartition(".")
                yield node.lineno, base, name


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that lead back to each other (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1 or name in graph[name]:
                found.append(sorted(group))

    for name in graph:
        if name not in number:
            visit(name)
    return found


def test_no_import_leads_back() -> None:
    assert cycles(imports(PACKAGE)) == []


def test_a_module_name_stands_for_one_thing() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem not in CONVENTIONAL)
    assert [name for name, count in names.items() if count > 1] == []


def test_a_folder_can_be_taken_in_at_once() -> None:
    sizes = Counter(path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert {str(folder): size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def exported(path: Path) -> set[str] | None:
    """The names in the ``__all__`` of a module; None if it has none."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return set(ast.literal_eval(node.value))
    return None


def private_imports(package: Path) -> list[str]:
    """The imports of names that their package keeps to itself."""
    known = modules(package)
    public = {name: exported(path) for name, path in known.items()}
    found = []
    for name, path in known.items():
        part = name.split(".")[1] if "." in name else ""
        for line, base, imported in imported_names(path):
            steps = base.split(".")
            if steps[0] != package.name or len(steps) < 2 or steps[1] == part:
                continue
            target = f"{base}.{imported}"
            if imported not in (public[base] or ()) and public.get(target) is None:
                found.append(f"{path.relative_to(package)}:{line}: {target} is private")
    return found


def test_no_package_imports_what_another_one_keeps_to_itself() -> None:
    assert private_imports(PACKAGE) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from tw.store import Store", []),
        ("from tw.store.plans import Plan", []),
        ("from tw.store import plans", []),
        ("from tw.store.plans import secret", ["cli/a.py:1: tw.store.plans.secret is private"]),
        ("from tw.store import hidden", ["cli/a.py:1: tw.store.hidden is private"]),
        ("def f():\n    from tw.store.hidden import x", ["cli/a.py:2: tw.store.hidden.x is private"]),
        ("from tw.cli.b import anything", []),
    ],
)
def test_an_import_of_what_is_private_is_found(tmp_path: Path, source: str, expected: list[str]) -> None:
    package = tmp_path / "tw"
    sources = {
        "store/__init__": '__all__ = ["Store"]',
        "store/plans": '__all__ = ["Plan"]',
        "store/hidden": "x = 1",
        "cli/a": source,
        "cli/b": "",
    }
    for name, text in sources.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert private_imports(package) == expected


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a": "from tw import b", "b": "from tw.c import x", "c": ""}, []),
        ({"a": "from tw import b", "b": "from tw.a import x"}, [["tw.a", "tw.b"]]),
        ({"a": "import tw.b", "b": "def f():\n    from tw import a"}, [["tw.a", "tw.b"]]),
        ({"a": "if TYPE_CHECKING:\n    from tw.b import x", "b": "from tw.a import x"}, [["tw.a", "tw.b"]]),
        ({"a": "from tw.b import x", "b": "from tw.c import x", "c": "from tw.a import x"}, [["tw.a", "tw.b", "tw.c"]]),
    ],
)
def test_an_import_that_leads_back_is_found(tmp_path: Path, sources: dict[str, str], expected: list[list[str]]) -> None:
    package = tmp_path / "tw"
    package.mkdir()
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source)
    assert cycles(imports(package)) == expected
