"""Service Desk: how well secrets are masked in sentences that no rule was tuned by, and what that costs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from tablewright.systems.servicedesk.masking.secret_spans import mask
from tests.systems.servicedesk.masking_figures import LANGUAGES, measured, sentences

WALK_THROUGH = Path(__file__).resolve().parents[3] / "docs" / "walkthrough-servicedesk.md"


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", ["held_back", "tuning"])
def test_secrets_are_found_and_little_else_is(part: str, language: str) -> None:
    figures = measured(part, language)
    assert figures.recall >= 0.95, figures.wrong
    assert figures.precision >= 0.97, figures.wrong


def test_the_corpus_is_large_and_even() -> None:
    held_back = [(language, sentence) for language in LANGUAGES for sentence in sentences("held_back", language)]
    tuning = [(language, sentence) for language in LANGUAGES for sentence in sentences("tuning", language)]
    every = held_back + tuning
    harmless = sum("⟦" not in sentence for _, sentence in every)
    assert len(every) == len(set(every)) >= 600
    assert 0.4 < harmless / len(every) < 0.6
    assert 0.3 < len(held_back) / len(every) < 0.4


def test_the_walk_through_has_the_figures() -> None:
    held_back = [measured("held_back", language) for language in LANGUAGES]
    counts = [len(sentences("held_back", language)) for language in LANGUAGES]
    every = sum(counts) + sum(len(sentences("tuning", language)) for language in LANGUAGES)
    told = " ".join(WALK_THROUGH.read_text("utf-8").split())
    assert f"measured with {every} sentences" in told
    assert f"A third of them, {sum(counts)}, is held back" in told
    secrets = sum(figures.secrets for figures in held_back)
    assert f"(recall {min(figures.recall for figures in held_back):.2f} in each of the seven languages, " in told
    assert f"{secrets} secrets in all)" in told
    assert f"(precision {min(figures.precision for figures in held_back):.2f})" in told


@pytest.mark.requirement("SD6")
@pytest.mark.parametrize(
    "part",
    [
        "pw=",
        "pw= ",
        "password ",
        "password password is ",
        ":",
        "password:",
        "'",
        '"a" password ',
        "code 1 ",
        "1 ",
        "one ",
        "passphrase is a ",
        "Aa1 ",
        "serial number ",
        "serial: A1B2C3 D4 ",
        "://a:b@",
        "G-482913 ",
        "pin pin 4711 ",
        "a-",
        "my password is Hunter{} and ",
        "é",
        "p\u200b",
        "credentials are a ",
        "<password>",
        "backup codes a1b2-c3d4 ",
    ],
)
def test_twice_the_text_takes_twice_the_work(part: str) -> None:
    def text(size: int) -> str:
        return "".join(part.replace("{}", str(number)) for number in range(size))

    once, twice = (lines_run(partial(mask, text(size))) for size in (80, 160))
    assert twice < 2.2 * once


@pytest.mark.parametrize("part", ["pw=", "password ", ":", "code 1 "])
def test_the_longest_text_takes_work_for_each_of_its_letters(part: str) -> None:
    text = (part * 50_000)[:50_000]
    assert mask(mask(text).text).text == mask(text).text


def lines_run(work: Callable[[], object]) -> int:
    """The lines of Python that are run by it: the same on any machine."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]  # any callable will do
    try:
        work()
    finally:
        sys.settrace(before)
    return count
