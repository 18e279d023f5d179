"""What `mkdocs build` cannot do by itself: the API reference, pages from above docs/, and diagrams without a network.

    docs/*.md                   as they are; a link to a file that is not a page leads to the repository
    CHANGELOG.md, ...           pages too, though they are not in docs/
    api/**.md                   made from the public names (tools/public_names.py); mkdocstrings fills them
    <!-- file: NAME -->         the title of the code block below it
    assets/javascripts/*        scripts that the theme would load from a CDN: fetched once, by version and digest

mkdocs.yml names this file under `hooks`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import os
import posixpath
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from tablewright.cli import build_parser

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.public_names import PublicModule, bases, public_modules, read_module  # noqa: E402

REPOSITORY = "https://github.com/tablewright/tablewright/blob/main"
# Pages of the site that are kept where GitHub looks for them.
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples.md",
}


@dataclass(frozen=True, slots=True)
class Script:
    """A file of a package that npm has; `digest` is what npm calls its integrity (SHA-512)."""

    package: str
    version: str
    digest: str
    path: str

    @property
    def uri(self) -> str:
        return f"assets/javascripts/{self.package}.js"


# Draws diagrams; only pages that have one load it.
MERMAID = Script(
    "mermaid",
    "11.17.2",
    "V6K3C8EBdEsPFZXSKMJe6ppQOENxuHARr9GvHX4hh47lAbhMRD9qf4oEK7LoaRQxULMa80/qt5gHO73aCleBBg==",
    "package/dist/mermaid.min.js",
)
# Makes the search work where the site is opened as files. mkdocs.yml names it under `polyfills`.
IFRAME_WORKER = Script(
    "iframe-worker",
    "1.0.4",
    "roeaaI+Lg1LJNfgpCjoRe/+WzEjy9+Z08LoEvu85MCPbBjwm+qXz8Ag5U05lHa6V1CysZyGzE0SOkAtSUA5q7Q==",
    "package/shim/index.js",
)
CACHE = ROOT / "build" / "site-cache"

# A package with more names than this has a page for each of its rooms.
_MAX_NAMES = 50
_LINK = re.compile(r"(?P<before>\]\()(?P<target>(?!https?://|mailto:|#)[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_TITLED = re.compile(r"<!-- file: (\S+) -->\n+```(\w+)\n")


def on_config(config: Any) -> Any:
    """Puts the pages of the reference into the navigation, where mkdocs.yml says `api`."""
    config.nav = [_with_reference(entry) for entry in config.nav]
    return config


def on_files(files: Files, config: Any) -> Files:
    for name, page in ROOT_PAGES.items():
        if name != "README.md":
            files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    for page, text in reference_pages().items():
        files.append(File.generated(config, page, content=text))
    systems = sorted(file.src_uri for file in files if file.src_uri.startswith("systems/"))
    files.append(File.generated(config, "systems/index.md", content=_systems_page(systems)))
    for script in (MERMAID, IFRAME_WORKER):
        files.append(File.generated(config, script.uri, content=fetch(script)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    origin = next((name for name, uri in ROOT_PAGES.items() if uri == page.file.src_uri), f"docs/{page.file.src_uri}")
    if page.file.src_uri == "index.md":
        origin = "docs/index.md"
        page.meta["hide"] = ["navigation", "toc"]
    pages = {file.src_uri for file in files}

    def linked(text: str) -> str:
        return _LINK.sub(
            lambda match: (
                f"{match['before']}{_target(match, origin, page.file.src_uri, pages)}{match['anchor'] or ''})"
            ),
            text,
        )

    done, parts = 0, []
    for fence in _FENCE.finditer(markdown):
        parts += [linked(markdown[done : fence.start()]), fence[0]]
        done = fence.end()
    return _TITLED.sub(r'```\2 title="\1"' + "\n", "".join([*parts, linked(markdown[done:])]))


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Some docstrings end a sentence with the `::` of reStructuredText before a block of code."""
    return html.replace("::</p>", ":</p>") if page.file.src_uri.startswith("api/") else html


