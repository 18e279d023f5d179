"""Every text is there in every language, and every key that a screen uses has a text."""

from __future__ import annotations

import ast
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tablewright.systems import load
from tablewright.ui.applications import Application
from tablewright.ui.screens import OTHERS
from tablewright.ui.shell_texts import texts as shell_texts
from tablewright.ui.texts import LANGUAGES, Catalogue, Texts, language_of, zone_of

SOURCE = Path(__file__).resolve().parents[2] / "src" / "tablewright"
pytestmark = pytest.mark.requirement("AP2")


def applications() -> list[Application]:
    modules = [*(system.screens for system in load() if system.screens), *OTHERS]
    return [import_module(module).app for module in modules]


def all_texts() -> dict[str, tuple[str, str]]:
    found = dict(shell_texts.texts)
    for application in applications():
        found.update(application.texts.texts)
    return found


def test_every_key_has_a_text_in_every_language() -> None:
    for key, each in all_texts().items():
        assert len(each) == len(LANGUAGES), key
        assert all(text.strip() for text in each), key


def test_every_key_that_is_used_has_a_text() -> None:
    known = all_texts()
    names = {key.partition(".")[0] for key in known}
    calls = [
        (path, node.lineno, node.args[0].value)
        for path in [*(SOURCE / "ui").rglob("*.py"), *(SOURCE / "systems").glob("*/app/**/*.py")]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] == "t"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    assert len(calls) > 50
    assert [each for each in calls if each[2] not in known] == []
    assert all(str(each[2]).partition(".")[0] in names for each in calls)


def test_a_catalogue_without_a_language_is_not_made() -> None:
    with pytest.raises(ValueError, match=r"tasks\.new needs a text"):
        Catalogue("tasks", {"new": ("New", "")})
    with pytest.raises(ValueError, match="with the same fields"):
        Catalogue("tasks", {"new": ("New {name}", "Nuovo")})


@pytest.mark.parametrize(
    ("chosen", "accepted", "expected"),
    [
        ("it", "en", "it"),
        (None, "it-IT,it;q=0.9,en;q=0.8", "it"),
        (None, "fr, en;q=0.5, it;q=0.4", "en"),
        ("fr", "de", "en"),
        (None, "", "en"),
        (None, "," * 10_000, "en"),
    ],
)
def test_the_language_is_the_chosen_one_or_the_first_that_a_browser_accepts(
    chosen: str | None, accepted: str, expected: str
) -> None:
    assert language_of(chosen, accepted) == expected


@pytest.mark.parametrize("name", [None, "", "Europe/Nowhere", "../../etc/passwd", "x\x00y", "a" * 10_000])
def test_a_zone_that_there_is_not_is_utc(name: str | None) -> None:
    assert zone_of(name).key == "UTC"


def test_times_are_formatted_in_the_time_zone_and_language_of_the_user() -> None:
    rome = Texts(shell_texts.texts, "it", ZoneInfo("Europe/Rome"))
    today = date(2026, 11, 16)
    said = [rome.day(today + timedelta(days=away), today) for away in (-1, 0, 1, 4, 9, 60)]
    assert said == ["ieri", "oggi", "domani", "ven", "25 nov", "15 gen 2027"]
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    ago = [rome.ago(now - timedelta(minutes=minutes), now) for minutes in (0, 5, 190)]
    assert ago == ["ora", "5 min", "3 h"]
    assert rome.exact(now) == "16 nov 2026 13:00:00 (Europe/Rome)"
    assert (rome.number(1234567), Texts({}, "en", ZoneInfo("UTC")).number(1234.5)) == ("1.234.567", "1,234.5")
    assert rome.count("shell.that_is_all", 1) == "1 in totale"
    assert [rome.span(timedelta(seconds=seconds)) for seconds in (45, 720, 11_520, 187_200)] == [
        "45 s",
        "12 min",
        "3 h 12 min",
        "2 g 4 h",
    ]
