"""What the documentation shows works: its code is run.

For each page, in a temporary folder and from top to bottom:

- ```python blocks run in one namespace, so that a later block may use the names of an earlier one;
- ```sh blocks are pasted into a shell as they are, and have to succeed; what they export, and the folder that they go
  to, is there for the next one;
- a json or text block right below is the answer; JSON may be laid out otherwise, and `...` in one of its texts stands
  for anything;
- a python block behind `<!-- file: NAME -->` is written to that file, for a command further down;
- a block behind `<!-- not run: REASON -->` is left alone.

Where a block talks to a server on port 8000 (`tablewright serve`) or 8080 (`tablewright up`), one is started for the
page, on a port of its own: all systems with demo data, as `make up` has them.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WALK_THROUGHS = sorted((ROOT / "docs").glob("walkthrough-*.md"))
# The addresses that pages have, and the command that makes a server for them.
SYSTEMS = "http://127.0.0.1:8080"
SERVERS = {
    "http://127.0.0.1:8000": ("serve", "--memory"),
    SYSTEMS: ("up", "--demo"),
}

BLOCK = re.compile(
    r"(?:<!-- (?P<note>[^\n]*?) -->\n+)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    line: int
    note: str
    # Of a block for a shell, what it answers, if that is shown.
    answer: str | None = None

    @property
    def runs(self) -> bool:
        return self.language in ("python", "sh") and not self.note.startswith("not run: ")


def blocks(page: str) -> list[Block]:
    found: list[Block] = []
    end = 0
    for match in BLOCK.finditer(page):
        is_answer = match["language"] in ("json", "text") and not page[end : match.start()].strip()
        if is_answer and found and found[-1].language == "sh":
            found[-1] = replace(found[-1], answer=match["text"])
        line = page[: match.start("text")].count("\n") + 1
        found.append(Block(match["language"], match["text"], line, match["note"] or ""))
        end = match.end()
    return found


def run_page(path: Path, folder: Path, running: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run what a page has, on servers that are running (by their documented address) or on new ones."""
    runnable = [block for block in blocks(path.read_text("utf-8")) if block.runs]
    with ExitStack() as servers:
        addresses = {
            documented: running.get(documented) or servers.enter_context(server(folder, *command))
            for documented, command in SERVERS.items()
            if any(documented in block.text for block in runnable)
        }
        namespace: dict[str, Any] = {"__name__": path.stem}
        shell = Shell(folder)
        for block in runnable:
            text = block.text
            for documented, address in addresses.items():
                text = text.replace(documented, address)
            run_block(block, text, path, shell, namespace)


def run_block(block: Block, text: str, path: Path, shell: "Shell", namespace: dict[str, Any]) -> None:
    if block.note.startswith("file: "):
        (shell.folder / block.note.removeprefix("file: ")).write_text(text)
    elif block.language == "python":
        # The empty lines make a traceback show the line of the page.
        exec(compile("\n" * (block.line - 1) + text, str(path), "exec"), namespace)
    else:
        place = f"{path.name}:{block.line}: {text}"
        answer = shell.run(f"set -e\n{text}", place)
        if block.answer is not None:
            assert is_answer(block.answer, answer), f"{place}\nshown:\n{block.answer}\nanswered:\n{answer}"


def is_answer(shown: str, answer: str) -> bool:
    """Whether a command answered what is shown."""
    try:
        return is_like(json.loads(shown), json.loads(answer))
    except json.JSONDecodeError:
        return is_like(shown.strip(), answer.strip())


def is_like(shown: Any, found: Any) -> bool:
    if isinstance(shown, dict) and isinstance(found, dict):
        return shown.keys() == found.keys() and all(is_like(shown[name], found[name]) for name in shown)
    if isinstance(shown, list) and isinstance(found, list):
        return len(shown) == len(found) and all(map(is_like, shown, found))
    if isinstance(shown, str) and isinstance(found, str) and "..." in shown:
        return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), found, re.DOTALL) is not None
    return type(shown) is type(found) and bool(shown == found)


