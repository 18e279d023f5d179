"""The labelled corpus of sentences, and how well their secrets are masked.

In ``masking_corpus``, one sentence is a line, and its secrets are in ⟦brackets⟧. Rules may be tuned by the sentences in
``tuning``; those in ``held_back`` are for measuring only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tablewright.systems.servicedesk.masking.secret_shapes import MASK
from tablewright.systems.servicedesk.masking.secret_spans import mask

CORPUS = Path(__file__).parent / "masking_corpus"
LANGUAGES = ("de", "en", "es", "fr", "it", "pl", "pt")


@dataclass(slots=True)
class Figures:
    """Secrets that were masked whole, and masks that cover nothing but a secret."""

    secrets: int = 0
    hidden: int = 0
    masks: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.hidden / self.secrets

    @property
    def precision(self) -> float:
        return self.right / self.masks


def sentences(part: str, language: str) -> list[str]:
    return (CORPUS / part / f"{language}.txt").read_text(encoding="utf-8").splitlines()


def measured(part: str, language: str) -> Figures:
    figures = Figures()
    for sentence in sentences(part, language):
        labelled, text = _labels(sentence)
        masked = mask(text).text
        removed = _removed(text, masked)
        hidden = [all(place in removed for place in range(*span)) for span in labelled]
        figures.secrets += len(labelled)
        figures.hidden += sum(hidden)
        spans = _runs(removed)
        right = [any(begin <= first and last <= end + 1 for begin, end in labelled) for first, last in spans]
        figures.masks += len(spans)
        figures.right += sum(right)
        if not (all(hidden) and all(right)):
            figures.wrong.append(f"{sentence}\n      -> {masked}")
    return figures


def _labels(sentence: str) -> tuple[list[tuple[int, int]], str]:
    """Where the secrets are, and the sentence without its brackets."""
    spans: list[tuple[int, int]] = []
    parts = re.split("[⟦⟧]", sentence)
    at = 0
    for number, part in enumerate(parts):
        if number % 2:
            spans.append((at, at + len(part)))
        at += len(part)
    return spans, "".join(parts)


def _removed(text: str, masked: str) -> set[int]:
    """The places of a text that are not in what was kept of it."""
    removed: set[int] = set()
    at = 0
    kept = masked.split(MASK)
    for number, part in enumerate(kept):
        last = number == len(kept) - 1
        begin = (
            len(text) - len(part) if last and number else text.index(part, at + (1 if number else 0)) if part else at
        )
        if number:
            removed.update(range(at, begin))
        at = begin + len(part)
    return removed


def _runs(places: set[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for place in sorted(places):
        if runs and runs[-1][1] == place:
            runs[-1] = runs[-1][0], place + 1
        else:
            runs.append((place, place + 1))
    return runs
