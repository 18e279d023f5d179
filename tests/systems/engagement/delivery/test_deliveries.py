"""Deliveries: in order of priority, best first, once for each candidate and channel, within limits and quiet hours."""

from __future__ import annotations

import base64
import hmac
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from tablewright.runtime.mail.mail_transport import Deferred
from tablewright.store import Unavailable
from tablewright.systems import load
from tablewright.systems.engagement.delivery.channels import ChannelMessage
from tablewright.systems.engagement.delivery.deliveries import Cause, Deliveries, HeldUp, Summary
from tablewright.systems.engagement.model import (
    Contacts,
    Delivery,
    DeliveryState,
    Preferences,
    Program,
    QuietHours,
    Quota,
)
from tests.runtime.mail_server import MailServer
from tests.systems.dying_backend import Died
from tests.systems.engagement.engagement_fixtures import Programme, Workshop, program, write
from tests.systems.engagement.recording_channel import Post
from tests.systems.engagement.web import Asked, Reply, Web
from tests.systems.harness import Served, at_once, serving

SECRET = "a secret of the test"


@pytest.fixture
def post() -> Post:
    return Post()


def deliveries(workshop: Workshop, post: Post) -> Deliveries:
    return Deliveries(workshop.store, {"email": post, "webhook": post}, workshop.clock)


def ready(workshop: Workshop, *points: int, **changes: Any) -> Program:
    """A program with a candidate for each score."""
    write(workshop.folder / "customers.csv", [(f"c-{score}", 1, "IT", score) for score in points])
    made = workshop.put(program(**changes))
    workshop.run(made)
    return made


# -- what is sent, and what is not ----------------------------------------------------------------------------------


@pytest.mark.requirement("CE10")
def test_channels_go_by_priority_and_candidates_by_score(workshop: Workshop, post: Post) -> None:
    channels = [
        {"channelId": "email", "priority": 9},
        {"channelId": "sms", "priority": 1, "adapter": "webhook"},
        {"channelId": "push", "priority": 5},
    ]
    made = ready(workshop, 5, 30, 12, channels=channels)
    summary = deliveries(workshop, post).deliver(made)
    assert post.customers == [
        ("sms", "c-30"),
        ("sms", "c-12"),
        ("sms", "c-5"),
        ("email", "c-30"),
        ("email", "c-12"),
        ("email", "c-5"),
    ]
    assert summary == Summary(attempted=6, sent=6)


@pytest.mark.requirement("CE10")
def test_a_candidate_is_sent_once_through_a_channel_however_often_it_is_tried(workshop: Workshop, post: Post) -> None:
    made = ready(workshop, 1, 2)
    deliver = deliveries(workshop, post)
    assert deliver.deliver(made).sent == 2
    workshop.now += timedelta(days=1)
    # Refreshed, it is the same candidate.
    workshop.run(made)
    assert deliver.deliver(made) == Summary()
    assert len({message.delivery_id for message in post.sent}) == 2
    workshop.now += timedelta(days=40)
    # Expired and made again, it is another.
    workshop.run(made)
    assert deliver.deliver(made).sent == 2
    assert len({message.delivery_id for message in post.sent}) == 4


@pytest.mark.requirement("CE10")
def test_only_one_of_several_concurrent_passes_sends(workshop: Workshop, post: Post) -> None:
    made = ready(workshop, *range(1, 9))
    at_once(4, lambda _: deliveries(workshop, post).deliver(made))
    deliveries(workshop, post).deliver(made)
    assert sorted(customer for _, customer in post.customers) == sorted(f"c-{score}" for score in range(1, 9))


