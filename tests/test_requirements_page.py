"""docs/requirements.md tells the truth: every requirement is on it, with the tests that name it."""

from pathlib import Path

import pytest

from tools import requirements
from tools.requirements import Mark, Section


def test_the_page_is_up_to_date_and_no_test_names_an_unknown_requirement() -> None:
    sections, marks = requirements.read_sections(), requirements.find_marks()
    assert requirements.unknown(sections, marks) == []
    assert requirements.PAGE.read_text("utf-8") == requirements.render(sections, marks), "run `make requirements`"


def test_identifiers_are_unique_and_numbered_without_gaps() -> None:
    for section in requirements.read_sections():
        prefix = next(iter(section.requirements)).rstrip("0123456789")
        assert list(section.requirements) == [f"{prefix}{n + 1}" for n in range(len(section.requirements))]


def test_marks_are_found_wherever_pytest_takes_them(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "test_a.py").write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.requirement('A1')]\n"
        "@pytest.mark.requirement('A2', 'A3')\n"
        "def test_one(): ...\n"
        "class TestTwo:\n"
        "    @pytest.mark.requirement('A4')\n"
        "    async def test_three(self): ...\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.requirement('A5'))])\n"
        "def test_four(x): ...\n"
    )
    assert requirements.find_marks(tmp_path) == [
        Mark("A1", "sub/test_a.py", 2, "(the whole file)"),
        Mark("A2", "sub/test_a.py", 3, "test_one"),
        Mark("A3", "sub/test_a.py", 3, "test_one"),
        Mark("A4", "sub/test_a.py", 6, "TestTwo.test_three"),
        Mark("A5", "sub/test_a.py", 8, "test_four"),
    ]


def test_a_requirement_that_is_not_a_literal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import pytest\n@pytest.mark.requirement(X)\ndef test_one(): ...\n")
    with pytest.raises(ValueError, match=r"test_a\.py:2: a requirement is named by a literal string"):
        requirements.find_marks(tmp_path)


def test_an_unknown_requirement_is_reported_with_its_place() -> None:
    sections = [Section("A", {"A1": "first"})]
    marks = [Mark("A1", "test_a.py", 3, "test_one"), Mark("A2", "test_a.py", 7, "test_two")]
    assert requirements.unknown(sections, marks) == ["test_a.py:7: no requirement 'A2'"]


def test_the_page_lists_each_test_once_and_says_what_is_missing() -> None:
    sections = [Section("A", {"A1": "first", "A2": "second"})]
    marks = [Mark("A1", "test_a.py", 3, "test_one"), Mark("A1", "test_a.py", 4, "test_one")]
    text = requirements.render(sections, marks)
    assert "1 of 2 requirements have tests." in text
    assert "| A1 | first | [test_one](../tests/test_a.py) |" in text
    assert "| A2 | second | none yet |" in text
