"""The programs of examples/ run, as their first lines say, and do what they say they show."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime
from tablewright.systems import NAMES, load
from tests import settings_files

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(*command: str, folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def program(name: str) -> str:
    return str(ROOT / "examples" / name)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_says_what_it_shows_and_how_to_run_it(path: Path) -> None:
    text = path.read_text("utf-8")
    page = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert f"[{path.name}]({path.name})" in page, f"add {path.name} to the table of examples/README.md"
    assert re.match(r'"""\w[^\n]+[.]\n\n    \w+ ', text), "begin with a sentence, then how to run it"
    assert "shows" in text[: text.index('"""', 3)], "say in the first lines what it shows"


def test_every_example_is_run_by_a_test_here() -> None:
    calls = [node for node in ast.walk(ast.parse(Path(__file__).read_text("utf-8"))) if isinstance(node, ast.Call)]
    started = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id in ("program", "loaded")
        and isinstance(call.args[0], ast.Constant)
    }
    assert {path.name for path in EXAMPLES} == started, "add a test here that runs the example"


def test_boto3_in_process(tmp_path: Path) -> None:
    for _ in range(2):  # the second time, the data of the first is there
        assert run(sys.executable, program("boto3_in_process.py"), "./shop", folder=tmp_path) == (
            "ada has ordered for 24.9\n"
        )
    assert (tmp_path / "shop" / "tablewright.db").exists()


def test_single_table(tmp_path: Path) -> None:
    out = run(sys.executable, program("single_table.py"), folder=tmp_path)
    assert "Ada has 1 order, sent\nlint: 0 errors and warnings\non demand: $" in out


@pytest.mark.parametrize("command", ["lint", "plan"])
def test_the_design_tools_take_the_single_table_design(tmp_path: Path, command: str) -> None:
    run("tablewright", command, program("single_table.py"), folder=tmp_path)


def test_the_single_table_design_is_printed(tmp_path: Path) -> None:
    run("tablewright", "docs", program("single_table.py"), "--out", "shop-document", folder=tmp_path)
    assert (tmp_path / "shop-document" / "shop.md").exists()


def test_stream_consumer(tmp_path: Path) -> None:
    outs = [run(sys.executable, program("stream_consumer.py"), "./shop", folder=tmp_path) for _ in range(2)]
    assert outs == ["4 changes; orders of ada: 1, for 20\n", "4 changes; orders of ada: 2, for 40\n"]


def test_idempotent_payments(tmp_path: Path) -> None:
    out = run(sys.executable, program("idempotent_payments.py"), folder=tmp_path)
    assert out == "key-1 belongs to another request\nthere is not enough for key-2\nada has 30 left\n"


def test_with_fixtures(tmp_path: Path) -> None:
    copy = tmp_path / "test_with_fixtures.py"
    copy.write_bytes(Path(program("test_with_fixtures.py")).read_bytes())
    out = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", copy.name, folder=tmp_path)
    assert "5 passed" in out


def test_web_handler(tmp_path: Path) -> None:
    app = loaded("web_handler.py").Application(str(tmp_path / "notes"))

    async def exchange() -> None:
        inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        alive = asyncio.create_task(app({"type": "lifespan"}, inbox.get, outbox.put))
        await inbox.put({"type": "lifespan.startup"})
        assert (await outbox.get())["type"] == "lifespan.startup.complete"

        written = [await request(app, "POST", "/notes", {"author": "ada", "text": str(n)}) for n in range(12)]
        assert [status for status, _ in written] == [201] * 12
        assert (await request(app, "POST", "/notes", {"author": "ada"}))[0] == 422

        _, first = await request(app, "GET", "/notes/ada")
        _, second = await request(app, "GET", "/notes/ada", query=f"cursor={first['cursor']}")
        assert [note["text"] for note in first["items"] + second["items"]] == [str(n) for n in reversed(range(12))]
        assert second["cursor"] is None
        assert (await request(app, "GET", "/notes/bob", query=f"cursor={first['cursor']}"))[0] == 400
        assert (await request(app, "GET", "/elsewhere"))[0] == 404

        await inbox.put({"type": "lifespan.shutdown"})
        assert (await outbox.get())["type"] == "lifespan.shutdown.complete"
        await alive

    asyncio.run(exchange())


async def request(app: Any, method: str, path: str, body: Any = None, *, query: str = "") -> tuple[int, Any]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
    await app(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"examples_{Path(name).stem}", program(name))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.requirement("SH7")
@pytest.mark.parametrize("with_all", [False, True], ids=["as it is", "with what it shows as comments"])
@pytest.mark.parametrize("path", sorted(settings_files.FOLDER.iterdir()), ids=lambda path: path.name)
def test_the_systems_take_a_file_of_settings(
    path: Path, with_all: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = path.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    for name, value in settings_files.variables_of(
        settings_files.with_all_settings(text) if with_all else text
    ).items():
        monkeypatch.setenv(name, value)
    # There is no such profile here.
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    settings = Settings()
    assert not settings.is_embedded
    assert (settings.mode == "production") == (with_all and "MODE=production" in text)
    systems = [system for name in NAMES for system in load(name)]
    runtime = Runtime.open(settings, systems)
    try:
        assert {runtime.store.context.name_of(table)[:4] for table in systems[0].tables} == {"dev-"}
    finally:
        runtime.close()


@pytest.mark.requirement("SH7")
@pytest.mark.parametrize("path", sorted(settings_files.FOLDER.iterdir()), ids=lambda path: path.name)
def test_a_file_of_settings_has_the_commands_that_the_documentation_has(path: Path) -> None:
    commands = [line.removeprefix("#   ") for line in path.read_text("utf-8").splitlines() if line.startswith("#   ")]
    page = (ROOT / "docs" / "check.md").read_text("utf-8")
    assert "```sh\n" + "\n".join(commands) + "\n```" in page
    assert f"(../examples/settings/{path.name})" in page
    assert f"(settings/{path.name})" in (ROOT / "examples" / "README.md").read_text("utf-8")