@pytest.mark.requirement("CE10")
def test_a_channel_has_a_daily_limit_in_the_programs_time_zone(workshop: Workshop, post: Post) -> None:
    channels = [{"channelId": "email", "priority": 1, "limitPerDay": 2}]
    made = ready(workshop, 1, 2, 3, 4, 5, channels=channels, timeZone="Pacific/Auckland")
    deliver = deliveries(workshop, post)
    first = deliver.deliver(made)
    assert (first.sent, list(first.held_up)) == (2, ["email"])
    assert deliver.deliver(made).sent == 0
    # It is noon in UTC, and past midnight there: the day ends in eleven hours.
    workshop.now = datetime(2026, 3, 3, 10, 59, tzinfo=UTC)
    assert deliver.deliver(made).sent == 0
    workshop.now = datetime(2026, 3, 3, 11, 1, tzinfo=UTC)
    assert deliver.deliver(made).sent == 2
    assert [customer for _, customer in post.customers] == ["c-5", "c-4", "c-3", "c-2"]


@pytest.mark.requirement("CE10")
def test_a_customer_is_not_reached_more_often_than_the_program_says(workshop: Workshop, post: Post) -> None:
    chain = {"filters": ["frequency"], "settings": {"frequency": {"most": 1, "days": 7}}}
    channels = [{"channelId": "email", "priority": 1}, {"channelId": "sms", "priority": 2, "adapter": "webhook"}]
    made = ready(workshop, 1, channels=channels, filterChain=chain)
    deliver = deliveries(workshop, post)
    assert deliver.deliver(made) == Summary(attempted=1, sent=1, waiting=1)
    workshop.now += timedelta(days=8)
    assert deliver.deliver(made) == Summary(attempted=1, sent=1)
    assert post.customers == [("email", "c-1"), ("sms", "c-1")]


@pytest.mark.requirement("CE10")
def test_preferences_set_after_the_run_are_respected(workshop: Workshop, post: Post) -> None:
    made = ready(workshop, 1, 2, 3)
    night = QuietHours(start="22:00", end="07:00", time_zone="Asia/Tokyo")
    workshop.store.put(Preferences(customer_id="c-1", opted_out=True))
    workshop.store.put(Preferences(customer_id="c-2", quiet_hours=night))
    deliver = deliveries(workshop, post)
    workshop.now += timedelta(hours=3)
    assert deliver.deliver(made) == Summary(attempted=1, sent=1, waiting=1, unwanted=1)
    workshop.now += timedelta(hours=8)
    assert deliver.deliver(made) == Summary(attempted=1, sent=1, unwanted=1)
    assert post.customers == [("email", "c-3"), ("email", "c-2")]


@pytest.mark.requirement("CE10")
def test_deliveries_wait_for_a_channel_that_is_down_and_others_continue(workshop: Workshop, post: Post) -> None:
    channels = [{"channelId": "email", "priority": 1}, {"channelId": "sms", "priority": 2, "adapter": "webhook"}]
    made = ready(workshop, 1, 2, channels=channels, filterChain={"filters": ["frequency"]})

    def down(message: ChannelMessage) -> str | None:
        if message.channel.channel_id == "email":
            raise Unavailable("the mail server is down")
        return None

    post.instead = down
    deliver = deliveries(workshop, post)
    held_up = {"email": HeldUp(Cause.UNAVAILABLE, "the mail server is down")}
    assert deliver.deliver(made) == Summary(attempted=3, sent=2, held_up=held_up)
    # What could not be sent counts for nothing.
    assert sum(len(each.times) for each in workshop.store.iterate(Contacts)) == 2
    post.instead = lambda message: None
    assert deliver.deliver(made) == Summary(attempted=2, sent=2)


@pytest.mark.requirement("CE10")
def test_a_permanent_refusal_is_not_retried_and_does_not_count(workshop: Workshop, post: Post) -> None:
    made = ready(workshop, 1)
    post.instead = lambda message: "no such customer"
    assert deliveries(workshop, post).deliver(made) == Summary(attempted=1, refused=1)
    assert deliveries(workshop, post).deliver(made) == Summary()
    (record,) = workshop.store.iterate(Delivery)
    assert (record.state, record.reason) == (DeliveryState.REFUSED, "no such customer")
    assert [each.times for each in workshop.store.iterate(Contacts)] == [[]]


