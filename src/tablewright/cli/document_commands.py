"""Documents and projects: ``docs`` writes the design document, ``init`` creates a new project."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from tablewright.cli.argument_parser import Commands, UsageError, unwritable


def register(commands: Commands) -> None:
    docs = commands.add_parser("docs", help="write the design document, from the model")
    docs.add_argument(
        "designs", nargs="+", metavar="PATH", help="module or file of a design, such as shop.model or ./model.py"
    )
    docs.add_argument("--html", action="store_true", help="one self-contained HTML page instead of Markdown")
    docs.add_argument("--out", metavar="DIR", help="write a file for each design to DIR instead of printing them")
    docs.set_defaults(command=_docs, parser=docs)

    init = commands.add_parser("init", help="create a project: one entity, a test and a README")
    init.add_argument("name", metavar="NAME", help="name of the project and of its new folder")
    init.set_defaults(command=_init, parser=init)


def _docs(options: argparse.Namespace) -> int:
    from tablewright.design import DesignError, load
    from tablewright.design.document import document
    from tablewright.design.report import to_html, to_markdown
    from tablewright.model import ModelError

    try:
        pages = [document(design) for path in options.designs for design in load(path)]
    except (DesignError, ModelError) as error:
        raise UsageError(str(error)) from None
    texts = [to_html(page) if options.html else to_markdown(page) for page in pages]
    if options.out is None:
        if options.html and len(texts) > 1:
            raise UsageError(
                "an HTML page shows one design, and there are several: write a file for each with --out DIR"
            )
        print("\n".join(texts), end="")
        return 0
    names = [f"{slug(page.title)}.{'html' if options.html else 'md'}" for page in pages]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two designs would be written to {name}; give them different names")
    folder = Path(options.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in zip(names, texts, strict=True):
            (folder / name).write_text(text, "utf-8")
            print(f"written to {folder / name}", file=sys.stderr)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {unwritable(error)}") from None
    return 0


def slug(title: str) -> str:
    """A title as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "design"


def _init(options: argparse.Namespace) -> int:
    from tablewright.design import ProjectError, project_files

    folder = Path(options.name)
    try:
        # First: an installed project of that name is also a module whose name is taken.
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} already exists and is not overwritten; choose another name")
        files = project_files(folder.name)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
    except ProjectError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from None
    package = next(path for path in files if path.endswith("/__init__.py")).removesuffix("/__init__.py")
    print(
        f"Created {folder}. Try:\n"
        f"  cd {shlex.quote(str(folder))}\n"
        f"  python -m pip install -e '.[dev]'\n"
        f"  python -m pytest\n"
        f"  tablewright lint {package}\n"
        f"  tablewright docs {package}\n"
        f"  tablewright plan {package}"
    )
    return 0
