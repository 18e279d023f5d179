"""What is kept of a plan does not show: a read is planned as if it were the first one of its kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.model import ModelError, Selection
from tablewright.store.context import Context
from tablewright.store.read.planning import read_planner
from tablewright.store.read.planning.read_plan import Plan
from tablewright.store.read.planning.read_planner import plan_selection
from tests.store.models import Call, Event, Feedback, Session, Ticket, TicketStatus

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4) | st.sampled_from(["a", "a#b", "$"])
TIMES = st.integers(-1000, 1000).map(lambda minutes: NOON + timedelta(minutes=minutes))
# Beyond what a key of thirteen digits can hold, too.
ANY_TIMES = TIMES | st.sampled_from([datetime(1969, 1, 1, tzinfo=UTC), datetime(2400, 1, 1, tzinfo=UTC)])
DAYS = st.dates(date(2025, 11, 1), date(2025, 11, 30))


def bounds(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    low = st.fixed_dictionaries({}, optional={"since": values}) | st.fixed_dictionaries({}, optional={"after": values})
    high = st.fixed_dictionaries({}, optional={"until": values}) | st.fixed_dictionaries(
        {}, optional={"before": values}
    )
    return st.builds(lambda one, other: {**one, **other}, low, high)


def select(pattern: Callable[..., Selection[Any]], **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(pattern, **values)


def ranged(
    pattern: Callable[..., Selection[Any]], within: st.SearchStrategy[Any], **values: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    return st.builds(lambda given, limits: pattern(**given, **limits), st.fixed_dictionaries(values), bounds(within))


SELECTIONS = st.one_of(
    ranged(Call.of_user, ANY_TIMES | DAYS, user_id=TEXT),
    ranged(Call.upcoming, ANY_TIMES, user_id=TEXT),
    select(Call.of_user, user_id=TEXT, scheduled_for=st.none() | TIMES),
    select(Call.of_user, user_id=TEXT, scheduled_for=TIMES, call_id=st.none() | TEXT),
    select(Call.long_ones, user_id=TEXT),
    select(Call.none_such, user_id=TEXT),
    ranged(Ticket.by_status, TIMES, status=st.sampled_from(TicketStatus)),
    select(Ticket.untouched, customer_id=TEXT),
    ranged(Ticket.escalated, TIMES, status=st.sampled_from(TicketStatus)),
    ranged(Event.timeline, TIMES | DAYS, ticket_id=TEXT),
    select(Feedback.of_ticket, ticket_id=TEXT),
    select(Feedback.ratings, operator_id=TEXT),
    select(Feedback.thanked, operator_id=TEXT),
    select(Session.of_user, user_id=TEXT),
)


def shown(plan: Plan) -> Any:
    """All of a plan but its checks, which cannot be compared."""
    return plan.scope, list(plan.bodies), len(plan.checks)


@given(st.lists(SELECTIONS, min_size=2, max_size=6), st.booleans())
def test_a_plan_does_not_depend_on_those_before_it(selections: list[Selection[Any]], keys_only: bool) -> None:
    context = Context()
    after_others = [shown(plan_selection(context, each, keys_only=keys_only)) for each in selections]
    for selection, planned in zip(selections, after_others, strict=True):
        read_planner._OUTLINES.clear()
        assert shown(plan_selection(context, selection, keys_only=keys_only)) == planned


def test_a_plan_that_is_changed_changes_no_other() -> None:
    context = Context()
    selection = Call.upcoming(user_id="u-1", since=NOON)
    plan = plan_selection(context, selection)
    before = shown(plan_selection(context, selection))
    plan.bodies[0]["ExpressionAttributeValues"].clear()
    plan.bodies[0]["Limit"] = 1
    assert shown(plan_selection(context, selection)) == before


def test_a_mistake_is_told_every_time() -> None:
    for _ in range(2):
        with pytest.raises(ModelError, match="needs user_id"):
            plan_selection(Context(), Call.upcoming(user_id=None))
        with pytest.raises(ModelError, match="minutes cannot be given"):
            plan_selection(Context(), Call.of_user(user_id="u-1", minutes=3))
