"""What the designs' entities are stored as, what is told apart, and what is read together."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tablewright.model import Entity, Keys, ModelError, Query, Selection, Table, schema_of, schemas_of
from tablewright.model.keys.key_rules import stable_shard
from tests.model.seed_designs import (
    CALLS,
    TASKS,
    TICKETS,
    Assignment,
    Call,
    CallStatus,
    Candidate,
    Case,
    Event,
    Feedback,
    Rating,
    Session,
    Subject,
    Task,
    TaskWithAssignments,
    Ticket,
    User,
)

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def keys_of(item: dict[str, Any], *names: str) -> list[str]:
    return [item[name]["S"] for name in names]


# -- keys -----------------------------------------------------------------------------------------------------------


def test_a_call_has_the_composites_of_its_design() -> None:
    item = Call(user_id="u-1", call_id="call-9", provider_id="p-1", scheduled_for=NOON).item()
    assert item == {
        "userId": {"S": "u-1"},
        "callId": {"S": "call-9"},
        "providerId": {"S": "p-1"},
        "status": {"S": "SCHEDULED"},
        "scheduledFor": {"N": "1763467200000"},
        "version": {"N": "0"},
        "sk": {"S": "1763467200000#call-9"},
        "userStatus": {"S": "u-1#SCHEDULED"},
    }


def test_the_calls_table_is_created_as_designed() -> None:
    request = CALLS.create_request()
    assert request["KeySchema"] == [
        {"AttributeName": "userId", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    assert {definition["AttributeName"] for definition in request["AttributeDefinitions"]} == {
        "userId", "sk", "callId", "providerId", "userStatus",
    }  # fmt: skip
    assert [index["IndexName"] for index in request["GlobalSecondaryIndexes"]] == [
        "byCallId", "byProvider", "byUserStatus",
    ]  # fmt: skip


def test_tasks_have_the_keys_of_their_design() -> None:
    task = Task(task_id="123", title="Fix bug", created_at=NOON).item()
    assert keys_of(task, "PK", "SK", "GSI2PK") == ["TASK#123", "METADATA", "STATUS#OPEN"]
    assert keys_of(task, "GSI2SK", "EntityType") == ["CREATED_AT#2025-11-18T12:00:00.000000Z#123", "TASK"]
    assert keys_of(User(user_id="456", email="a@b.c").item(), "PK", "SK") == ["USER#456", "PROFILE"]
    assignment = Assignment(task_id="123", user_id="789", assigned_by="456").item()
    assert keys_of(assignment, "PK", "SK") == ["TASK#123", "ASSIGNMENT#789"]
    assert keys_of(assignment, "GSI1PK", "GSI1SK") == ["USER#789", "TASK#123"]


def test_tickets_events_and_feedback_have_the_keys_of_their_design() -> None:
    ticket = Ticket(ticket_id="tkt_123", customer_id="cust_456", created_at=NOON).item()
    assert keys_of(ticket, "PK", "SK", "GSI1PK") == ["TICKET#tkt_123", "METADATA", "CUSTOMER#cust_456"]
    assert keys_of(ticket, "GSI1SK", "GSI2SK") == [
        "STATUS#PROCESSING#2025-11-18T12:00:00.000000Z", "2025-11-18T12:00:00.000000Z",
    ]  # fmt: skip
    event = Event(ticket_id="tkt_123", day=date(2025, 11, 18), number=7, kind="created").item()
    assert keys_of(event, "PK", "SK") == ["TICKET#tkt_123", "EVENT#2025-11-18#0007"]
    feedback = Feedback(
        ticket_id="tkt_123", feedback_id="f-1", operator_id="op_9", rating=5, was_helpful=True, submitted_at=NOON
    ).item()
    assert keys_of(feedback, "SK", "GSI3PK") == ["FEEDBACK#2025-11-18T12:00:00.000000Z#f-1", "OPERATOR#op_9"]
    assert keys_of(Session(session_id="s-1", user="u").item(), "PK", "SK") == ["SESSION#s-1", "METADATA"]


def test_a_candidate_has_the_keys_of_its_design() -> None:
    candidate = Candidate(
        customer_id="c", program_id="p", marketplace_id="US", subject=Subject(type="PRODUCT", id="PRODUCT-ABC"),
        channel_id="email", score=Decimal("0.85"), created_at=NOON,
    )  # fmt: skip
    item = candidate.item()
    assert keys_of(item, "PK", "SK") == ["CUSTOMER#c#PROGRAM#p#MARKETPLACE#US", "SUBJECT#PRODUCT#PRODUCT-ABC"]
    assert keys_of(item, "GSI1PK", "GSI1SK") == ["PROGRAM#p#CHANNEL#email", "SCORE#650085#CUSTOMER#c"]
    assert keys_of(item, "GSI2PK", "GSI2SK") == [
        "PROGRAM#p#DATE#2025-11-18", "CREATED#2025-11-18T12:00:00.000000Z#CUSTOMER#c",
    ]  # fmt: skip


# -- sparse, conditional and sharded --------------------------------------------------------------------------------


def candidate(**values: Any) -> Candidate:
    given = {"customer_id": "c", "program_id": "p", "marketplace_id": "US", "created_at": NOON, **values}
    return Candidate.model_validate({"subject": {"type": "T", "id": "1"}, **given})


@pytest.mark.parametrize("values", [{}, {"channel_id": "email"}, {"score": Decimal(1)}])
def test_an_index_whose_fields_are_absent_is_sparse(values: dict[str, Any]) -> None:
    item = candidate(**values).item()
    assert not {"GSI1PK", "GSI1SK"} <= item.keys()


def test_scores_sort_as_numbers() -> None:
    scores = [Decimal(text) for text in ("-3", "0", "0.085", "0.85", "9", "10", "100")]
    keys = [candidate(channel_id="e", score=score).item()["GSI1SK"]["S"] for score in scores]
    assert keys == sorted(keys)


def test_a_conditional_index_holds_an_item_only_in_its_state() -> None:
    ticket = Ticket(ticket_id="t", customer_id="c", created_at=NOON, escalated_at=NOON)
    assert not {"GSI4PK", "GSI4SK"} & ticket.item().keys()
    ticket.status = "ESCALATED"
    assert keys_of(ticket.item(), "GSI4PK", "GSI4SK") == ["ESCALATED", "2025-11-18T12:00:00.000000Z#t"]


def test_a_sharded_key_ends_with_the_shard_that_follows_from_the_primary_key() -> None:
    keys = {Ticket(ticket_id=str(n), customer_id="c", created_at=NOON).item()["GSI2PK"]["S"] for n in range(50)}
    assert keys == {f"STATUS#PROCESSING#{shard}" for shard in range(4)}
    assert schema_of(Ticket).sources("GSI2PK") == {"status", "ticket_id"}


def test_shards_are_the_same_everywhere_and_forever() -> None:
    assert [stable_shard(f"TICKET#{n}\x00METADATA", 8) for n in range(8)] == [4, 3, 3, 0, 0, 3, 6, 5]


# -- telling entities apart -----------------------------------------------------------------------------------------


def test_entities_are_distinguished_by_the_type_attribute() -> None:
    item = Task(task_id="1", title="t", created_at=NOON).item()
    assert [schema.matches(item) for schema in schemas_of(TASKS)] == [True, False, False]
    item["EntityType"] = {"S": "SOMETHING"}
    assert [schema.matches(item) for schema in schemas_of(TASKS)] == [False, False, False]


def test_without_a_type_attribute_entities_are_distinguished_by_their_keys() -> None:
    event = Event(ticket_id="t", day=date(2025, 1, 1), number=1, kind="k").item()
    assert [schema.entity.__name__ for schema in schemas_of(TICKETS) if schema.matches(event)] == ["Event"]
    old = Assignment(task_id="1", user_id="2", assigned_by="3").item()
    del old["EntityType"]
    assert [schema.entity.__name__ for schema in schemas_of(TASKS) if schema.matches(old)] == ["Assignment"]


@pytest.mark.parametrize(
    "key",
    [
        {"PK": {"S": "TICKET#t"}, "SK": {"S": "EVENT#2025-11-18T10:00:00Z#status_change"}},
        {"PK": {"S": "TICKET#t"}, "SK": {"S": "EVENT#2025-11-18#7"}},
        {"PK": {"S": "TICKET#a b"}, "SK": {"S": "METADATA"}},
        {"PK": {"S": "TICKET#t#1"}, "SK": {"S": "METADATA"}},
        {"PK": {"S": "METRIC#x"}, "SK": {"S": "DATA"}},
        {"PK": {"B": "YQ=="}, "SK": {"S": "METADATA"}},
    ],
)
def test_items_of_other_programs_match_no_entity(key: dict[str, Any]) -> None:
    assert [schema for schema in schemas_of(TICKETS) if schema.matches(key)] == []


def test_items_of_the_store_itself_match_no_entity() -> None:
    schema = schema_of(Call)
    guard = schema.guard_key(schema.unique[0], {"S": "c#9"})
    assert guard == {"userId": {"S": "$#unique#Call#callId#c$c9"}, "sk": {"S": "$#unique"}}
    assert not schema.matches(guard)
    assert CALLS.is_internal(guard)
    assert not CALLS.is_internal({"userId": {"S": "u"}, "sk": {"S": "s"}})


def test_a_field_cannot_pretend_to_be_an_item_of_the_store() -> None:
    call = Call(user_id="$#unique#Call#callId#c-9", call_id="c", provider_id="p", scheduled_for=NOON)
    with pytest.raises(
        ModelError, match="begins like the keys that the store reserves for itself; choose another value"
    ):
        call.item()
    with pytest.raises(
        ModelError, match="begins like the keys that the store reserves for itself; choose another value"
    ):
        schema_of(Call).key_of(schema_of(Call).encode_values({"user_id": "$#x", "call_id": "c", "scheduled_for": NOON}))


# -- reading together -----------------------------------------------------------------------------------------------


def test_a_collection_is_made_of_the_items_of_a_partition() -> None:
    task = Task(task_id="1", title="t", created_at=NOON)
    assignments = [Assignment(task_id="1", user_id=user, assigned_by="a") for user in ("u1", "u2")]
    foreign = {"PK": {"S": "TASK#1"}, "SK": {"S": "ZZZ"}, "EntityType": {"S": "OTHER"}}
    items = [assignments[0].item(), assignments[1].item(), task.item(), foreign]
    found = TaskWithAssignments.of(items)
    assert found == TaskWithAssignments(task=task, assignments=assignments)


def test_there_is_no_collection_without_the_one_it_is_about() -> None:
    assert TaskWithAssignments.of([Assignment(task_id="1", user_id="u", assigned_by="a").item()]) is None
    assert TaskWithAssignments.of([]) is None


def test_a_collection_keeps_what_its_members_do_not_know() -> None:
    item = {**Task(task_id="1", title="t", created_at=NOON).item(), "Colour": {"S": "red"}}
    found = TaskWithAssignments.of([item])
    assert found is not None
    assert found.task.item() == item


def test_a_ticket_its_feedback_and_its_events_are_one_collection() -> None:
    ticket = Ticket(ticket_id="t", customer_id="c", created_at=NOON)
    event = Event(ticket_id="t", day=date(2025, 11, 18), number=1, kind="created")
    case = Case.of([event.item(), ticket.item()])
    assert case == Case(ticket=ticket, feedback=[], events=[event])
    gathering = Case.of_ticket(ticket_id="t")
    assert (gathering.collection, gathering.name, gathering.index) == (Case, "of_ticket", None)
    assert gathering.values == {"ticket_id": "t"}


# -- patterns -------------------------------------------------------------------------------------------------------


def test_a_pattern_gives_a_description_of_the_read() -> None:
    lookup = Call.by_id(call_id="c-9")
    assert (lookup.entity, lookup.name, lookup.index, lookup.values) == (Call, "by_id", "byCallId", {"call_id": "c-9"})
    selection = Call.upcoming(user_id="u-1", since=NOON, until=None)
    assert selection.values == {"status": CallStatus.SCHEDULED, "user_id": "u-1"}
    assert selection.bounds == {"since": NOON}
    assert (selection.range, selection.newest_first) == ("scheduled_for", False)


def test_a_pattern_says_what_it_reads_and_how() -> None:
    ratings: Selection[Any] = Rating.by_operator(operator_id="o")
    assert (ratings.entity, ratings.projection, ratings.name) == (Feedback, Rating, "Rating.by_operator")
    assert User.by_id(user_id="u").consistent
    assert Assignment.of_task(task_id="t").consistent
    by_status = schema_of(Task).patterns["by_status"]
    assert getattr(by_status, "expected", None) == 25
    assert schema_of(Call).patterns.keys() == {
        "by_key", "by_id", "of_user", "of_provider", "upcoming", "completed",
    }  # fmt: skip


def test_bounds_are_of_the_first_field_of_the_sort_key_that_is_not_taken() -> None:
    with pytest.raises(TypeError, match=r"Call\.completed\(\) got an unexpected keyword argument 'since'"):
        Call.completed(user_id="u", since=NOON)  # type: ignore[call-arg]
    with pytest.raises(
        ModelError, match=r"Row\.of_id takes since, but no field of the sort key is left to bound: it has at"
    ):

        class Row(Entity, table=Table("rows", "PK", "SK")):
            id: str
            at: datetime

            keys = Keys(PK="{id}", SK="{at}")

            @Query()
            def of_id(self, id: str, at: datetime, *, since: datetime) -> None: ...

    with pytest.raises(ModelError, match=r"Call\.upcoming: give since or after, not both"):
        Call.upcoming(user_id="u", since=NOON, after=NOON)


# -- the rest of a declaration --------------------------------------------------------------------------------------


def test_a_lifetime_is_declared_with_the_field_that_holds_it() -> None:
    schema = schema_of(Session)
    assert schema.expiry is not None
    assert (schema.expiry.name, schema.expiry.attribute) == ("expires_at", "ttl")
    assert schema.lifetime == timedelta(hours=24)
    assert schema_of(Candidate).lifetime is None


def test_numbers_are_counted_by_an_item_for_each_group() -> None:
    schema = schema_of(Event)
    (spec,) = schema.numbered
    assert schema.sequence_key(spec, {"ticket_id": {"S": "tkt_123"}}) == {
        "PK": {"S": "$#count#Event#number#tkt_123"},
        "SK": {"S": "$#count"},
    }
    with pytest.raises(ModelError, match=r"Event\.number is numbered per ticket_id, which has no value; give it one"):
        schema.sequence_key(spec, {})


def test_stamps_and_versions_are_known_to_the_schema() -> None:
    session, ticket, call = schema_of(Session), schema_of(Ticket), schema_of(Call)
    assert session.created is not None
    assert session.created.name == "created_at"
    assert ticket.updated is not None
    assert call.version is not None
    assert [spec.name for spec in call.unique] == ["call_id"]
