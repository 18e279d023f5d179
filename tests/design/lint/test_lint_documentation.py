"""Every rule is documented on the page of lint, and the page has no rule that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tablewright.design.lint import RULES, Rule

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "lint.md").read_text("utf-8")
SECTIONS = {
    match[1]: match[2] for match in re.finditer(r"^### ([a-z-]+)\n\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
}


def test_the_page_has_a_section_for_each_rule_and_no_other() -> None:
    assert sorted(SECTIONS) == sorted(RULES), "docs/lint.md has one section for each rule"


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_section_has_title_severity_reason_and_repair(rule: Rule) -> None:
    assert rule.id in SECTIONS, f"add a section `### {rule.id}` to docs/lint.md"
    section = SECTIONS[rule.id]
    start = f"*{rule.severity.capitalize()}.* {rule.title}."
    assert section.startswith(start), f"the section begins with the severity and the title: {start}"
    assert "\n**Repair:** " in section, "add a paragraph `**Repair:** ...` to the section"


@pytest.mark.parametrize("requirement", [f"R{number}" for number in range(1, 22)])
def test_a_mistake_that_the_requirements_name_is_on_the_page(requirement: str) -> None:
    assert re.search(rf"\b{requirement}\b", PAGE)