@pytest.mark.requirement("CE10")
def test_a_delivery_of_a_dead_process_is_sent_by_another_with_the_same_id(workshop: Workshop, post: Post) -> None:
    channels = [{"channelId": "email", "priority": 1, "limitPerDay": 1}]
    made = ready(workshop, 1, channels=channels)
    ids: list[str] = []

    def dies(message: ChannelMessage) -> str | None:
        ids.append(message.delivery_id)
        raise Died

    post.instead = dies
    with pytest.raises(Died):
        deliveries(workshop, post).deliver(made)
    post.instead = lambda message: None
    assert deliveries(workshop, post).deliver(made).sent == 0
    workshop.now += timedelta(minutes=5)
    assert deliveries(workshop, post).deliver(made).sent == 1
    assert ids == [message.delivery_id for message in post.sent]
    assert [len(each.times) for each in workshop.store.iterate(Contacts)] == [1]


@pytest.mark.requirement("CE10")
@pytest.mark.parametrize("seed", range(8))
def test_wherever_a_pass_dies_nothing_is_lost_and_everything_is_counted_once(
    workshop: Workshop, post: Post, seed: int
) -> None:
    entropy = random.Random(seed)
    channels = [{"channelId": "email", "priority": 1, "limitPerDay": 50}, {"channelId": "webhook", "priority": 2}]
    made = ready(workshop, 1, 2, 3, 4, 5, channels=channels, filterChain={"filters": ["frequency"]})
    post.instead = lambda message: "never" if message.candidate.customer_id == "c-3" else None
    backend = workshop.mortal()
    deaths = 0
    while True:
        backend.live_for(entropy.randrange(1, 60) if deaths < 6 else None, after=entropy.random() < 0.5)
        try:
            Deliveries(workshop.store_on(backend), {"email": post, "webhook": post}, workshop.clock).deliver(made)
            break
        except Died:
            deaths += 1
            workshop.now += timedelta(minutes=5)
    backend.live_for(None)
    assert deaths > 0
    # Twice only what was sent and not yet recorded when it died, and then with the same id.
    pairs = {(message.channel.channel_id, message.candidate.customer_id): message.delivery_id for message in post.sent}
    assert set(pairs) == {(channel, f"c-{n}") for channel in ("email", "webhook") for n in (1, 2, 4, 5)}
    assert {message.delivery_id for message in post.sent} == set(pairs.values())
    assert len(post.sent) - len(pairs) <= deaths
    records = list(workshop.store.iterate(Delivery))
    assert sorted(record.state for record in records) == ["refused"] * 2 + ["sent"] * 8
    assert sum(quota.sent for quota in workshop.store.iterate(Quota)) == 8
    assert {each.customer_id: len(each.times) for each in workshop.store.iterate(Contacts)} == {
        "c-1": 2,
        "c-2": 2,
        "c-3": 0,
        "c-4": 2,
        "c-5": 2,
    }


def test_a_rejected_candidate_is_not_sent(workshop: Workshop, post: Post) -> None:
    chain = {
        "filters": ["eligibility"],
        "settings": {"eligibility": {"rule": {"attribute": "points", "op": "gt", "value": 1}}},
    }
    made = ready(workshop, 1, 2, filterChain=chain)
    assert deliveries(workshop, post).deliver(made) == Summary(attempted=1, sent=1)
    assert post.customers == [("email", "c-2")]


# -- through real channels ----------------------------------------------------------------------------------------


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def receiver() -> Iterator[Web]:
    with Web(lambda asked: (204, b"")) as web:
        yield web


@pytest.fixture
def served(tmp_path: Path, mail_server: MailServer) -> Iterator[Served]:
    with serving(
        load("engagement"),
        data=tmp_path,
        smtp_url=mail_server.url,
        outbound_hosts=["127.0.0.1"],
        webhook_secret=SECRET,
    ) as served:
        yield served


def verified(asked: Asked) -> bool:
    """As a receiver does, by standardwebhooks.com."""
    content = f"{asked.headers['webhook-id']}.{asked.headers['webhook-timestamp']}.".encode() + asked.body
    expected = base64.b64encode(hmac.new(SECRET.encode(), content, sha256).digest()).decode()
    return asked.headers["webhook-signature"] == f"v1,{expected}"


