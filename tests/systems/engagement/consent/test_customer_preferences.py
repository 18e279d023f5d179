"""What customers want counts at once, everywhere; it is changed in parts, and every change is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from tablewright.systems.engagement.delivery.deliveries import Deliveries, Summary
from tablewright.systems.engagement.model import Candidate, Preferences, candidates
from tablewright.systems.engagement.reactive import Event, Reactive
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import model
from tests.systems.engagement.engagement_fixtures import Programme, Workshop, new_id, program, write
from tests.systems.engagement.recording_channel import Post
from tests.systems.harness import Served, at_once
from tests.systems.stored_items import spoil

NIGHT = {"start": "22:00", "end": "07:00", "timeZone": "Europe/Rome"}


def listed(admin: httpx.Client, path: str, limit: int = 100) -> list[str]:
    """Customers of a list, page after page."""
    found: list[str] = []
    params: dict[str, Any] = {"limit": limit}
    while True:
        page = admin.get(path, params=params).json()
        assert len(page["candidates"]) <= limit
        found += [each["customerId"] for each in page["candidates"]]
        if page["cursor"] is None:
            return found
        params["cursor"] = page["cursor"]


def people(*customers: str) -> list[tuple[Any, ...]]:
    return [(customer, 1, "IT", number) for number, customer in enumerate(customers, 1)]


# -- at once, everywhere ------------------------------------------------------------------------------------------


@pytest.mark.requirement("CE2", "CE10")
@pytest.mark.parametrize(
    ("wish", "email", "push"),
    [
        ({"optedOut": True}, False, False),
        ({"channelsOff": ["email"]}, False, True),
        ({"programsOff": ["THIS"]}, False, False),
        ({"programsOff": ["another"]}, True, True),
    ],
)
def test_a_customer_who_opts_out_leaves_every_list_at_once(
    served: Served, admin: httpx.Client, machine: httpx.Client, wish: dict[str, Any], email: bool, push: bool
) -> None:
    one, two = new_id("a"), new_id("b")
    made = Programme(served, admin, people(one, two))
    made.run()
    wish = {name: [made.id] if value == ["THIS"] else value for name, value in wish.items()}
    assert machine.patch(f"/customers/{one}/preferences", json=wish).status_code == 200
    for channel, is_listed in (("email", email), ("push", push)):
        expected = [two, one] if is_listed else [two]
        assert listed(admin, f"/programs/{made.id}/channels/{channel}/candidates") == expected
        assert listed(admin, f"{made.path}/channels/{channel}/candidates") == expected
    left = [name for name, is_left in (("email", email), ("push", push)) if is_left]
    assert made.candidate(one).json()["channels"] == left
    day = served.runtime.now().date().isoformat()
    of_day = admin.get(f"/programs/{made.id}/candidates", params={"date": day}).json()["candidates"]
    assert {each["customerId"]: each["channels"] for each in of_day} == {one: left, two: ["email", "push"]}


@pytest.mark.requirement("CE2")
def test_a_page_is_filled_with_those_who_have_not_opted_out(
    served: Served, admin: httpx.Client, machine: httpx.Client
) -> None:
    customers = [new_id(f"{number:02}") for number in range(12)]
    made = Programme(served, admin, people(*customers))
    made.run()
    for customer in customers[4:]:
        machine.patch(f"/customers/{customer}/preferences", json={"optedOut": True})
    path = f"{made.path}/channels/email/candidates"
    first = admin.get(path, params={"limit": 3}).json()
    assert [each["customerId"] for each in first["candidates"]] == customers[3:0:-1]
    assert listed(admin, path, limit=3) == customers[3::-1]


@pytest.mark.requirement("CE5")
def test_runs_and_events_respect_an_opt_out_whatever_filters_a_program_has(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", people("a", "b"))
    workshop.store.put(Preferences(customer_id="a", opted_out=True))
    workshop.store.put(Preferences(customer_id="c", channels_off=["email"]))
    made = workshop.put(program(reactiveEnabled=True))
    run = workshop.run(made)
    assert (run.counts.candidates, run.counts.rejected) == (1, 1)
    reactive = Reactive(workshop.pipeline())
    assert reactive.react(made, Event("a", None, {"points": 1}, {})).outcome == "rejected"
    assert reactive.react(made, Event("c", None, {"points": 1}, {})).outcome == "candidate"
    found = {each.customer_id: each for each in workshop.store.iterate(Candidate)}
    assert {name: each.channels for name, each in found.items()} == {"a": [], "b": ["email", "push"], "c": ["push"]}
    assert [(each.filter, each.reason) for each in found["a"].rejection_history][:1] == [("preference", "opted out")]


@pytest.mark.requirement("CE5")
@pytest.mark.parametrize("wish", [{"opted_out": True}, {"programs_off": ["p"]}, {"channels_off": ["email", "push"]}])
def test_nothing_of_a_customer_who_has_opted_out_is_used(workshop: Workshop, wish: dict[str, Any]) -> None:
    shown: list[str] = []
    model_id = new_id("test")

    @model(model_id)
    def seen(prospects: Sequence[Prospect]) -> list[Any]:
        shown.extend(each.customer_id for each in prospects)
        return [1 for _ in prospects]

    write(workshop.folder / "customers.csv", people("a", "b"))
    scoring = [{"modelId": model_id, "weight": 1, "minimum": 0, "maximum": 1}]
    made = workshop.put(program(reactiveEnabled=True, scoringModels=scoring))
    reactive = Reactive(workshop.pipeline())
    for customer in ("a", "new"):
        workshop.store.put(Preferences(customer_id=customer, **wish))
    reaction = reactive.react(made, Event("new", None, {"mail": "new@example.org"}, {"page": "/x"}))
    assert (reaction.outcome, reaction.score) == ("rejected", None)
    run = workshop.run(made)
    assert (run.counts.candidates, run.counts.rejected, run.counts.scored) == (1, 1, 1)
    # Who was a candidate before he opted out keeps no attributes either.
    workshop.store.put(Preferences(customer_id="b", **wish))
    assert reactive.react(made, Event("b", None, {"mail": "b@example.org"}, {"page": "/x"})).outcome == "rejected"
    found = {each.customer_id: each for each in workshop.store.iterate(Candidate)}
    assert set(found) == {"a", "b"}
    assert all((each.attributes, each.context, each.channels) == ({}, [], []) for each in found.values())
    assert shown == ["b"]


@pytest.mark.requirement("CE5")
@pytest.mark.parametrize("wish", [{"optedOut": True}, {"programsOff": ["..."]}])
def test_a_candidate_who_opts_out_is_shown_without_attributes(
    served: Served, admin: httpx.Client, wish: dict[str, Any]
) -> None:
    customer = new_id("c")
    made = Programme(served, admin, people(customer))
    made.run()
    shown = made.candidate(customer).json()
    assert shown["attributes"]["country"]
    wish = {"programsOff": [made.id]} if "programsOff" in wish else wish
    assert admin.patch(f"/customers/{customer}/preferences", json=wish).status_code == 200
    assert made.candidate(customer).json()["attributes"] == {}
    day = shown["created"][:10]
    listed = admin.get(f"/programs/{made.id}/candidates", params={"date": day}).json()["candidates"]
    assert [(each["customerId"], each["attributes"], each["context"]) for each in listed] == [(customer, {}, [])]


@pytest.mark.requirement("CE10")
def test_what_is_not_wanted_any_more_is_neither_sent_nor_sent_again(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", people("a", "b"))
    made = workshop.put(program())
    workshop.run(made)
    post = Post()
    post.instead = lambda message: "no such customer"
    deliveries = Deliveries(workshop.store, {"email": post}, workshop.clock)
    assert deliveries.deliver(made, limit=1).refused == 1
    post.instead = lambda message: None
    for customer in ("a", "b"):
        workshop.store.put(Preferences(customer_id=customer, opted_out=True))
    assert deliveries.deliver(made) == Summary(unwanted=1)
    assert deliveries.retry(made) == Summary(unwanted=1)
    assert post.sent == []


def test_a_customer_whose_preferences_cannot_be_read_is_in_no_list(served: Served, admin: httpx.Client) -> None:
    customer = new_id("c")
    made = Programme(served, admin, people(customer))
    made.run()
    served.runtime.sync_store.put(Preferences(customer_id=customer))
    key = {"PK": {"S": f"CUSTOMER#{customer}"}, "SK": {"S": "PREFERENCES"}}
    spoil(served, candidates, key, optedOut={"S": "perhaps"})
    page = admin.get(f"{made.path}/channels/email/candidates").json()
    assert (page["candidates"], [each["entity"] for each in page["unreadable"]]) == ([], ["Preferences"])
    place = f"/customers/{customer}/preferences"
    # Nobody knows whether he has opted out: whoever puts them again says so.
    assert admin.put(place, json={"quietHours": NIGHT}).status_code == 409
    assert admin.patch(place, json={"quietHours": NIGHT}).status_code == 409
    assert admin.put(place, json={"optedOut": True}).status_code == 200
    assert admin.get(place).json()["optedOut"] is True


# -- changes ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CE10")
def test_quiet_hours_do_not_cancel_an_opt_out(machine: httpx.Client) -> None:
    place = f"/customers/{new_id('c')}/preferences"
    assert machine.put(place, json={"optedOut": True, "channelsOff": ["push"]}).status_code == 200
    refused = machine.put(place, json={"quietHours": NIGHT})
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")
    assert "include optedOut, channelsOff too, or use PATCH" in refused.json()["detail"]
    changed = machine.patch(place, json={"quietHours": NIGHT}).json()
    assert (changed["optedOut"], changed["channelsOff"], changed["quietHours"]) == (True, ["push"], NIGHT)
    # Said explicitly, it is so.
    back = machine.put(place, json={"optedOut": False, "channelsOff": [], "quietHours": None}).json()
    assert (back["optedOut"], back["channelsOff"], back["quietHours"]) == (False, [], None)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"optedOut": None},
        {"optedOut": "yes"},
        {"channelsOff": None},
        {"quietHours": {"start": "22"}},
        {"off": True},
    ],
)
def test_a_change_that_cannot_be_is_refused(machine: httpx.Client, wrong: dict[str, Any]) -> None:
    place = f"/customers/{new_id('c')}/preferences"
    assert machine.patch(place, json=wrong).status_code == 422
    assert machine.get(f"{place}/history").json()["changes"] == []


@pytest.mark.requirement("CE10")
def test_every_change_is_recorded_with_who_when_and_what(
    served: Served, admin: httpx.Client, machine: httpx.Client
) -> None:
    place = f"/customers/{new_id('c')}/preferences"
    machine.patch(place, json={"optedOut": True})
    # What is so already is no change.
    machine.patch(place, json={"optedOut": True})
    admin.patch(place, json={"optedOut": False, "quietHours": NIGHT})
    found = admin.get(f"{place}/history").json()
    assert [(each["number"], each["changedBy"], each["source"], each["changes"]) for each in found["changes"]] == [
        (
            2,
            "root",
            "api",
            {"optedOut": {"before": True, "after": False}, "quietHours": {"before": None, "after": NIGHT}},
        ),
        (1, "shop", "api", {"optedOut": {"before": False, "after": True}}),
    ]
    assert all(each["at"].endswith("Z") for each in found["changes"])
    first = admin.get(f"{place}/history", params={"limit": 1}).json()
    assert [each["number"] for each in first["changes"]] == [2]
    rest = admin.get(f"{place}/history", params={"limit": 1, "cursor": first["cursor"]}).json()
    assert [each["number"] for each in rest["changes"]] == [1]


@pytest.mark.requirement("CE10")
def test_changes_of_several_at_once_are_all_made_and_all_recorded(machine: httpx.Client) -> None:
    place = f"/customers/{new_id('c')}/preferences"
    bodies = [{"optedOut": True}, {"channelsOff": ["push"]}, {"programsOff": ["retail"]}, {"quietHours": NIGHT}]
    assert at_once(4, lambda number: machine.patch(place, json=bodies[number]).status_code) == [200] * 4
    after = machine.get(place).json()
    assert (after["optedOut"], after["channelsOff"], after["programsOff"]) == (True, ["push"], ["retail"])
    assert after["quietHours"] == NIGHT
    changes = machine.get(f"{place}/history").json()["changes"]
    assert sorted(name for each in changes for name in each["changes"]) == [
        "channelsOff",
        "optedOut",
        "programsOff",
        "quietHours",
    ]