class Shell:
    """Runs commands, from a folder on; what one of them exports is there for the next one, and so is its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        scripts = str(Path(sys.executable).parent)
        path = scripts + os.pathsep + os.environ["PATH"]
        self._environment = {**os.environ, "PATH": path, "PWD": str(folder)}

    def run(self, command: str, place: str) -> str:
        """The output of a command, which has to succeed."""
        with tempfile.NamedTemporaryFile() as exported:
            done = subprocess.run(
                f"{command}\nstatus=$?\nenv -0 > {exported.name}\nexit $status",
                shell=True,
                cwd=self._environment["PWD"],
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, f"{place}\n{done.stdout}{done.stderr}"
            lines = exported.read().decode().split("\0")
        self._environment = dict(line.split("=", 1) for line in lines if "=" in line)
        return done.stdout


@contextmanager
def server(folder: Path, *command: str) -> Iterator[str]:
    """A server of our own, which says where it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tablewright", *command, "--port", "0"],
        cwd=folder,
        env={**os.environ, "TABLEWRIGHT_LOG_LEVEL": "WARNING"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        while (found := re.search(r"http://[\w.]+:\d+", said)) is None:
            line = process.stdout.readline()
            assert line, f"no address in {said!r}"
            said += line
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize("path", [page for page in PAGES if page not in WALK_THROUGHS], ids=lambda path: path.name)
def test_the_code_on_the_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(path, tmp_path)


@pytest.fixture(scope="module")
def systems_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder and the address of all systems: each walk-through is about one of them, and they share nothing."""
    folder = tmp_path_factory.mktemp("systems")
    with server(folder, *SERVERS[SYSTEMS]) as address:
        yield folder, address


@pytest.mark.parametrize("path", WALK_THROUGHS, ids=lambda path: path.name)
def test_the_commands_of_the_walk_through_run(
    path: Path, systems_up: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = systems_up
    monkeypatch.chdir(folder)
    run_page(path, folder, {SYSTEMS: address})


def test_the_tutorial_is_a_program_that_can_be_run_again(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    program = "\n\n".join(block.text for block in blocks(page) if block.language == "python" and block.runs)
    documented = "http://127.0.0.1:8000"
    with server(tmp_path, *SERVERS[documented]) as address:
        (tmp_path / "bicycles.py").write_text(program.replace(documented, address))
        for _ in range(2):
            Shell(tmp_path).run("python bicycles.py", "tutorial.md")


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

    page.write_text("```sh\nexit 3\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:2: exit 3"):
        run_page(page, tmp_path)


def test_the_runner_skips_writes_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- not run: it never ends -->\n\n```sh\nexit 1\n```\n\n"
        "<!-- file: shown.py -->\n```python\nprint('made')\n```\n\n"
        "```sh\npython shown.py > out.txt\n```\n\n"
        "```python\nassert open('out.txt').read() == 'made\\n'\n```\n"
    )
    run_page(page, tmp_path)


@pytest.mark.parametrize(
    ("shown", "answered"),
    [
        ("made", "made\n"),
        ('{"a": 1, "b": ["x..."]}', '{"b":["xyz"],"a":1}'),
        ('{"id": "..."}', '{"id":""}'),
        ("", ""),
    ],
)
def test_the_runner_knows_an_answer(shown: str, answered: str) -> None:
    assert is_answer(shown, answered)


@pytest.mark.parametrize(
    ("shown", "answered"),
    [
        ("made", "mode"),
        ('{"a": 1}', '{"a": 1, "b": 2}'),
        ('{"a": 1}', '{"a": true}'),
        ('{"a": "x..."}', '{"a": "yx"}'),
        ('{"a": [1]}', '{"a": [1, 2]}'),
        ('{"a": "..."}', '{"a": null}'),
        ("", "something"),
    ],
)
def test_the_runner_knows_what_is_no_answer(shown: str, answered: str) -> None:
    assert not is_answer(shown, answered)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_nothing_on_the_page_waits_forever(path: Path) -> None:
    shown = [block for block in blocks(path.read_text("utf-8")) if block.language == "sh" and block.runs]
    assert [block.line for block in shown if re.search(r"\b(until|while)\b", block.text)] == []


def test_the_runner_pastes_into_a_shell_and_compares_the_answer_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```sh\nexport NAME=Ada\ntrue\n```\n\n```sh\necho $NAME has 7\n```\n\n```text\nAda has ...\n```\n")
    run_page(page, tmp_path)
    page.write_text("```sh\necho Ada\n```\n\n```text\nBob\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:2: echo Ada"):
        run_page(page, tmp_path)
    page.write_text("```sh\nfalse\ntrue\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:2: false"):
        run_page(page, tmp_path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_is_to_be_typed_can_be_pasted(path: Path) -> None:
    """Without a prompt, and without what is answered."""
    prompts = [block.line for block in blocks(path.read_text("utf-8")) if re.search(r"^\$ ", block.text, re.MULTILINE)]
    assert (prompts, "```console" in path.read_text("utf-8")) == ([], False)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_command_is_cut_off(path: Path) -> None:
    """With a quote that is left open, a shell waits for the rest; those that are not run as well."""
    for block in blocks(path.read_text("utf-8")):
        if block.language == "sh":
            checked = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, timeout=30)
            assert (checked.returncode, checked.stderr) == (0, ""), f"{path.name}:{block.line}"


@pytest.mark.parametrize("path", WALK_THROUGHS, ids=lambda path: path.name)
def test_what_a_walk_through_writes_is_written_by_the_shell_that_it_is_typed_in(path: Path) -> None:
    for block in blocks(path.read_text("utf-8")):
        if block.language == "python" and block.runs:
            assert "write_text" not in block.text, block.line


def test_the_runner_stays_in_the_folder_that_it_has_gone_to(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nmkdir inner\ncd inner\n```\n\n```sh\npwd\n```\n\n```text\n.../inner\n```\n")
    run_page(page, tmp_path)