@pytest.mark.requirement("CE10")
def test_mail_and_webhooks_reach_their_receivers_once(
    served: Served, admin: httpx.Client, mail_server: MailServer, receiver: Web
) -> None:
    email = {"subject": "For you, $name", "text": "Hello $name,\nthere is $subject_id for $$5\n"}
    channels = [
        {"channelId": "email", "priority": 1, "config": email},
        {"channelId": "webhook", "priority": 2, "config": {"url": receiver.url + "/in"}},
    ]
    people = [("c-1", "Ada", "ada@example.org", 3), ("c-2", "Bob", "nobody", 9)]
    made = Programme(served, admin, people, header=("customer_id", "name", "email", "points"), channels=channels)
    made.run()
    answer = admin.post(f"{made.path}/deliveries", json={})
    assert answer.json() == {
        "attempted": 4,
        "sent": 3,
        "refused": 1,
        "failed": 0,
        "waiting": 0,
        "unwanted": 0,
        "incomplete": {},
        "unreadable": 0,
        "heldUp": {},
        "more": False,
    }
    assert admin.post(f"{made.path}/deliveries", json={}).json()["sent"] == 0
    (letter,) = mail_server.received
    assert (letter.recipient, letter.message["Subject"]) == ("ada@example.org", "For you, Ada")
    assert letter.text.splitlines() == ["Hello Ada,", f"there is {made.id} for $5"]
    assert [asked.json["customerId"] for asked in receiver.asked] == ["c-2", "c-1"]
    asked = receiver.asked[0]
    assert verified(asked)
    assert (asked.path, asked.json["attributes"]["name"], asked.json["deliveryId"]) == (
        "/in",
        "Bob",
        asked.headers["webhook-id"],
    )
    day = served.runtime.now().date().isoformat()
    listed = admin.get(f"/programs/{made.id}/deliveries", params={"date": day}).json()["deliveries"]
    assert [(each["channelId"], each["customerId"], each["state"]) for each in listed] == [
        ("email", "c-2", "refused"),
        ("email", "c-1", "sent"),
        ("webhook", "c-2", "sent"),
        ("webhook", "c-1", "sent"),
    ]
    own = admin.get(f"{made.path}/customers/c-2/deliveries").json()["deliveries"]
    assert [(each["channelId"], each["reason"]) for each in own] == [
        ("email", "the customer has no address"),
        ("webhook", None),
    ]


@pytest.mark.requirement("CE10")
def test_a_webhook_is_tried_again_signed_and_with_the_same_id(served: Served, admin: httpx.Client) -> None:
    replies: list[Reply] = [(500, b""), (429, b""), (200, b"ok")]
    with Web(lambda asked: replies.pop(0)) as web:
        made = Programme(served, admin, channels=[{"channelId": "webhook", "priority": 1, "config": {"url": web.url}}])
        made.run()
        assert admin.post(f"{made.path}/deliveries", json={}).json()["sent"] == 1
    assert len({asked.headers["webhook-id"] for asked in web.asked}) == 1
    assert len(web.asked) == 3
    assert all(verified(asked) for asked in web.asked)


WEBHOOK = "webhook"


def through(web: Web, **config: Any) -> list[dict[str, Any]]:
    return [{"channelId": WEBHOOK, "priority": 1, "config": {"url": web.url, **config}}]


def sixty() -> list[tuple[Any, ...]]:
    return [(f"c-{number:02}", 1, "IT", number) for number in range(60)]


