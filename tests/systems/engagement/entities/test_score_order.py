"""Top lists are sorted as numbers are: negative, tiny and large scores, in every channel."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal, localcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.store import Create, Store
from tablewright.systems.engagement.configuration import ScoringModel
from tablewright.systems.engagement.model import Candidate, ChannelEntry, Metadata, ModelScore, Subject, candidates
from tablewright.systems.engagement.scoring.pipeline import entry_of
from tablewright.systems.engagement.scoring.scores import combined
from tests.systems.engagement.engagement_fixtures import NOON

SCORES = st.one_of(
    st.decimals(min_value=-(10**15), max_value=10**15, allow_nan=False, allow_infinity=False, places=6),
    st.decimals(min_value=Decimal("-1e-50"), max_value=Decimal("1e-50"), places=60),
    st.integers(-(10**30), 10**30).map(Decimal),
    st.sampled_from([Decimal(0), Decimal("0.1"), Decimal("-0.1"), Decimal(9), Decimal(10), Decimal(100)]),
)


def candidate(number: int, score: Decimal) -> Candidate:
    return Candidate(
        customer_id=f"c-{number:03}",
        program_id="p",
        marketplace_id="US",
        subject=Subject(type="program", id="p"),
        score=score,
        channels=["email", "push"],
        metadata=Metadata(created=NOON, day=NOON.date(), updated=NOON),
        ttl=NOON + timedelta(days=30),
    )


@pytest.mark.requirement("CE2")
@given(st.lists(SCORES, max_size=40))
@settings(max_examples=40)
def test_a_top_list_is_a_sort_of_all_scores(scores: list[Decimal]) -> None:
    with Store.open(None, clock=NOON.timestamp) as store:
        store.ensure_tables(candidates)
        for number, score in enumerate(scores):
            made = candidate(number, score)
            store.transact(Create(made), *(Create(entry_of(made, channel)) for channel in made.channels))
        best = sorted(((score, f"c-{number:03}") for number, score in enumerate(scores)), reverse=True)
        for channel in ("email", "push"):
            selection = ChannelEntry.top(program_id="p", channel_id=channel)
            found = [entry for page in store.pages(selection, limit=7) for entry in page.items]
            assert [(entry.score, entry.customer_id) for entry in found] == best


@pytest.mark.requirement("CE8")
@given(
    st.lists(
        st.tuples(
            st.decimals(min_value="0.001", max_value=1000, places=3),
            st.decimals(min_value=-(10**12), max_value=10**12, places=10),
        ),
        min_size=1,
        max_size=10,
    )
)
def test_scores_are_combined_by_weight_exactly(pairs: list[tuple[Decimal, Decimal]]) -> None:
    models = [
        ScoringModel(model_id=f"m{number}", weight=weight, minimum=Decimal(-(10**12)), maximum=Decimal(10**12))
        for number, (weight, _) in enumerate(pairs)
    ]
    scores = {f"m{number}": ModelScore(value=value, timestamp=NOON) for number, (_, value) in enumerate(pairs)}
    with localcontext(prec=50):
        total = sum((weight * value for weight, value in pairs), Decimal(0))
    assert combined(models, scores) == total


def test_a_tiny_score_counts_as_zero(tmp_path: Path) -> None:
    models = [ScoringModel(model_id="m", weight=Decimal("0.5"))]
    assert combined(models, {"m": ModelScore(value=Decimal("1e-61"), timestamp=NOON)}) == 0
