"""What is logged beside a message is shown, and nothing else is."""

from __future__ import annotations

import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tablewright
from tablewright.runtime.logs import FIELDS, JsonFormatter, keep_visible, set_up

SOURCES = sorted(Path(tablewright.__file__).parent.rglob("*.py"))


def logged(source: ast.Module) -> Iterator[str]:
    """The names of the fields that a module gives to its logger: ``extra={...}``, or the name of such a dictionary."""
    named = {
        target.id: node.value
        for node in ast.walk(source)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(source):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "_log":
            for keyword in node.keywords:
                if keyword.arg == "extra":
                    fields = named[keyword.value.id] if isinstance(keyword.value, ast.Name) else keyword.value
                    assert isinstance(fields, ast.Dict), ast.unparse(node)
                    for key in fields.keys:
                        assert isinstance(key, ast.Constant), ast.unparse(node)
                        yield str(key.value)


def test_what_is_logged_is_what_is_shown() -> None:
    """Nothing is dropped in silence, and nothing is let through that nobody logs."""
    found = {name for path in SOURCES for name in logged(ast.parse(path.read_text("utf-8")))}
    assert found == set(FIELDS)


def test_a_line_has_the_fields_and_not_the_text_of_an_error() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    log = logging.Logger("tests")
    log.addHandler(handler)
    try:
        raise ValueError("ada@example.org")
    except ValueError as error:
        log.error("a job failed", exc_info=error, extra={"job": "migrate-shards", "count": 3, "address": "ada"})
    line = json.loads(stream.getvalue())
    assert {name: line[name] for name in ("message", "job", "count", "error")} == {
        "message": "a job failed",
        "job": "migrate-shards",
        "count": 3,
        "error": "ValueError",
    }
    assert "ada" not in stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def _own_handlers() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("_own_handlers")
@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_has_short_lines(monkeypatch: pytest.MonkeyPatch, colour: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    set_up("INFO", terminal)
    logging.getLogger("tests").warning("mail \x1b[2J waits", extra={"status": 503, "address": "ada"})
    (line,) = terminal.getvalue().splitlines()
    level = "\x1b[33mwarning\x1b[0m" if colour else "warning"
    assert line[8:] == f" {level} mail ?[2J waits status=503"
    try:
        raise ValueError("ada@example.org")
    except ValueError:
        logging.getLogger("tests").exception("a job failed")
    line = terminal.getvalue().splitlines()[-1]
    assert " a job failed ValueError " in line
    assert "example.org" not in line


@pytest.mark.usefixtures("_own_handlers")
def test_anything_else_has_lines_of_json() -> None:
    stream = io.StringIO()
    set_up("INFO", stream)
    logging.getLogger("tests").warning("mail waits")
    assert json.loads(stream.getvalue())["message"] == "mail waits"


@pytest.mark.usefixtures("_own_handlers")
def test_on_a_terminal_a_text_stays_below_what_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    set_up("INFO", terminal)
    keep_visible("up at http://127.0.0.1:8080/and-more")
    assert terminal.getvalue() == ""
    for text in ("one", "two"):
        logging.getLogger("tests").warning(text)
    assert re.sub(r"\d\d:\d\d:\d\d", "T", terminal.getvalue()) == (
        "T warning one\nup at http://127.0.\r\x1b[2KT warning two\nup at http://127.0."
    )
    keep_visible("")
    logging.getLogger("tests").warning("three")
    assert re.sub(r"\d\d:\d\d:\d\d", "T", terminal.getvalue()).endswith("\r\x1b[2KT warning three\n")


@pytest.mark.usefixtures("_own_handlers")
def test_elsewhere_nothing_is_kept_below() -> None:
    stream = io.StringIO()
    set_up("INFO", stream)
    keep_visible("up", at_once=True)
    assert stream.getvalue() == ""