@pytest.mark.requirement("CE10")
@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ((503, b""), "unavailable"),
        pytest.param((429, b""), "unavailable", marks=pytest.mark.slow),
        ((302, b"", {"Location": "http://127.0.0.1:9/"}), "endpoint"),
        ((401, b""), "endpoint"),
        pytest.param((403, b""), "endpoint", marks=pytest.mark.slow),
        pytest.param((404, b""), "endpoint", marks=pytest.mark.slow),
        pytest.param((405, b""), "endpoint", marks=pytest.mark.slow),
        pytest.param((410, b""), "endpoint", marks=pytest.mark.slow),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else value,
)
def test_a_receiver_that_takes_nothing_holds_the_channel_up_and_keeps_its_candidates(
    served: Served, admin: httpx.Client, reply: Reply, cause: str
) -> None:
    answers: list[Reply] = [reply]
    with Web(lambda asked: answers[0]) as web:
        made = Programme(served, admin, sixty(), channels=through(web))
        made.run()
        held = admin.post(f"{made.path}/deliveries", json={}).json()
        assert (held["attempted"], held["sent"], held["refused"]) == (1, 0, 0)
        assert reply is not None
        assert held["heldUp"] == {WEBHOOK: {"cause": cause, "reason": f"the webhook responded with {reply[0]}"}}
        assert {asked.path for asked in web.asked} == {"/"}
        assert admin.get(f"{made.path}/customers/c-59/deliveries").json()["deliveries"] == []
        answers[0] = (200, b"")
        after = admin.post(f"{made.path}/deliveries", json={}).json()
        assert (after["sent"], after["refused"], after["heldUp"]) == (60, 0, {})


@pytest.mark.requirement("CE10")
def test_a_limit_bounds_the_attempts_and_what_was_refused_can_be_tried_again(
    served: Served, admin: httpx.Client
) -> None:
    answers: list[Reply] = [(422, b"")]
    with Web(lambda asked: answers[0]) as web:
        made = Programme(served, admin, sixty(), channels=through(web))
        made.run()
        first = admin.post(f"{made.path}/deliveries", json={"limit": 2}).json()
        assert (first["attempted"], first["refused"], first["more"]) == (2, 2, True)
        assert len(web.asked) == 2
        ids = [asked.headers["webhook-id"] for asked in web.asked]
        own = admin.get(f"{made.path}/customers/c-59/deliveries").json()["deliveries"]
        assert [(each["state"], each["reason"]) for each in own] == [("refused", "the webhook responded with 422")]
        # One customer's, while the receiver refuses everything: it stays refused, and is not lost.
        answers[0] = (410, b"")
        again = admin.post(f"{made.path}/deliveries/retry", json={"customerId": "c-58"}).json()
        assert (again["attempted"], again["heldUp"][WEBHOOK]["cause"]) == (1, "endpoint")
        own = admin.get(f"{made.path}/customers/c-58/deliveries").json()["deliveries"]
        assert [(each["state"], each["reason"]) for each in own] == [("refused", "the webhook responded with 422")]
        answers[0] = (200, b"")
        other = admin.post(f"{made.path}/deliveries/retry", json={"channelId": "email"}).json()
        assert (other["attempted"], other["sent"]) == (0, 0)
        retried = admin.post(f"{made.path}/deliveries/retry", json={"channelId": WEBHOOK}).json()
        assert (retried["attempted"], retried["sent"], retried["refused"]) == (2, 2, 0)
        assert {asked.headers["webhook-id"] for asked in web.asked[-2:]} == set(ids)
        own = admin.get(f"{made.path}/customers/c-58/deliveries").json()["deliveries"]
        assert [(each["state"], each["reason"], each["retries"]) for each in own] == [("sent", None, 2)]
        assert admin.post(f"{made.path}/deliveries/retry", json={}).json()["attempted"] == 0
        rest = admin.post(f"{made.path}/deliveries", json={}).json()
        assert (rest["sent"], rest["refused"]) == (58, 0)


@pytest.mark.requirement("CE10")
def test_only_one_of_several_tries_what_was_refused_again(workshop: Workshop, post: Post) -> None:
    made = ready(workshop, *range(1, 9), filterChain={"filters": ["frequency"]})
    post.instead = lambda message: "no such customer"
    assert deliveries(workshop, post).deliver(made).refused == 8
    post.instead = lambda message: None
    at_once(4, lambda _: deliveries(workshop, post).retry(made))
    assert sorted(customer for _, customer in post.customers) == sorted(f"c-{score}" for score in range(1, 9))
    assert {len(each.times) for each in workshop.store.iterate(Contacts)} == {1}
    assert sum(quota.sent for quota in workshop.store.iterate(Quota)) == 8


