"""Rows that no candidate can be made of are errors of their customers, each counted once; runs go on behind them."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.systems.engagement.model import Candidate, Run, RunState
from tests.systems.engagement.engagement_fixtures import Workshop, program, write

LONG = 450_000
IDS = "the customer's id can have 1 to 200 characters"
SUBJECTS = "the subject's type can have 1 to 50 characters, the id 1 to 150"
UNSEEN = "an id, or the subject's type, has a / or an invisible character"

# What stands for a value in a query, and what comes of its row.
QUERY = f"""
SELECT
    CASE customer_id WHEN 'long' THEN repeat('m', {LONG}) WHEN 'nul' THEN 'n' || chr(0) WHEN 'esc' THEN 'p' || chr(27)
        ELSE customer_id END AS customer_id,
    CASE kind WHEN 'long' THEN repeat('k', {LONG}) WHEN 'nul' THEN 'k' || chr(0) ELSE kind END AS kind,
    CASE sku WHEN 'long' THEN repeat('s', {LONG}) WHEN 'nul' THEN 's' || chr(0) ELSE sku END AS sku
FROM customers
"""
ROWS = [
    ("a", "book", "1"),
    ("b", "long", "1"),
    ("b", "nul", "1"),
    ("c", "book", "long"),
    ("c", "book", "nul"),
    ("d", "book", "1"),
    ("long", "book", "1"),
    ("nul", "book", "1"),
    ("esc", "book", "1"),
    ("z", "book", "1"),
]
GOOD = {("a", "book", "1"), ("d", "book", "1"), ("z", "book", "1")}
ERRORS = {IDS: 1, SUBJECTS: 2, UNSEEN: 4}


def configuration(workshop: Workshop) -> dict[str, Any]:
    write(workshop.folder / "customers.csv", ROWS, ("customer_id", "kind", "sku"))
    connector = {
        "type": "files",
        "tables": {"customers": "customers.csv"},
        "query": QUERY,
        "subjectTypeColumn": "kind",
        "subjectIdColumn": "sku",
    }
    models = [{"modelId": "test-age", "weight": 1}]
    # Most of them fail.
    return program(dataConnectors=[connector], scoringModels=models, maxFailedShare=1)


def made(workshop: Workshop) -> set[tuple[str, str, str]]:
    found = workshop.store.iterate(Candidate)
    return {(candidate.customer_id, candidate.subject.type, candidate.subject.id) for candidate in found}


@pytest.mark.requirement("CE8")
def test_invalid_ids_are_errors_of_their_customers(workshop: Workshop) -> None:
    run = workshop.run(workshop.put(configuration(workshop)))
    assert (run.state, run.counts.read, run.counts.failed, run.errors) == (RunState.COMPLETED, 10, 7, ERRORS)
    assert made(workshop) == GOOD
    assert len(run.item()["samples"]["L"]) == 7
    assert len(str(run.item())) < 20_000


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("behind", range(1, len(ROWS)))
def test_a_run_continues_after_any_of_them_and_counts_each_once(workshop: Workshop, behind: int) -> None:
    runs = workshop.runs(chunk=1)
    held = runs.begin(workshop.put(configuration(workshop)))

    def stop(run: Run) -> None:
        if run.counts.read == behind:
            runs.request(runs.get(run), "stop")

    stopped = runs.execute(held, report=stop)
    assert (stopped.state, stopped.counts.read) == (RunState.STOPPED, behind)
    assert len(str(stopped.item())) < 20_000
    run = runs.execute(runs.resume(stopped))
    assert (run.state, run.counts.read, run.errors) == (RunState.COMPLETED, 10, ERRORS)
    assert made(workshop) == GOOD