def on_post_page(output: str, page: Any, config: Any) -> str:
    if 'class="mermaid"' not in output:
        return output
    script = posixpath.relpath(MERMAID.uri, posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)


def _target(match: re.Match[str], origin: str, page: str, pages: set[str]) -> str:
    """Where a link of a page leads to on the site: another page, or a file of the repository."""
    target = match["target"]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    uri = ROOT_PAGES.get(path) or path.removeprefix("docs/")
    if path.startswith("docs/") and target.endswith("/"):
        uri = f"{uri}/index.md"
    if (path in ROOT_PAGES or path.startswith("docs/")) and uri in pages:
        return posixpath.relpath(uri, posixpath.dirname(page) or ".")
    if origin.startswith("docs/api/"):
        return target
    if not (ROOT / path).exists():
        raise PluginError(f"{origin} links to {target}, and there is no {path}")
    return f"{REPOSITORY}/{path}"


def _with_reference(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {title: _reference_nav() if value == "api" else value for title, value in entry.items()}
    return entry


def _reference_nav() -> list[Any]:
    """The pages of the reference, those of one package below it."""
    nav: list[Any] = ["api/index.md", {"the command line": "api/commands.md"}]
    for package, group in groupby(public_modules(), key=lambda module: _short(module.name).partition(".")[0]):
        modules = list(group)
        entries: list[Any] = []
        for module in modules:
            inner = _short(module.name).removeprefix(f"{package}.")
            entries.append(_uri(module) if inner == package else {inner: _uri(module)})
            if _is_split(module):
                entries += [{room: _room_uri(module, room)} for room in _rooms(module)]
        nav.append({package: entries[0] if entries == [_uri(modules[0])] else entries})
    return nav


def reference_pages() -> dict[str, str]:
    """The Markdown of every page of the reference."""
    modules = public_modules()
    pages = {"api/index.md": _index(modules), "api/commands.md": _commands()}
    for module in modules:
        rooms = _rooms(module)
        if _is_split(module):
            pages[_uri(module)] = _overview(module, rooms)
            for room, names in rooms.items():
                title = f"{_short(module.name)}: {room}"
                body = [f"# {title}", "", *_room_introduction(module, names), *_entries(module, names, 2)]
                pages[_room_uri(module, room)] = "\n".join(body)
        else:
            body = [f"# {_short(module.name)}", "", *_introduction(module)]
            for room, names in rooms.items():
                several = len(rooms) > 1
                body += [f"## {room}", "", *_room_introduction(module, names)] if several else []
                body += _entries(module, names, 3 if several else 2)
            pages[_uri(module)] = "\n".join(body)
    return pages


def _index(modules: list[PublicModule]) -> str:
    lines = [
        "# API reference",
        "",
        "Every public name: what a package has in its `__all__`, and what the guides import. All else is internal, and",
        "may change without notice. The pages are made from the source. [The command line](commands.md) has a page of",
        "its own.",
        "",
        "| module | |",
        "|---|---|",
    ]
    lines += [
        f"| [`{module.name}`]({posixpath.relpath(_uri(module), 'api')}) | {module.summary} |" for module in modules
    ]
    return "\n".join(lines) + "\n"


def _commands() -> str:
    """Every command with its options, as `--help` prints them."""
    os.environ["COLUMNS"] = "100"
    lines = [
        "# The command line",
        "",
        "As `tablewright COMMAND --help` prints it. The guides show the commands at work.",
        "",
    ]
    for name, parser in _subcommands(build_parser(), "tablewright"):
        lines += [f"## {name}", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def _subcommands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from _subcommands(inner, f"{name} {word}")


def _overview(module: PublicModule, rooms: dict[str, list[str]]) -> str:
    lines = [f"# {_short(module.name)}", "", *_introduction(module)]
    for room, names in rooms.items():
        page = posixpath.relpath(_room_uri(module, room), posixpath.dirname(_uri(module)))
        links = ", ".join(f"[`{name}`][{_identifier(module, name)}]" for name in names)
        lines += [f"**[{room}]({page})**", "", links, ""]
    return "\n".join(lines)


def _entries(module: PublicModule, names: list[str], level: int) -> list[str]:
    modules = {each.name for each in public_modules()}
    lines: list[str] = []
    for name in names:
        if f"{module.name}.{name}" not in modules:
            lines += [f"::: {_identifier(module, name)}", "    options:", f"      heading_level: {level}"]
            # What a public base has is on its own entry; what an internal one has is nowhere else.
            if bases(module.origins[name], name) - set(module.names):
                lines.append("      inherited_members: true")
            lines.append("")
    return lines


def _room_introduction(module: PublicModule, names: list[str]) -> list[str]:
    """What the module says of itself that all these names are from, if there is one."""
    origins = {module.origins[name] for name in names} - {module.name}
    return _introduction(read_module(origins.pop())) if len(origins) == 1 else []


def _introduction(module: PublicModule) -> list[str]:
    """What the module says of itself; what is set in columns stays as it is."""
    lines: list[str] = []
    for paragraph in module.text.split("\n\n"):
        is_prose = not re.search(r"^ |\S {2,}\S", paragraph, re.MULTILINE)
        lines += [paragraph, ""] if is_prose else ["```text", dedent(paragraph), "```", ""]
    return lines


def _identifier(module: PublicModule, name: str) -> str:
    """What mkdocstrings finds a name by: by its own module, where the package has a module of that name, too."""
    path = f"{module.name}.{name}"
    return f"{module.origins[name]}.{name}" if path == module.origins[name] else path


def _rooms(module: PublicModule) -> dict[str, list[str]]:
    """The names by where they are defined: the folder or module right below the package."""

    def room(name: str) -> str:
        below = module.origins[name].removeprefix(module.name).removeprefix(".").partition(".")[0]
        same = not below or not module.origins[name].startswith(f"{module.name}.")
        return "" if same else below.replace("_", " ")

    ordered = sorted(module.names, key=lambda name: (room(name), name.islower(), name.lower()))
    return {key or "its own": list(names) for key, names in groupby(ordered, key=room)}


def _is_split(module: PublicModule) -> bool:
    return len(module.names) > _MAX_NAMES


def _short(name: str) -> str:
    return name.removeprefix("tablewright.")


def _uri(module: PublicModule) -> str:
    folder = f"api/{_short(module.name).replace('.', '/')}"
    return f"{folder}/index.md" if _is_split(module) else f"{folder}.md"


def _room_uri(module: PublicModule, room: str) -> str:
    return f"{posixpath.dirname(_uri(module))}/{room.replace(' ', '-')}.md"


def _systems_page(pages: list[str]) -> str:
    links = [f"- [{Path(page).stem.replace('-', ' ').title()}]({posixpath.basename(page)})" for page in pages]
    return "\n".join(["# The five designs", "", "Printed from their models by `tablewright docs`.", "", *links]) + "\n"


def fetch(script: Script) -> bytes:
    """The text of a script; ``npm pack`` brings its package when it is asked for the first time."""
    cached = CACHE / f"{script.package}-{script.version}.js"
    if not cached.exists():
        wanted = f"{script.package}@{script.version}"
        with tempfile.TemporaryDirectory() as folder:
            command = ["npm", "pack", wanted, "--pack-destination", folder]
            try:
                subprocess.run(command, check=True, capture_output=True, timeout=120)
            except (OSError, subprocess.SubprocessError) as error:
                raise PluginError(f"the site needs npm, to get {wanted}, which failed: {error}") from None
            package = next(Path(folder).glob("*.tgz")).read_bytes()
        if base64.b64encode(hashlib.sha512(package).digest()).decode() != script.digest:
            raise PluginError(f"{wanted} is not the package that was expected; nothing of it is used")
        with tarfile.open(fileobj=io.BytesIO(package)) as archive:
            member = archive.extractfile(script.path)
            assert member is not None
            CACHE.mkdir(parents=True, exist_ok=True)
            cached.write_bytes(member.read())
    return cached.read_bytes()