@pytest.mark.requirement("CE10")
def test_an_internal_error_affects_one_delivery_which_is_sent_later(workshop: Workshop, post: Post) -> None:
    made = ready(workshop, 1, 2, 3)

    def fails(message: ChannelMessage) -> str | None:
        if message.candidate.customer_id == "c-2":
            raise ZeroDivisionError
        return None

    post.instead = fails
    assert deliveries(workshop, post).deliver(made) == Summary(attempted=3, sent=2, failed=1)
    post.instead = lambda message: None
    assert deliveries(workshop, post).deliver(made) == Summary(attempted=1, sent=1)


@pytest.mark.requirement("CE10")
def test_a_mailbox_that_defers_mail_delays_no_other(workshop: Workshop, post: Post) -> None:
    made = ready(workshop, 1, 2, 3)

    def full(message: ChannelMessage) -> str | None:
        if message.candidate.customer_id == "c-3":
            raise Deferred("a mailbox responded with 452")
        return None

    post.instead = full
    assert deliveries(workshop, post).deliver(made) == Summary(attempted=3, sent=2, waiting=1)
    # It is left alone for a while, and tried again then.
    assert deliveries(workshop, post).deliver(made) == Summary(waiting=1)
    workshop.now += timedelta(minutes=16)
    post.instead = lambda message: None
    assert deliveries(workshop, post).deliver(made) == Summary(attempted=1, sent=1)
    assert {len(each.times) for each in workshop.store.iterate(Contacts)} == {1}


@pytest.mark.requirement("CE10")
def test_mail_that_was_refused_is_sent_when_it_is_tried_again(
    served: Served, admin: httpx.Client, mail_server: MailServer
) -> None:
    made = Programme(served, admin, channels=[{"channelId": "email", "priority": 1}])
    write(made.file, [("c-1", "ada@example.org", 3), ("c-2", "bob@example.org", 2)], ("customer_id", "email", "points"))
    made.run()
    mail_server.answers["ada@example.org"] = "550 no such user"
    first = admin.post(f"{made.path}/deliveries", json={"limit": 1}).json()
    assert (first["attempted"], first["refused"], first["heldUp"]) == (1, 1, {})
    mail_server.answers.clear()
    assert admin.post(f"{made.path}/deliveries/retry", json={}).json()["sent"] == 1
    assert [letter.recipient for letter in mail_server.received] == ["ada@example.org"]


@pytest.mark.requirement("CE10")
def test_deliveries_wait_for_a_mail_server_that_is_down(
    served: Served, admin: httpx.Client, mail_server: MailServer
) -> None:
    made = Programme(served, admin, channels=[{"channelId": "email", "priority": 1}])
    write(made.file, [("c-1", "ada@example.org", 3)], ("customer_id", "email", "points"))
    made.run()
    mail_server.stop()
    down = admin.post(f"{made.path}/deliveries", json={}).json()
    assert (down["sent"], list(down["heldUp"])) == (0, ["email"])
    mail_server.start()
    assert admin.post(f"{made.path}/deliveries", json={}).json()["sent"] == 1
    assert len(mail_server.received) == 1


def test_a_webhook_into_this_network_is_not_called_and_its_candidates_are_kept(tmp_path: Path) -> None:
    with serving(load("engagement"), data=tmp_path) as served, Web(lambda asked: (200, b"")) as web:
        admin = served.client("root", "Admins", path="/engagement")
        # What a name means is known when it is called.
        url = web.url.replace("127.0.0.1", "localhost")
        made = Programme(served, admin, channels=[{"channelId": "webhook", "priority": 1, "config": {"url": url}}])
        made.run()
        summary = admin.post(f"{made.path}/deliveries", json={}).json()
        assert (summary["refused"], summary["heldUp"]["webhook"]["cause"]) == (0, "policy")
        assert "outbound_hosts" in summary["heldUp"]["webhook"]["reason"]
        assert web.asked == []
        assert admin.get(f"{made.path}/customers/c-1/deliveries").json()["deliveries"] == []
