"""Every rule finds its mistake, and is silent about the same design without it."""

from __future__ import annotations

import re

import pytest

from tablewright.design.lint import FAMILIES, RULES, lint
from tests.design.lint.cases.all_cases import CASES
from tests.design.lint.cases.case import Case

# These are not about a design that lint could look at; see test_lint.
WITHOUT_DESIGN = {"no-sample", "refused", "unused-acceptance"}


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.place}")
def test_the_mistake_is_found(case: Case) -> None:
    found = [finding for finding in lint(case.wrong()) if finding.rule == case.rule]
    assert [finding.place for finding in found] == [case.place]
    assert case.severity is None or found[0].severity == case.severity


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.place}")
def test_without_the_mistake_there_is_no_finding(case: Case) -> None:
    assert [finding for finding in lint(case.right()) if finding.rule == case.rule] == []


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == set(RULES) - WITHOUT_DESIGN, "add a case to tests/design/lint/cases"


def test_a_rule_is_a_few_words_and_belongs_to_a_family() -> None:
    families = {family.__name__ for family in FAMILIES}
    for rule in RULES.values():
        assert rule.id == rule.id.lower()
        assert set(rule.id) <= set("abcdefghijklmnopqrstuvwxyz-")
        assert rule.title[0].isupper()
        assert not rule.title.endswith(".")
        assert rule.find.__module__ in families or rule.id in WITHOUT_DESIGN


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.place}")
def test_findings_are_whole_sentences(case: Case) -> None:
    for finding in lint(case.wrong()):
        for text in (finding.message, finding.repair):
            assert text == text.strip()
            assert text.endswith((".", ")"))
            assert "  " not in text
            assert "None" not in re.sub("`[^`]*`|include=None", "", text)
