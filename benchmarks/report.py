"""docs/benchmarks.md: one section for each part, so that a part can be measured again by itself."""

import os
import platform
import re
import sqlite3
import statistics
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"

INTRODUCTION = """\
# Benchmarks

Written by `make bench`, not by hand; `make bench PART=http` renews one part. Targets of a part are measured
in turns in the same run, each several times. A figure is the median of its rounds, a ratio the median of the
rounds' ratios; above 1 means that Tablewright is ahead.

A bar is what a figure has to reach to be good enough: at least that ratio to the peer or, behind ≤, at most that cost.
Over HTTP the bar is to be ahead of all peers, and the aim, which goes beyond it, is twice the fastest of them.
"""


@dataclass(frozen=True, slots=True)
class Section:
    part: str
    title: str
    notes: list[str]
    columns: list[str]
    rows: list[list[str]]

    def render(self) -> str:
        head = [f"| {' | '.join(self.columns)} |", "|---" + "|---:" * (len(self.columns) - 1) + "|"]
        table = head + [f"| {' | '.join(row)} |" for row in self.rows]
        notes = [f"- {note}" for note in [*self.notes, environment()]]
        return "\n".join([_opening(self.part), f"## {self.title}", "", *table, "", *notes, _closing(self.part)])


def environment() -> str:
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {_processor()}, {os.cpu_count()} cores; {platform.system()}; "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.exists() else ""
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1].strip() if found else platform.machine()


def write(section: Section, order: list[str], page: Path = PAGE) -> None:
    """Put the section in its place on the page, and leave the other sections as they are."""
    text = page.read_text("utf-8") if page.exists() else ""
    sections = {part: found[0] for part in order if (found := _pattern(part).search(text))}
    sections[section.part] = section.render()
    body = "\n\n".join(sections[part] for part in order if part in sections)
    page.write_text(f"{INTRODUCTION}\n{body}\n", "utf-8")


def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(re.escape(_opening(part)) + ".*?" + re.escape(_closing(part)), re.DOTALL)


def _opening(part: str) -> str:
    return f"<!-- part: {part} -->"


def _closing(part: str) -> str:
    return f"<!-- end of {part} -->"


def compare(ours: list[float], theirs: list[float]) -> float:
    """The median of the rounds' ratios: what slows the machine for a while slows both sides of a round."""
    return statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))


def rate(value: float) -> str:
    return f"{value:,.0f}/s"


def ratio(value: float) -> str:
    return f"{value:.2f}×" if value < 10 else f"{value:.0f}×"  # noqa: RUF001


def verdict(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
