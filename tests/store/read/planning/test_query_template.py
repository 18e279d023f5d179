"""What is kept of a plan does not show: a read is planned as if it were the first one of its kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.model import Entity, Keys, ModelError, Query, Selection, Table, schema_of
from tablewright.store.context import Context
from tablewright.store.read.planning.read_plan import ReadPlan
from tablewright.store.read.planning.read_planner import plan_selection
from tests.store.models import Call, Event, Feedback, Rating, Session, Ticket, TicketStatus

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
    known = inspect.signature(pattern).parameters

    def selected(given: dict[str, Any], limits: dict[str, Any]) -> Selection[Any]:
        return pattern(**given, **{name: value for name, value in limits.items() if name in known})

    return st.builds(selected, st.fixed_dictionaries(values), bounds(within))


SELECTIONS = st.one_of(
    ranged(Call.of_user, ANY_TIMES | DAYS, user_id=TEXT),
    ranged(Call.upcoming, ANY_TIMES, user_id=TEXT),
    select(Call.at_time, user_id=TEXT, scheduled_for=st.none() | TIMES),
    select(Call.at_time, user_id=TEXT, scheduled_for=TIMES, call_id=st.none() | TEXT),
    select(Call.long_ones, user_id=TEXT),
    select(Call.none_such, user_id=TEXT),
    ranged(Ticket.by_status, TIMES, status=st.sampled_from(TicketStatus)),
    select(Ticket.untouched, customer_id=TEXT),
    ranged(Ticket.escalated, TIMES, status=st.sampled_from(TicketStatus)),
    ranged(Event.timeline, TIMES | DAYS, ticket_id=TEXT),
    select(Feedback.of_ticket, ticket_id=TEXT),
    select(Rating.ratings, operator_id=TEXT),
    select(Feedback.thanked, operator_id=TEXT),
    select(Session.of_user, user_id=TEXT),
)


def shown(plan: ReadPlan) -> Any:
    """All of a plan but its checks, which cannot be compared."""
    return plan.target, list(plan.bodies), len(plan.checks)


@given(st.lists(SELECTIONS, min_size=2, max_size=6), st.booleans())
def test_a_plan_does_not_depend_on_those_before_it(selections: list[Selection[Any]], keys_only: bool) -> None:
    context = Context()
    after_others = [shown(plan_selection(context, each, keys_only=keys_only)) for each in selections]
    for selection, planned in zip(selections, after_others, strict=True):
        schema_of(selection.entity).query_templates.clear()
        assert shown(plan_selection(context, selection, keys_only=keys_only)) == planned


def test_a_plan_that_is_changed_changes_no_other() -> None:
    context = Context()
    selection = Call.upcoming(user_id="u-1", since=NOON)
    plan = plan_selection(context, selection)
    before = shown(plan_selection(context, selection))
    plan.bodies[0]["ExpressionAttributeValues"].clear()
    plan.bodies[0]["Limit"] = 1
    assert shown(plan_selection(context, selection)) == before


def test_templates_are_kept_with_their_entity_and_keep_their_pattern() -> None:
    def declared() -> type[Any]:
        class Note(Entity, table=Table("notes", "PK", "SK")):
            owner: str
            number: int

            keys = Keys(PK="{owner}", SK="{number:05}")

            @Query()
            def of_owner(self, owner: str) -> None: ...

            @Query()
            def from_number(self, owner: str, *, since: int | None = None) -> None: ...

        return Note

    note, another = declared(), declared()
    for _ in range(3):
        plan_selection(Context(), note.of_owner(owner="ada"))
        plan_selection(Context(), note.from_number(owner="ada", since=3))
    templates = schema_of(note).query_templates
    # The identity of a pattern is part of the key: no other pattern can have it while there is the template.
    assert [key[0] for key in templates] == [id(template.access_path.query) for template in templates.values()]
    assert len(templates) == 2
    assert not schema_of(another).query_templates


def test_a_mistake_is_reported_every_time() -> None:
    for _ in range(2):
        with pytest.raises(ModelError, match="needs user_id"):
            plan_selection(Context(), Call.upcoming(user_id=None))  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="call_id cannot be given"):
            plan_selection(Context(), Call.at_time(user_id="u-1", call_id="c-1"))
