"""What the documentation shows works: its code is run.

For each page, in a temporary folder and from top to bottom:

- ```python blocks run in one namespace, so that a later block may use the names of an earlier one;
- ```console blocks run the commands behind `$ `, which have to succeed;
- a python block behind `<!-- file: NAME -->` is written to that file, for a command further down;
- a block behind `<!-- not run: REASON -->` is left alone.

Where a block talks to a server on port 8000, one is started for the page, on a port of its own.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTED_ADDRESS = "http://127.0.0.1:8000"

BLOCK = re.compile(
    r"(?:<!-- (?P<note>[^\n]*?) -->\n+)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    line: int
    note: str

    @property
    def runs(self) -> bool:
        return self.language in ("python", "console") and not self.note.startswith("not run: ")


def blocks(page: str) -> list[Block]:
    return [
        Block(match["language"], match["text"], page[: match.start("text")].count("\n") + 1, match["note"] or "")
        for match in BLOCK.finditer(page)
    ]


def run_page(path: Path, folder: Path) -> None:
    runnable = [block for block in blocks(path.read_text("utf-8")) if block.runs]
    needs_server = any(DOCUMENTED_ADDRESS in block.text for block in runnable)
    with server() if needs_server else no_server() as address:
        namespace: dict[str, Any] = {"__name__": path.stem}
        for block in runnable:
            run_block(block, block.text.replace(DOCUMENTED_ADDRESS, address), path, folder, namespace)


def run_block(block: Block, text: str, path: Path, folder: Path, namespace: dict[str, Any]) -> None:
    if block.note.startswith("file: "):
        (folder / block.note.removeprefix("file: ")).write_text(text)
    elif block.language == "python":
        # The empty lines make a traceback show the line of the page.
        exec(compile("\n" * (block.line - 1) + text, str(path), "exec"), namespace)
    else:
        for line in text.splitlines():
            if line.startswith("$ "):
                run_command(line.removeprefix("$ "), f"{path.name}:{block.line}", folder)


def run_command(command: str, place: str, folder: Path) -> None:
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{place}: {command}\n{done.stdout}{done.stderr}"


@contextmanager
def no_server() -> Iterator[str]:
    yield DOCUMENTED_ADDRESS


@contextmanager
def server() -> Iterator[str]:
    """A server of our own, which says where it listens in its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tablewright", "serve", "--memory", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"http://[\w.]+:\d+", first)
        assert found, f"no address in {first!r}"
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_code_on_the_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(path, tmp_path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_the_runner_notices_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nx = 1\n```\n\n```python\nassert x == 1\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as failure:
        run_page(page, tmp_path)
    assert failure.traceback[-1].lineno == 8

    page.write_text("```console\nsome text\n$ exit 3\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:2: exit 3"):
        run_page(page, tmp_path)


def test_the_runner_skips_writes_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- not run: it never ends -->\n\n```console\n$ exit 1\n```\n\n"
        "<!-- file: shown.py -->\n```python\nprint('made')\n```\n\n"
        "```console\n$ python shown.py > out.txt\nmade\n```\n\n"
        "```python\nassert open('out.txt').read() == 'made\\n'\n```\n"
    )
    run_page(page, tmp_path)
