"""Reading through access patterns: what is found, in which order, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tablewright.model import Lookup, ModelError, Selection
from tablewright.store import Store
from tests.store.bench import Bench
from tests.store.models import (
    Call,
    CallStatus,
    Case,
    Event,
    Feedback,
    File,
    Match,
    Note,
    Rating,
    Reading,
    Remark,
    Session,
    Ticket,
    TicketStatus,
    calls,
    desk,
    matches,
)

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def call(number: int, *, user: str = "u-1", at: datetime | None = None, **more: object) -> Call:
    return Call.model_validate(
        {
            "user_id": user,
            "call_id": f"c-{number}",
            "provider_id": "p-1",
            "scheduled_for": NOON + number * HOUR if at is None else at,
            **more,
        }
    )


def ids(found: list[Call]) -> list[int]:
    return [int(call.call_id.removeprefix("c-")) for call in found]


# -- one item -------------------------------------------------------------------------------------------------------


def test_an_item_is_found_by_its_primary_key(bench: Bench, store: Store) -> None:
    bench.save(call(1))
    assert store.get(Call.itself(user_id="u-1", call_id="c-1", scheduled_for=NOON + HOUR)) == call(1)
    assert store.get(Call.itself(user_id="u-1", call_id="c-2", scheduled_for=NOON + HOUR)) is None


def test_an_item_is_found_by_an_index(bench: Bench, store: Store) -> None:
    bench.save(call(1), call(2))
    assert store.get(Call.by_id(call_id="c-2")) == call(2)
    assert store.get(Call.by_id(call_id="c-3")) is None


@pytest.mark.requirement("SU18")
def test_consistency_is_a_choice_per_read(bench: Bench, store: Store) -> None:
    bench.save(call(1))
    itself = Call.itself(user_id="u-1", call_id="c-1", scheduled_for=NOON + HOUR)
    assert store.get(itself, consistent=True) == call(1)
    assert store.query(Call.of_user(user_id="u-1"), consistent=True).items == [call(1)]
    assert store.get_many([itself], consistent=True) == [call(1)]
    with pytest.raises(ModelError, match=r"Call.upcoming reads the global index byUserStatus, which is always"):
        store.query(Call.upcoming(user_id="u-1"), consistent=True)


def test_a_key_must_be_given_exactly(store: Store) -> None:
    nothing: Any = None
    with pytest.raises(ModelError, match="Call: sk cannot be made without a value for scheduled_for"):
        store.get(Call.itself(user_id="u-1", call_id="c-1", scheduled_for=nothing))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'scheduled_for'"):
        Call.itself(user_id="u-1", call_id="c-1")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Ticket\.by_id\(\) got an unexpected keyword argument 'status'"):
        Ticket.by_id(ticket_id="t-1", status=TicketStatus.OPEN)  # type: ignore[call-arg]


def test_an_expired_item_is_not_there(bench: Bench, store: Store) -> None:
    expiry = datetime.fromtimestamp(bench.clock.now + 60, UTC)
    session = Session(session_id="s-1", user_id="u-1", ttl=expiry)
    bench.save(session)
    by_id = Session.by_id(session_id="s-1")
    selection = Session.of_user(user_id="u-1")
    assert store.get(by_id) == session
    assert store.count(selection) == 1
    bench.clock.now += 60
    assert store.get(by_id) is None
    assert store.get(Session.latest_of_user(user_id="u-1")) is None
    assert store.get_many([by_id]) == [None]
    assert store.query(selection).items == []
    assert store.query(selection).cursor is None
    assert list(store.iterate(selection)) == []
    assert list(store.iterate(Session)) == []
    assert store.scan(Session).items == []
    assert store.count(selection) == 0


def test_a_lookup_by_an_index_looks_behind_what_has_expired(bench: Bench, store: Store) -> None:
    expired = datetime.fromtimestamp(bench.clock.now - 1, UTC)
    bench.save(*(Session(session_id=f"s-{n}", user_id="u-1", ttl=expired) for n in range(5)))
    bench.save(Session(session_id="s-9", user_id="u-1"))
    found = store.get(Session.latest_of_user(user_id="u-1"))
    assert found is not None
    assert found.session_id == "s-9"


def test_an_item_of_another_entity_is_not_there(bench: Bench, store: Store) -> None:
    foreign = {"PK": {"S": "TICKET#t-1"}, "SK": {"S": "META"}, "kind": {"S": "Letter"}}
    bench.save_item(desk, foreign)
    assert store.get(Ticket.by_id(ticket_id="t-1")) is None
    assert store.get_many([Ticket.by_id(ticket_id="t-1")]) == [None]
    assert store.scan(Ticket).items == []


def test_without_a_type_attribute_the_key_tells_entities_apart(bench: Bench, store: Store) -> None:
    bench.save(call(1))
    bench.save_item(calls, {"userId": {"S": "u-1"}, "sk": {"S": "SETTINGS"}, "color": {"S": "blue"}})
    assert store.query(Call.of_user(user_id="u-1")).items == [call(1)]
    assert store.count(Call.of_user(user_id="u-1")) == 1


# -- many items -----------------------------------------------------------------------------------------------------


def test_any_number_of_items_is_read_in_the_order_asked_for(bench: Bench, store: Store) -> None:
    bench.save(*(call(n) for n in range(0, 250, 2)))
    wanted = [249, 248, 3, 4, 248, *range(230)]
    lookups = [Call.itself(user_id="u-1", call_id=f"c-{n}", scheduled_for=NOON + n * HOUR) for n in wanted]
    assert store.get_many(lookups) == [call(n) if n % 2 == 0 else None for n in wanted]
    assert store.get_many([]) == []


def test_many_items_of_several_tables_and_entities(bench: Bench, store: Store) -> None:
    ticket = Ticket(ticket_id="t-1", customer_id="k-1", opened_at=NOON)
    feedback = Feedback(ticket_id="t-1", feedback_id="f-1", operator_id="o-1", rating=5)
    reading = Reading(meter="m-1", at=1, value=Decimal("1.5"), day=date(2025, 11, 18))
    bench.save(ticket, feedback, reading)
    wanted: list[Lookup[Any]] = [
        Reading.at_time(meter="m-1", at=1),
        Feedback.by_id(ticket_id="t-1", feedback_id="f-1"),
        Ticket.by_id(ticket_id="t-1"),
        Session.by_id(session_id="s-1"),
    ]
    assert store.get_many(wanted) == [reading, feedback, ticket, None]


def test_many_items_are_read_by_primary_key_only(store: Store) -> None:
    with pytest.raises(ModelError, match=r"Call.by_id reads an index"):
        store.get_many([Call.by_id(call_id="c-1")])


# -- order and ranges -----------------------------------------------------------------------------------------------


def test_a_query_reads_a_partition_in_its_order(bench: Bench, store: Store) -> None:
    bench.save(call(3), call(1), call(2), call(4, user="u-2"), call(5, status=CallStatus.COMPLETED))
    assert ids(store.query(Call.of_user(user_id="u-1")).items) == [1, 2, 3, 5]
    assert ids(store.query(Call.of_provider(provider_id="p-1")).items) == [5, 4, 3, 2, 1]
    assert ids(store.query(Call.upcoming(user_id="u-1")).items) == [1, 2, 3]
    assert ids(store.query(Call.completed(user_id="u-1"), limit=1).items) == [5]
    assert ids(store.query(Call.upcoming(user_id="u-1", since=NOON + 2 * HOUR), limit=1).items) == [2]


@pytest.mark.parametrize("pattern", [Call.of_user, Call.upcoming])
def test_bounds_include_or_exclude_their_value(
    bench: Bench, store: Store, pattern: Callable[..., Selection[Call]]
) -> None:
    bench.save(*(call(n) for n in range(6)))
    # Another one at the time of the bound: bounds are of the field, not of the key it is part of.
    bench.save(call(22, at=NOON + 2 * HOUR))
    low, high = NOON + 2 * HOUR, NOON + 4 * HOUR

    def found(**bounds: datetime) -> set[int]:
        return set(ids(store.query(pattern(user_id="u-1", **bounds)).items))

    assert found(since=low) == {2, 22, 3, 4, 5}
    assert found(after=low) == {3, 4, 5}
    assert found(until=low) == {0, 1, 2, 22}
    assert found(before=low) == {0, 1}
    assert found(since=low, until=high) == {2, 22, 3, 4}
    assert found(after=low, until=high) == {3, 4}
    assert found(since=low, before=high) == {2, 22, 3}
    assert found(after=low, before=high) == {3}
    assert found(after=low, before=low) == set()
    assert found(since=high, until=low) == set()
    assert found(since=low, until=low) == {2, 22}


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"since": 2}, [2, 3, 10]),
        ({"after": 2}, [3, 10]),
        ({"until": 2}, [-5, 1, 2]),
        ({"before": 2}, [-5, 1]),
        ({"since": 1, "until": 3}, [1, 2, 3]),
        ({"after": 1, "until": 3}, [2, 3]),
        ({"since": 1, "before": 3}, [1, 2]),
        ({"after": 1, "before": 3}, [2]),
        ({"after": 2, "before": 2}, []),
        ({"since": 3, "until": 1}, []),
    ],
)
def test_bounds_of_a_number_that_is_the_key_itself(
    bench: Bench, store: Store, bounds: dict[str, int], expected: list[int]
) -> None:
    for at in (-5, 1, 2, 3, 10):
        bench.save(Reading(meter="m-1", at=at, value=Decimal(at) / 2, day=NOON.date(), digest=bytes([at + 5])))
    assert [reading.at for reading in store.query(Reading.of_meter(meter="m-1", **bounds)).items] == expected
    halves = {name: Decimal(value) / 2 for name, value in bounds.items()}
    assert [reading.at for reading in store.query(Reading.by_value(meter="m-1", **halves)).items] == expected
    digests = {name: bytes([value + 5]) for name, value in bounds.items()}
    assert [reading.at for reading in store.query(Reading.of_day(day=NOON.date(), **digests)).items] == expected
    assert store.count(Reading.of_meter(meter="m-1", **bounds)) == len(expected)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"since": date(2025, 11, 18)}, [18, 19]),
        ({"until": date(2025, 11, 18)}, [17, 18]),
        ({"after": date(2025, 11, 18)}, [19]),
        ({"before": date(2025, 11, 18)}, [17]),
        ({"since": date(2025, 11, 18), "until": date(2025, 11, 18)}, [18]),
        ({"until": date.max}, [17, 18, 19]),
    ],
)
def test_a_date_means_the_whole_day(bench: Bench, store: Store, bounds: dict[str, Any], expected: list[int]) -> None:
    for day in (17, 18, 19):
        first = datetime(2025, 11, day, tzinfo=UTC)
        last = first + DAY - timedelta(microseconds=1)
        for sequence, at in enumerate((first, last)):
            bench.save(call(day * 10 + sequence, at=at))
            bench.save(Ticket(ticket_id=f"t-{day}-{sequence}", customer_id="k-1", opened_at=at))
            bench.save(Event(ticket_id="t-1", at=at, sequence=day * 10 + sequence))
    found = ids(store.query(Call.of_user(user_id="u-1", **bounds)).items)
    assert found == [day * 10 + sequence for day in expected for sequence in (0, 1)]
    tickets = store.query(Ticket.of_customer(customer_id="k-1", **bounds)).items
    assert [ticket.opened_at.day for ticket in tickets] == [day for day in reversed(expected) for _ in (0, 1)]
    events = store.query(Event.timeline(ticket_id="t-1", **bounds)).items
    assert [event.at.day for event in events] == [day for day in expected for _ in (0, 1)]


def test_a_key_that_has_the_day_only_is_bounded_by_the_hour_all_the_same(bench: Bench, store: Store) -> None:
    bench.save(*(Event(ticket_id="t-1", at=NOON + n * HOUR, sequence=n) for n in range(-3, 4) if n >= 0))
    bench.save(*(Event(ticket_id="t-1", at=NOON - n * HOUR, sequence=100 + n) for n in (1, 2)))

    def found(**bounds: datetime) -> list[int]:
        return sorted(event.sequence for event in store.query(Event.timeline(ticket_id="t-1", **bounds)).items)

    assert found(since=NOON + HOUR) == [1, 2, 3]
    assert found(after=NOON + HOUR) == [2, 3]
    assert found(until=NOON) == [0, 101, 102]
    assert found(before=NOON) == [101, 102]
    assert found(after=NOON - HOUR, before=NOON + HOUR) == [0]
    assert store.count(Event.timeline(ticket_id="t-1", before=NOON)) == 2


def test_sort_key_fields_are_given_from_the_left(bench: Bench, store: Store) -> None:
    bench.save(Event(ticket_id="t-1", at=NOON, sequence=1), Event(ticket_id="t-1", at=NOON + HOUR, sequence=2))
    bench.save(Event(ticket_id="t-1", at=NOON + DAY, sequence=3))
    assert [event.sequence for event in store.query(Event.on_day(ticket_id="t-1", at=NOON)).items] == [1, 2]
    assert [event.sequence for event in store.query(Event.on_day(ticket_id="t-1", at=NOON, sequence=2)).items] == [2]
    with pytest.raises(ModelError, match=r"Event.on_day: sequence cannot be given"):
        store.query(Event.on_day(ticket_id="t-1", sequence=2))


def test_a_range_is_of_the_first_field_that_is_not_given(store: Store) -> None:
    with pytest.raises(ModelError, match=r"Match.brackets: bracket cannot be bounded by after"):
        store.query(Match.brackets("t", "r", after="a"))


def test_every_field_of_the_partition_key_is_needed(store: Store) -> None:
    nothing: Any = None
    with pytest.raises(ModelError, match=r"Call.upcoming needs user_id, which its partition key is made of"):
        store.query(Call.upcoming(nothing))
    with pytest.raises(ModelError, match=r"Reading.of_meter needs meter"):
        store.query(Reading.of_meter(nothing))
    with pytest.raises(TypeError, match=r"Call\.upcoming\(\) got an unexpected keyword argument 'provider_id'"):
        Call.upcoming(user_id="u-1", provider_id="p-1")  # type: ignore[call-arg]


def test_an_optional_part_of_a_key_may_be_absent(bench: Bench, store: Store) -> None:
    paths = [("a", None), ("a", "x"), ("a", "y"), ("a b", None), ("ab", "x"), ("b", None), ("a$", "x")]
    bench.save(*(File(owner="o", folder=folder, name=name) for folder, name in paths))

    def within(**values: str) -> list[tuple[str, str | None]]:
        return [(file.folder, file.name) for file in store.query(File.within(owner="o", **values)).items]

    assert within(folder="a") == [("a", None), ("a", "x"), ("a", "y")]
    assert within(folder="a", name="x") == [("a", "x")]
    assert within(folder="a b") == [("a b", None)]
    assert within() == [("a", None), ("a", "x"), ("a", "y"), ("a b", None), ("a$", "x"), ("ab", "x"), ("b", None)]
    after = store.query(File.by_folder(owner="o", after="a", before="b")).items
    assert [file.folder for file in after] == ["a b", "a$", "ab"]


def test_a_delimiter_in_a_value_does_not_cross_into_another_partition(bench: Bench, store: Store) -> None:
    bench.save(call(1, user="u"), call(2, user="u#SCHEDULED"))
    assert ids(store.query(Call.upcoming(user_id="u")).items) == [1]
    assert ids(store.query(Call.upcoming(user_id="u#SCHEDULED")).items) == [2]


# -- filters, conditional and partial indexes -----------------------------------------------------------------------


def test_a_filter_keeps_what_matches(bench: Bench, store: Store) -> None:
    bench.save(*(call(n, minutes=n * 15) for n in range(6)))
    assert ids(store.query(Call.long_ones(user_id="u-1")).items) == [3, 4]
    assert store.count(Call.long_ones(user_id="u-1")) == 2
    assert ids(store.query(Call.hour_long(user_id="u-1")).items) == [4]
    assert store.query(Call.none_such(user_id="u-1")).items == []


def test_a_filter_by_what_is_absent(bench: Bench, store: Store) -> None:
    for number, status in enumerate(TicketStatus):
        escalated_at = NOON if status is TicketStatus.CLOSED else None
        ticket = Ticket(
            ticket_id=f"t-{number}", customer_id="k-1", status=status, opened_at=NOON, escalated_at=escalated_at
        )
        bench.save(ticket)
    assert [ticket.status for ticket in store.query(Ticket.untouched(customer_id="k-1")).items] == [TicketStatus.OPEN]


def test_a_conditional_index_has_only_items_in_that_state(bench: Bench, store: Store) -> None:
    for number in range(4):
        status = TicketStatus.ESCALATED if number % 2 else TicketStatus.OPEN
        at = NOON + number * HOUR
        bench.save(Ticket(ticket_id=f"t-{number}", customer_id="k-1", status=status, opened_at=NOON, escalated_at=at))
    assert [ticket.ticket_id for ticket in store.query(Ticket.escalated()).items] == ["t-3", "t-1"]
    escalated = Ticket.escalated(status=TicketStatus.ESCALATED, before=NOON + 3 * HOUR)
    assert [ticket.ticket_id for ticket in store.query(escalated).items] == ["t-1"]
    assert store.query(Ticket.escalated(status=TicketStatus.OPEN)).items == []


def test_an_index_that_has_part_of_an_item_leads_to_the_whole(bench: Bench, store: Store) -> None:
    feedback = [
        Feedback(ticket_id="t-1", feedback_id=f"f-{n}", operator_id="o-1", rating=n, remark="thanks") for n in range(5)
    ]
    bench.save(*feedback)
    assert store.query(Feedback.of_operator(operator_id="o-1")).items == feedback
    first = store.query(Feedback.of_operator(operator_id="o-1"), limit=3)
    assert first.items == feedback[:3]
    assert store.query(Feedback.of_operator(operator_id="o-1"), cursor=first.cursor).items == feedback[3:]
    assert store.count(Feedback.of_operator(operator_id="o-1")) == 5


def test_a_projection_reads_some_fields_only(bench: Bench, store: Store) -> None:
    bench.save(Feedback(ticket_id="t-1", feedback_id="f-1", operator_id="o-1", rating=5, remark="thanks"))
    (rated,) = store.query(Rating.ratings(operator_id="o-1")).items
    assert rated == Rating(ticket_id="t-1", rating=5)
    (remarked,) = store.iterate(Remark.remarks(operator_id="o-1"))
    assert remarked == Remark(remark="thanks")


def test_a_local_index_that_has_part_of_an_item_leads_to_the_whole(bench: Bench, store: Store) -> None:
    reading = Reading(meter="m-1", at=1, value=Decimal(7), day=NOON.date(), remark="by hand")
    bench.save(reading)
    assert store.query(Reading.by_unit(meter="m-1"), consistent=True).items == [reading]


def test_several_entities_of_a_partition_do_not_mix(bench: Bench, store: Store) -> None:
    ticket = Ticket(ticket_id="t-1", customer_id="k-1", opened_at=NOON)
    events = [Event(ticket_id="t-1", at=NOON, sequence=n) for n in range(3)]
    feedback = Feedback(ticket_id="t-1", feedback_id="f-1", operator_id="o-1", rating=5)
    bench.save(ticket, *events, feedback)
    assert store.query(Event.timeline(ticket_id="t-1")).items == events
    assert store.query(Feedback.of_ticket(ticket_id="t-1")).items == [feedback]


def test_a_collection_is_read_by_one_query(bench: Bench, store: Store) -> None:
    ticket = Ticket(ticket_id="t-1", customer_id="k-1", opened_at=NOON)
    events = [Event(ticket_id="t-1", at=NOON, sequence=n) for n in range(3)]
    feedback = Feedback(ticket_id="t-1", feedback_id="f-1", operator_id="o-1", rating=5)
    expiry = datetime.fromtimestamp(bench.clock.now + 60, UTC)
    notes = [Note(ticket_id="t-1", text="soon", ttl=expiry), Note(ticket_id="t-1", text="stays")]
    bench.save(ticket, *events, feedback, *notes)
    bench.save_item(desk, {"PK": {"S": "TICKET#t-1"}, "SK": {"S": "LETTER"}, "kind": {"S": "Letter"}})
    case = Case(ticket=ticket, events=events, notes=notes, feedback=[feedback])
    assert store.collect(Case.of_ticket(ticket_id="t-1")) == case
    assert store.collect(Case.of_ticket(ticket_id="t-1"), consistent=True) == case
    latest = store.collect(Case.latest_first(ticket_id="t-1"))
    assert latest is not None
    assert latest.events == events[::-1]
    bench.clock.now += 60
    later = store.collect(Case.of_ticket(ticket_id="t-1"))
    assert later is not None
    assert later.notes == notes[1:]
    assert store.collect(Case.of_ticket(ticket_id="t-2")) is None
    nothing: Any = None
    with pytest.raises(ModelError, match=r"Case.of_ticket needs ticket_id"):
        store.collect(Case.of_ticket(nothing))


def test_a_filter_by_what_an_index_does_not_have(bench: Bench, store: Store) -> None:
    for number in range(4):
        remark = "thanks" if number % 2 else "no"
        feedback = Feedback(ticket_id="t-1", feedback_id=f"f-{number}", operator_id="o-1", rating=5, remark=remark)
        bench.save(feedback)
    assert [each.feedback_id for each in store.query(Feedback.thanked(operator_id="o-1")).items] == ["f-1", "f-3"]
    assert store.count(Feedback.thanked(operator_id="o-1")) == 2


def test_keys_of_several_attributes(bench: Bench, store: Store) -> None:
    bench.create(matches)
    played = [
        Match(match_id=f"m-{n}", tournament="cup", region="eu", round=n // 3, bracket="abc"[n % 3]) for n in range(9)
    ]
    bench.save(*played, Match(match_id="m-x", tournament="cup", region="us", round=1, bracket="a"))
    given: dict[str, Any] = {"tournament": "cup", "region": "eu"}
    assert store.query(Match.of_round(**given, round=1)).items == played[3:6]
    assert store.query(Match.of_round(**given, round=1, bracket="b")).items == [played[4]]
    assert store.query(Match.brackets(**given, round=1, after="a", before="c")).items == [played[4]]
    assert store.query(Match.from_round(**given, since=1)).items == played[3:]
    page = store.query(Match.from_round(**given), limit=4)
    assert page.items + store.query(Match.from_round(**given), cursor=page.cursor).items == played
    with pytest.raises(ModelError, match=r"Match.of_round needs region"):
        store.query(Match.of_round(**{**given, "region": None}))
    with pytest.raises(ModelError, match=r"Match.of_round: bracket cannot be given"):
        store.query(Match.of_round(**given, bracket="a"))


# -- scans ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SU19")
def test_a_scan_reads_all_items_of_an_entity_page_by_page(bench: Bench, store: Store) -> None:
    tickets = [Ticket(ticket_id=f"t-{n}", customer_id="k-1", opened_at=NOON) for n in range(10)]
    bench.save(*tickets, *(Event(ticket_id="t-1", at=NOON, sequence=n) for n in range(10)))
    found: list[Ticket] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        page = store.scan(Ticket, limit=4, cursor=cursor)
        assert len(page.items) == 4 or page.cursor is None
        found += page.items
        cursor, pages = page.cursor, pages + 1
    assert sorted(ticket.ticket_id for ticket in found) == sorted(ticket.ticket_id for ticket in tickets)
    assert {ticket.ticket_id for ticket in store.iterate(Ticket, page_size=3)} == {t.ticket_id for t in tickets}


def test_segments_of_a_scan_are_the_whole_of_it(bench: Bench, store: Store) -> None:
    bench.save(*(call(n, user=f"u-{n}") for n in range(40)))
    segments = [ids(store.scan(Call, segment=(n, 4)).items) for n in range(4)]
    assert sorted(number for segment in segments for number in segment) == list(range(40))
