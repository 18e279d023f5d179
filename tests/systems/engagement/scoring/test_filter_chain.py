"""Who is left out, and why: the rule language, frequency, preferences, quiet hours, and filters of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.runtime.errors import Invalid
from tablewright.systems.engagement.model import Candidate, ChannelEntry, Contacts, Preferences, QuietHours
from tablewright.systems.engagement.scoring.filter_chain import Filter, FilterContext, filter_, is_quiet
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.rule_conditions import compiled
from tests.systems.engagement.engagement_fixtures import Workshop, program, write

ADA = {"age": 36, "country": "IT", "vip": True, "spent": Decimal("12.5"), "tags": ["a", "b"], "left": None}


def is_(attribute: str, op: str, *value: Any) -> dict[str, Any]:
    return {"attribute": attribute, "op": op, **({"value": value[0]} if value else {})}


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (is_("age", "eq", 36), True),
        (is_("age", "ne", 36), False),
        (is_("age", "ge", 36), True),
        (is_("age", "gt", 36), False),
        (is_("age", "lt", 36.5), True),
        (is_("age", "le", 35), False),
        (is_("spent", "gt", 12), True),
        (is_("spent", "eq", 12.5), True),
        (is_("country", "in", ["DE", "IT"]), True),
        (is_("country", "in", []), False),
        (is_("country", "lt", "JP"), True),
        (is_("country", "contains", "T"), True),
        (is_("tags", "contains", "b"), True),
        (is_("tags", "contains", 1), False),
        (is_("vip", "eq", True), True),
        (is_("vip", "eq", 1), False),
        (is_("age", "eq", "36"), False),
        (is_("age", "ne", "36"), False),
        (is_("nothing", "ne", 1), False),
        (is_("nothing", "lt", 1), False),
        (is_("left", "exists"), False),
        (is_("age", "exists"), True),
        ({"not": is_("nothing", "exists")}, True),
        ({"all": [is_("age", "gt", 18), is_("vip", "eq", True)]}, True),
        ({"all": [is_("age", "gt", 18), is_("vip", "eq", False)]}, False),
        ({"any": [is_("age", "gt", 99), {"not": is_("country", "eq", "US")}]}, True),
    ],
)
def test_a_rule_holds_or_does_not(rule: Any, holds: bool) -> None:
    assert compiled(rule)(ADA) is holds


@pytest.mark.parametrize(
    "rule",
    [
        "age > 18",
        None,
        [],
        {},
        {"all": []},
        {"all": is_("age", "eq", 1)},
        {"all": [is_("age", "eq", 1)], "any": [is_("age", "eq", 1)]},
        is_("age", "matches", ".*"),
        is_("age", "eq"),
        is_("age", "eq", [1]),
        is_("age", "eq", {"$gt": 1}),
        is_("age", "in", 1),
        is_("age", "in", [[1]]),
        is_("vip", "lt", True),
        is_("age", "exists", 1),
        {"attribute": "__class__.__init__", "op": "call"},
        {"attribute": 3, "op": "eq", "value": 3},
        {"not": {"not": {"not": "x"}}},
        {"all": [is_("age", "eq", 1)] * 300},
    ],
)
def test_an_invalid_rule_is_refused(rule: Any) -> None:
    with pytest.raises(Invalid):
        compiled(rule)


def test_the_depth_of_a_rule_is_limited() -> None:
    rule: Any = is_("age", "eq", 1)
    for _ in range(9):
        rule = {"not": rule}
    assert compiled(rule)({"age": 1}) is False
    with pytest.raises(Invalid, match="10 deep"):
        compiled({"not": {"not": rule}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["all", "any", "not", "attribute", "op", "value", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON, st.dictionaries(st.text(max_size=2), JSON, max_size=3))
def test_any_input_is_a_rule_or_is_refused(rule: Any, attributes: dict[str, Any]) -> None:
    try:
        found = compiled(rule)
    except Invalid:
        return
    assert found(attributes) in (True, False)


# -- in a run -----------------------------------------------------------------------------------------------------


def reasons(workshop: Workshop) -> dict[str, str | None]:
    """Whom the last run left out, and why."""
    return {
        each.customer_id: each.rejection_history[-1].reason if each.rejected else None
        for each in workshop.store.iterate(Candidate)
    }


def listed(workshop: Workshop, channel: str) -> list[str]:
    page = workshop.store.query(ChannelEntry.top(program_id="p", channel_id=channel))
    return sorted(each.customer_id for each in page.items)


@pytest.mark.requirement("CE8")
def test_who_was_reached_often_enough_in_the_window_is_left_out(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [(name, 1, "IT", 1) for name in ("often", "long-ago", "never", "once")])
    ago = [workshop.now - timedelta(days=days) for days in (9, 8, 1, 0.5)]
    workshop.store.put(Contacts(customer_id="often", times=ago[2:]))
    workshop.store.put(Contacts(customer_id="long-ago", times=ago[:2]))
    workshop.store.put(Contacts(customer_id="once", times=[ago[0], ago[3]]))
    chain = {"filters": ["frequency"], "settings": {"frequency": {"most": 2, "days": 7}}}
    made = workshop.put(program(filterChain=chain))
    workshop.run(made)
    assert reasons(workshop) == {"often": "reached 2 times in 7 days", "long-ago": None, "never": None, "once": None}
    workshop.now += timedelta(days=7)
    workshop.run(made)
    assert set(reasons(workshop).values()) == {None}


@pytest.mark.requirement("CE8")
def test_preferences_of_customers_are_respected(workshop: Workshop) -> None:
    names = ("all", "nothing", "other-program", "this-program", "no-email", "neither")
    write(workshop.folder / "customers.csv", [(name, 1, "IT", 1) for name in names])
    for preferences in (
        Preferences(customer_id="nothing", opted_out=True),
        Preferences(customer_id="other-program", programs_off=["q"]),
        Preferences(customer_id="this-program", programs_off=["p"]),
        Preferences(customer_id="no-email", channels_off=["email"]),
        Preferences(customer_id="neither", channels_off=["email", "push"]),
    ):
        workshop.store.put(preferences)
    workshop.run(workshop.put(program(filterChain={"filters": ["preference"]})))
    assert reasons(workshop) == {
        "all": None,
        "nothing": "opted out",
        "other-program": None,
        "this-program": "opted out of the program",
        "no-email": None,
        "neither": "opted out of every channel",
    }
    assert listed(workshop, "email") == ["all", "other-program"]
    assert listed(workshop, "push") == ["all", "no-email", "other-program"]


@pytest.mark.requirement("CE8")
def test_filters_are_asked_in_their_order_and_the_first_that_objects_is_named(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [("c-1", 1, "IT", 1)])
    workshop.store.put(Preferences(customer_id="c-1", opted_out=True))
    settings: dict[str, Any] = {"eligibility": {"rule": is_("age", "gt", 18)}}
    for name, filters in (("p", ["eligibility", "preference"]), ("q", ["preference", "eligibility"])):
        workshop.run(workshop.put(program(filterChain={"filters": filters, "settings": settings}), name))
    found = {each.program_id: each.rejection_history[-1].filter for each in workshop.store.iterate(Candidate)}
    # What a customer wants is asked before anything else, wherever it is listed.
    assert found == {"p": "preference", "q": "preference"}
    workshop.store.delete(Preferences.of_customer("c-1"))
    settings["frequency"] = {"most": 1, "days": 7}
    workshop.store.put(Contacts(customer_id="c-1", times=[workshop.now]))
    for name, filters in (("r", ["eligibility", "frequency"]), ("s", ["frequency", "eligibility"])):
        workshop.run(workshop.put(program(filterChain={"filters": filters, "settings": settings}), name))
    found = {each.program_id: each.rejection_history[-1].filter for each in workshop.store.iterate(Candidate)}
    assert (found["r"], found["s"]) == ("eligibility", "frequency")


@pytest.mark.requirement("CE8")
def test_a_custom_filter_is_registered(workshop: Workshop) -> None:
    @filter_("test-country")
    def country(settings: dict[str, Any]) -> Filter:
        if "is" not in settings:
            raise Invalid("test-country takes a country")

        def left_out(prospects: Sequence[Prospect], context: FilterContext) -> list[str | None]:
            return [None if each.attributes["country"] == settings["is"] else "elsewhere" for each in prospects]

        return left_out

    write(workshop.folder / "customers.csv", [("c-1", 1, "IT", 1), ("c-2", 1, "DE", 1)])
    chain = {"filters": ["test-country"], "settings": {"test-country": {"is": "DE"}}}
    workshop.run(workshop.put(program(filterChain=chain)))
    assert reasons(workshop) == {"c-1": "elsewhere", "c-2": None}


@pytest.mark.requirement("CE10")
@pytest.mark.parametrize(
    ("start", "end", "zone", "hour", "quiet"),
    [
        ("22:00", "07:00", "UTC", 23, True),
        ("22:00", "07:00", "UTC", 6, True),
        ("22:00", "07:00", "UTC", 7, False),
        ("22:00", "07:00", "UTC", 12, False),
        ("22:00", "07:00", "Europe/Rome", 21, True),
        ("22:00", "07:00", "Europe/Rome", 6, False),
        ("22:00", "07:00", "America/New_York", 6, True),
        ("12:00", "14:00", "UTC", 13, True),
        ("12:00", "14:00", "UTC", 14, False),
        # From an hour to the same hour is the whole day.
        ("08:00", "08:00", "UTC", 8, True),
        ("08:00", "08:00", "UTC", 7, True),
        ("00:00", "00:00", "Europe/Rome", 0, True),
        ("00:00", "00:00", "Europe/Rome", 23, True),
    ],
)
def test_quiet_hours_are_those_of_the_customers_own_clock(
    start: str, end: str, zone: str, hour: int, quiet: bool
) -> None:
    hours = QuietHours(start=start, end=end, time_zone=zone)
    assert is_quiet(hours, datetime(2026, 1, 15, hour, tzinfo=UTC)) is quiet
