"""One item that cannot be read does not take down what does not need it, and is not passed over in silence.

Items are broken past the model, as another program or an older version might leave them.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tablewright.model import Table
from tablewright.runtime.internal_tables import internal_table
from tablewright.store.flow.driver import Request
from tablewright.systems.engagement.delivery.deliveries import Deliveries, Summary
from tablewright.systems.engagement.model import (
    Preferences,
    Program,
    QuietHours,
    Run,
    RunState,
    Schedule,
    ScheduleKind,
    candidates,
    programs,
    scores,
)
from tablewright.systems.engagement.runs.background import Runner
from tablewright.systems.engagement.runs.run_records import LEASE
from tests.systems.engagement.engagement_fixtures import Programme, Workshop, approve, new_id, program, write
from tests.systems.engagement.recording_channel import Post
from tests.systems.harness import Served, wait_for
from tests.systems.stored_items import ask, items

Item = dict[str, dict[str, Any]]


def break_over_http(served: Served, table: Table, key: Item, attribute: str, value: dict[str, Any]) -> None:
    ask(
        served,
        "UpdateItem",
        table,
        Key=key,
        UpdateExpression="SET #a = :v",
        ConditionExpression="attribute_exists(PK)",
        ExpressionAttributeNames={"#a": attribute},
        ExpressionAttributeValues={":v": value},
    )


def key_of(program_id: str, marketplace: str = "US") -> Item:
    return {"PK": {"S": f"PROGRAM#{program_id}"}, "SK": {"S": f"MARKETPLACE#{marketplace}"}}


def counted(served: Served, entity: str) -> float:
    name = "engagement_unreadable_items_total"
    return served.runtime.metrics.registry.get_sample_value(name, {"entity": entity}) or 0.0


def in_marketplace(admin: httpx.Client, served: Served, number: int) -> tuple[str, list[str]]:
    """A marketplace of its own with programs that react."""
    marketplace = new_id("m")
    names = [new_id("p") for _ in range(number)]
    for name in names:
        write(served.runtime.settings.data / "sources" / f"{name}.csv", [("c-1", 40, "IT", 5)])
        path = f"/programs/{name}/marketplaces/{marketplace}"
        answer = admin.put(path, json=program(f"{name}.csv", reactiveEnabled=True))
        assert answer.status_code == 200, answer.text
        approve(served, admin, path)
    return marketplace, sorted(names)


EVENT = {"customerId": "c-1", "attributes": {"points": 7}}

# What can be wrong with a program: an older schema version, a part that nobody knows, something that is not there.
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("scoringModels", {"S": "propensity-v0"}),
    ("channels", {"L": [{"M": {"name": {"S": "fax"}}}]}),
    ("dataConnectors", {"L": [{"M": {"type": {"S": "ftp"}}}]}),
    ("filterChain", {"L": []}),
    ("enabled", {"S": "perhaps"}),
    ("candidateTTLDays", {"NULL": True}),
]


@pytest.mark.requirement("CE6", "CE9")
@pytest.mark.parametrize(("attribute", "value"), BROKEN)
def test_an_event_reaches_the_other_programs_of_its_marketplace(
    served: Served, admin: httpx.Client, machine: httpx.Client, attribute: str, value: dict[str, Any]
) -> None:
    marketplace, names = in_marketplace(admin, served, 3)
    before = counted(served, "Program")
    break_over_http(served, programs, key_of(names[1], marketplace), attribute, value)
    answer = machine.post("/events", json={**EVENT, "marketplaceId": marketplace})
    assert answer.status_code == 200, answer.text
    reactions = {each["programId"]: each for each in answer.json()["reactions"]}
    assert [reactions[name]["outcome"] for name in names] == ["candidate", "failed", "candidate"]
    assert "put it again" in reactions[names[1]]["reason"]
    assert counted(served, "Program") > before


@pytest.mark.requirement("CE6")
def test_a_list_of_programs_shows_the_rest_and_says_what_is_wrong(
    served: Served, admin: httpx.Client, member: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    marketplace, names = in_marketplace(admin, served, 5)
    with caplog.at_level(logging.ERROR):
        for name in (names[1], names[3]):
            break_over_http(served, programs, key_of(name, marketplace), "channels", {"S": "secret-words"})
        page = member.get(f"/marketplaces/{marketplace}/programs").json()
    assert [each["programId"] for each in page["programs"]] == [names[0], names[2], names[4]]
    assert page["cursor"] is None
    assert [each["entity"] for each in page["unreadable"]] == ["Program", "Program"]
    assert [names[1] in page["unreadable"][0]["key"], names[3] in page["unreadable"][1]["key"]] == [True, True]
    assert "channels" in page["unreadable"][0]["reason"]
    assert "secret-words" not in str(page)
    # Where an operator looks, and for nobody else.
    noted = admin.get("/unreadable").json()["unreadable"]
    assert names[1] in str(noted)
    assert member.get("/unreadable").status_code == 403
    told = [record for record in caplog.records if "cannot be read" in record.message]
    assert told
    assert not any(names[1] in str(record.__dict__) or "secret" in str(record.__dict__) for record in told)


@pytest.mark.requirement("CE6")
def test_pages_around_what_cannot_be_read_are_full_and_complete(
    served: Served, admin: httpx.Client, member: httpx.Client
) -> None:
    marketplace, names = in_marketplace(admin, served, 9)
    for name in names[1:6]:
        break_over_http(served, programs, key_of(name, marketplace), "channels", {"S": "x"})
    seen, left_out, cursor, sizes = [], [], None, []
    while True:
        params = {"limit": 2} if cursor is None else {"limit": 2, "cursor": cursor}
        page = member.get(f"/marketplaces/{marketplace}/programs", params=params).json()
        seen += [each["programId"] for each in page["programs"]]
        left_out += [each["key"] for each in page["unreadable"]]
        sizes.append(len(page["programs"]))
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == [names[0], *names[6:]]
    assert len(left_out) == len(set(left_out)) == 5
    assert sizes[:2] == [2, 2]


@pytest.mark.requirement("CE6")
def test_an_unreadable_program_says_so_and_is_repaired_by_putting_it(
    served: Served, admin: httpx.Client, member: httpx.Client, machine: httpx.Client
) -> None:
    made = Programme(served, admin, reactiveEnabled=True, batchSchedule="0 2 * * *")
    break_over_http(served, programs, key_of(made.id), "scoringModels", {"L": []})
    break_over_http(served, programs, key_of(made.id), "channels", {"S": "x"})
    asked = [
        member.get(made.path),
        admin.post(f"{made.path}/enable"),
        admin.post(f"{made.path}/disable"),
        admin.post(f"{made.path}/runs"),
        admin.post(f"{made.path}/deliveries", json={}),
        machine.post("/events", json={**EVENT, "marketplaceId": "US", "programId": made.id}),
    ]
    for answer in asked:
        assert answer.status_code == 409, answer.text
        told = answer.json()
        assert made.id in told["detail"]
        assert "put it again" in told["detail"]
    # Its version is still told, so nobody overwrites what he has not seen.
    assert admin.put(made.path, json={**made.body, "version": 7}).status_code == 409
    repaired = admin.put(made.path, json={**made.body, "version": 3})
    assert repaired.status_code == 200, repaired.text
    assert (repaired.json()["version"], member.get(made.path).status_code) == (4, 200)
    made.approve()
    assert made.run()["state"] == "completed"


@pytest.mark.requirement("CE6")
def test_a_program_without_a_version_is_repaired_by_putting_it(served: Served, admin: httpx.Client) -> None:
    """As another program writes one, that knows nothing of versions."""
    made = Programme(served, admin)
    foreign = {
        **key_of(made.id),
        "GSI1PK": {"S": "MARKETPLACE#US"},
        "GSI1SK": {"S": f"PROGRAM#{made.id}"},
        "programName": {"S": "Of another program"},
    }
    ask(served, "PutItem", programs, Item=foreign)
    assert admin.get(made.path).status_code == 409
    assert admin.put(made.path, json=made.body).status_code == 200
    assert admin.get(made.path).status_code == 200
    # Who had approved it is not known any more.
    assert admin.post(f"{made.path}/runs").status_code == 409
    made.approve()
    assert made.run()["state"] == "completed"


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(
    ("attribute", "value"),
    [("timeZone", {"S": "Mars/Base"}), ("batchSchedule", {"S": "whenever"}), ("candidateTTLDays", {"N": "100000"})],
)
def test_a_program_that_could_not_be_put_today_is_shown_and_does_not_stop_others(
    served: Served, admin: httpx.Client, machine: httpx.Client, attribute: str, value: dict[str, Any]
) -> None:
    marketplace, names = in_marketplace(admin, served, 2)
    path = f"/programs/{names[0]}/marketplaces/{marketplace}"
    break_over_http(served, programs, key_of(names[0], marketplace), attribute, value)
    assert admin.get(path).status_code == 200
    reactions = machine.post("/events", json={**EVENT, "marketplaceId": marketplace}).json()["reactions"]
    assert [each["outcome"] for each in reactions] == ["failed", "candidate"]
    assert "put it again" in reactions[0]["reason"]
    alone = machine.post("/events", json={**EVENT, "marketplaceId": marketplace, "programId": names[0]})
    delivered = admin.post(f"{path}/deliveries", json={})
    assert admin.post(f"{path}/disable").status_code == 200
    enabled = admin.post(f"{path}/enable")
    for answer in (alone, delivered, enabled):
        assert answer.status_code == 409, answer.text
        assert "put it again" in answer.json()["detail"]


@pytest.mark.requirement("CE2", "CE3", "CE10")
def test_lists_of_candidates_and_deliveries_show_the_rest(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, [(f"c-{n}", 40, "IT", n) for n in range(1, 6)])
    made.run()
    admin.post(f"{made.path}/deliveries", json={})
    broken = [
        item for item in items(served, candidates) if made.id in item["PK"]["S"] and "#c-3#" in f"#{item['PK']['S']}#"
    ]
    assert len(broken) == 4
    for item in broken:
        attribute = "metadata" if item["SK"]["S"].startswith("SUBJECT") else "created"
        attribute = "state" if item["SK"]["S"].startswith("DELIVERY") else attribute
        break_over_http(served, candidates, {"PK": item["PK"], "SK": item["SK"]}, attribute, {"S": "unheard-of"})
    day = served.runtime.now().date().isoformat()
    lists = [
        (admin.get(f"/programs/{made.id}/channels/email/candidates"), "candidates", "ChannelEntry"),
        (admin.get(f"/programs/{made.id}/candidates", params={"date": day}), "candidates", "Candidate"),
        (admin.get(f"/programs/{made.id}/deliveries", params={"date": day}), "deliveries", "Delivery"),
    ]
    for answer, name, entity in lists:
        assert answer.status_code == 200, answer.text
        assert sorted(each["customerId"] for each in answer.json()[name]) == ["c-1", "c-2", "c-4", "c-5"]
        assert [each["entity"] for each in answer.json()["unreadable"]] == [entity]
    # What cannot be read is deleted all the same, and made again by the next run.
    path = f"{made.path}/customers/c-3/candidates/program/{made.id}"
    assert admin.get(path).status_code == 409
    assert "delete it" in admin.get(path).json()["detail"]
    assert admin.delete(path).status_code == 204
    assert admin.get(path).status_code == 404
    assert made.run()["counts"]["failed"] == 0
    assert made.top() == ["c-5", "c-4", "c-3", "c-2", "c-1"]


@pytest.mark.requirement("CE9")
def test_an_idempotency_record_that_cannot_be_read_stops_its_own_program_only(
    served: Served, admin: httpx.Client, machine: httpx.Client
) -> None:
    marketplace, names = in_marketplace(admin, served, 2)
    body, headers = {**EVENT, "marketplaceId": marketplace}, {"Idempotency-Key": "once"}
    assert machine.post("/events", json=body, headers=headers).status_code == 200
    (record,) = [item for item in items(served, internal_table) if names[0] in item.get("response", {}).get("S", "")]
    break_over_http(served, internal_table, {"PK": record["PK"], "SK": record["SK"]}, "request_digest", {"L": []})
    answer = machine.post("/events", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert [each["outcome"] for each in answer.json()["reactions"]] == ["failed", "candidate"]


# -- without HTTP -------------------------------------------------------------------------------------------------


def change(workshop: Workshop, table: Table, key: Item, attribute: str, value: dict[str, Any]) -> None:
    body = {
        "TableName": table.name,
        "Key": key,
        "UpdateExpression": "SET #a = :v",
        "ExpressionAttributeNames": {"#a": attribute},
        "ExpressionAttributeValues": {":v": value},
    }
    workshop.store.backend.call(Request("UpdateItem", body))


def customers(workshop: Workshop, number: int = 6) -> None:
    write(workshop.folder / "customers.csv", [(f"c-{n}", 40, "IT", n) for n in range(1, number + 1)])


def place(customer: str) -> Item:
    return {"PK": {"S": f"CUSTOMER#{customer}#PROGRAM#p#MARKETPLACE#US"}, "SK": {"S": "SUBJECT#program#p"}}


@pytest.mark.requirement("CE8")
def test_a_run_goes_on_around_a_candidate_that_cannot_be_read(workshop: Workshop) -> None:
    customers(workshop)
    made = workshop.put(program())
    workshop.run(made)
    change(workshop, candidates, place("c-3"), "metadata", {"S": "x"})
    run = workshop.run(made)
    assert (run.state, run.counts.read, run.counts.failed, run.counts.candidates) == (RunState.COMPLETED, 6, 1, 5)
    assert list(run.errors) == [
        "Candidate cannot be read: metadata: Input should be a valid dictionary or instance of Metadata"
    ]
    assert [sample.customer_id for sample in run.samples] == ["c-3"]


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("kind", "attribute", "entity"), [("PREFERENCES", "optedOut", "Preferences"), ("CONTACTS", "times", "Contacts")]
)
def test_a_customer_whose_wishes_cannot_be_read_is_no_candidate_and_the_others_are(
    workshop: Workshop, kind: str, attribute: str, entity: str
) -> None:
    """He may have opted out: nothing is guessed."""
    customers(workshop)
    made = workshop.put(program(filterChain={"filters": ["frequency", "preference"]}))
    key = {"PK": {"S": "CUSTOMER#c-2"}, "SK": {"S": kind}}
    change(workshop, candidates, key, attribute, {"S": "x"})
    run = workshop.run(made)
    assert (run.state, run.counts.failed, run.counts.candidates) == (RunState.COMPLETED, 1, 5)
    assert next(iter(run.errors)).startswith(f"{entity} cannot be read")
    assert [sample.customer_id for sample in run.samples] == ["c-2"]


@pytest.mark.requirement("CE7", "CE8")
def test_a_score_that_cannot_be_read_is_a_miss(workshop: Workshop) -> None:
    customers(workshop)
    made = workshop.put(program())
    workshop.run(made)
    key = {"PK": {"S": "CUSTOMER#c-2#SUBJECT#p"}, "SK": {"S": "MODEL#test-points"}}
    change(workshop, scores, key, "score", {"S": "x"})
    run = workshop.run(made)
    assert (run.counts.cached, run.counts.scored, run.counts.failed) == (5, 1, 0)
    assert workshop.run(made).counts.cached == 6


@pytest.mark.requirement("CE8")
def test_a_version_that_cannot_be_read_fails_its_run_and_says_what_to_do(workshop: Workshop) -> None:
    customers(workshop)
    made = workshop.put(program())
    key = {"PK": {"S": "PROGRAM#p#MARKETPLACE#US"}, "SK": {"S": "VERSION#00000001"}}
    change(workshop, programs, key, "configuration", {"S": "x"})
    run = workshop.run(made)
    assert run.state is RunState.FAILED
    assert run.failure is not None
    assert "put the program again" in run.failure


def runner(workshop: Workshop, post: Post) -> Runner:
    return Runner(
        workshop.store, workshop.runs(), Deliveries(workshop.store, {"email": post}, workshop.clock), workshop.clock
    )


def put_due(workshop: Workshop, name: str, cron: str) -> None:
    """A program whose schedule is due."""
    workshop.put(program(), name)
    workshop.store.create(
        Schedule(
            program_id=name,
            marketplace_id="US",
            kind=ScheduleKind.BATCH,
            cron=cron,
            time_zone="UTC",
            due=workshop.now,
        )
    )


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("attribute", "value"),
    [("cron", {"S": "whenever"}), ("timeZone", {"S": "Mars/Base"}), ("cron", {"L": []}), ("kind", {"S": "yearly"})],
)
def test_an_unreadable_schedule_does_not_stop_the_others(
    workshop: Workshop, attribute: str, value: dict[str, Any]
) -> None:
    customers(workshop)
    for name in ("a", "b", "c"):
        put_due(workshop, name, "0 2 * * *")
    key = {"PK": {"S": "PROGRAM#a#MARKETPLACE#US"}, "SK": {"S": "SCHEDULE#batch"}}
    change(workshop, programs, key, attribute, value)
    # And a program that cannot be read, though its schedule can.
    change(workshop, programs, key_of("b"), "channels", {"S": "x"})
    clockwork = runner(workshop, Post())
    clockwork.tick()

    def done() -> bool:
        found = workshop.store.query(Run.of_program(program_id="c", marketplace_id="US"), limit=1).items
        return bool(found) and found[0].state is RunState.COMPLETED

    wait_for(done)
    clockwork.tick()
    noted = {(each.error.entity, "program_id b" in str(each.error.key)) for each in clockwork.unreadable_log.latest}
    assert noted == {("Schedule", False), ("Program", True)}


def stored(workshop: Workshop, name: str) -> Program:
    found = workshop.store.get(Program.by_id(program_id=name, marketplace_id="US"))
    assert found is not None
    return found


@pytest.mark.requirement("CE8")
def test_an_unexpected_failure_does_not_stop_the_other_schedules(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    """On the last day that there is, one of them has no next time."""
    customers(workshop)
    workshop.now = datetime(9999, 12, 31, 12, tzinfo=UTC)
    for name, cron in (("a", "0 0 1 1 *"), ("b", "*/5 * * * *")):
        put_due(workshop, name, cron)
    clockwork = runner(workshop, Post())
    clockwork.tick()
    clockwork.stop()
    assert [run.program_id for run in workshop.store.iterate(Run)] == ["b"]
    assert "a scheduled run or delivery failed" in caplog.text


@pytest.mark.requirement("CE8")
def test_an_unreadable_run_does_not_stop_the_others_from_being_resumed(workshop: Workshop) -> None:
    customers(workshop)
    runs = workshop.runs()
    held = {name: runs.begin(workshop.put(program(), name)) for name in ("a", "b", "c")}
    workshop.now += LEASE * 2
    where = {"PK": {"S": "PROGRAM#a#MARKETPLACE#US"}, "SK": {"S": f"RUN#{held['a'].run.run_id}"}}
    change(workshop, programs, where, "state", {"S": "dreaming"})
    slot = {"PK": {"S": "PROGRAM#b#MARKETPLACE#US"}, "SK": {"S": "SLOT"}}
    change(workshop, programs, slot, "owner", {"L": []})
    clockwork = runner(workshop, Post())
    runs.free_slots()
    clockwork.tick()
    wait_for(lambda: runs.get(held["c"].run).state is RunState.COMPLETED)
    assert {each.error.entity for each in clockwork.unreadable_log.latest} == {"Run", "Slot"}
    # They are in nobody's way for good.
    workshop.now += LEASE * 2
    for name in ("a", "b"):
        runs.forget(name, "US", held[name].run.run_id)
        assert workshop.run(stored(workshop, name)).state is RunState.COMPLETED


@pytest.mark.requirement("CE5", "CE8")
def test_a_candidate_rejected_without_a_reason_is_refreshed(workshop: Workshop) -> None:
    customers(workshop)
    made = workshop.put(program())
    workshop.run(made)
    change(workshop, candidates, place("c-3"), "rejected", {"BOOL": True})
    run = workshop.run(made)
    assert (run.state, run.counts.failed, run.counts.candidates) == (RunState.COMPLETED, 0, 6)


def mailed(workshop: Workshop) -> Program:
    """A program of one channel that has been run."""
    made = workshop.put(program(channels=[{"channelId": "email", "priority": 1}]))
    workshop.run(made)
    return made


def delivered(workshop: Workshop, made: Program) -> tuple[Post, Summary]:
    """What a pass has sent, and what it says of itself."""
    post = Post()
    return post, Deliveries(workshop.store, {"email": post}, workshop.clock).deliver(made)


@pytest.mark.requirement("CE10")
def test_a_customer_whose_time_zone_has_gone_gets_nothing_and_the_others_do(workshop: Workshop) -> None:
    customers(workshop, 3)
    made = mailed(workshop)
    hours = QuietHours(start="22:00", end="07:00", time_zone="UTC")
    workshop.store.put(Preferences(customer_id="c-2", quiet_hours=hours))
    gone = {"start": {"S": "22:00"}, "end": {"S": "07:00"}, "timeZone": {"S": "Mars/Base"}}
    key = {"PK": {"S": "CUSTOMER#c-2"}, "SK": {"S": "PREFERENCES"}}
    change(workshop, candidates, key, "quietHours", {"M": gone})
    post, summary = delivered(workshop, made)
    assert [customer for _, customer in post.customers] == ["c-3", "c-1"]
    assert (summary.sent, summary.unreadable) == (2, 1)


@pytest.mark.requirement("CE10")
def test_a_pass_delivers_the_others_and_counts_what_it_cannot_read(workshop: Workshop) -> None:
    customers(workshop)
    made = mailed(workshop)
    change(workshop, candidates, place("c-1"), "metadata", {"S": "x"})
    change(
        workshop, candidates, {**place("c-2"), "SK": {"S": "CHANNEL#email#SUBJECT#program#p"}}, "created", {"S": "x"}
    )
    change(workshop, candidates, {"PK": {"S": "CUSTOMER#c-3"}, "SK": {"S": "PREFERENCES"}}, "optedOut", {"S": "x"})
    change(workshop, candidates, {"PK": {"S": "CUSTOMER#c-4"}, "SK": {"S": "CONTACTS"}}, "times", {"S": "x"})
    post, summary = delivered(workshop, made)
    assert [customer for _, customer in post.customers] == ["c-6", "c-5"]
    assert (summary.sent, summary.unreadable) == (2, 4)


@pytest.mark.requirement("CE10")
def test_what_may_have_been_sent_is_not_sent_again_when_its_record_cannot_be_read(workshop: Workshop) -> None:
    customers(workshop, 2)
    made = mailed(workshop)
    post = Post()
    deliveries = Deliveries(workshop.store, {"email": post}, workshop.clock)
    deliveries.deliver(made)
    key = {"PK": place("c-1")["PK"], "SK": {"S": ""}}
    body = {
        "TableName": candidates.name,
        "KeyConditionExpression": "PK = :p AND begins_with(SK, :s)",
        "ExpressionAttributeValues": {":p": key["PK"], ":s": {"S": "DELIVERY#"}},
    }
    (found,) = workshop.store.backend.call(Request("Query", body))["Items"]
    change(workshop, candidates, {"PK": found["PK"], "SK": found["SK"]}, "state", {"S": "dreaming"})
    summary = deliveries.deliver(made)
    assert (summary.sent, summary.unreadable, len(post.sent)) == (0, 1, 2)


@pytest.mark.requirement("CE10")
def test_a_channel_whose_count_cannot_be_read_waits(workshop: Workshop) -> None:
    customers(workshop, 3)
    channels = [
        {"channelId": "email", "priority": 1, "limitPerDay": 5},
        {"channelId": "mail", "priority": 2, "adapter": "email"},
    ]
    made = workshop.put(program(channels=channels))
    workshop.run(made)
    day = workshop.now.date().isoformat()
    key = {"PK": {"S": "QUOTA#PROGRAM#p#MARKETPLACE#US"}, "SK": {"S": f"CHANNEL#email#{day}"}}
    change(workshop, candidates, key, "sent", {"S": "many"})
    post, summary = delivered(workshop, made)
    assert {channel for channel, _ in post.customers} == {"mail"}
    assert "cannot be read" in summary.held_up["email"].reason
