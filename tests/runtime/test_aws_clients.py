"""Amazon's services, played by moto's server: EventBridge, SES, and Cognito's tokens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_string
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, default
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.stub import Stubber
from moto.backends import get_backend
from moto.server import ThreadedMotoServer

from tablewright.runtime.events.event_bridge import EventRefused, event_bridge
from tablewright.runtime.events.event_log import Event
from tablewright.runtime.identity.access import Caller
from tablewright.runtime.identity.tokens import Verifier, keys_at
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.mail.event_mail import Mailer, Message, sender_from
from tablewright.runtime.mail.mail_transport import MailRefused, SesTransport
from tablewright.store import Consumer, Store, Unavailable
from tablewright.systems import load
from tests.runtime.mail_server import free_port
from tests.systems.harness import serving, wait_for
from tests.systems.tasks.team import TASK

REGION = "us-east-1"


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def client(service: str, aws: str) -> Any:
    return boto3.client(service, region_name=REGION, endpoint_url=aws)


def some_event(number: int = 1, **changes: Any) -> Event:
    usual = {"source": "tasks", "type": "TaskCreated", "detail": {"taskId": f"t-{number}", "share": 0.5, "n": 3}}
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    return Event(event_id=f"e-{number}", at=at, sequence=str(number), **{**usual, **changes})


# -- EventBridge ----------------------------------------------------------------------------------------------------


class Bus:
    """A bus, and a queue that gets all of its events."""

    def __init__(self, aws: str) -> None:
        self.name = f"bus-{uuid4().hex[:8]}"
        events, self._queues = client("events", aws), client("sqs", aws)
        events.create_event_bus(Name=self.name)
        self._queue = self._queues.create_queue(QueueName=self.name)["QueueUrl"]
        arn = self._queues.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])
        pattern = json.dumps({"source": [{"prefix": "tablewright."}]})
        events.put_rule(Name="all", EventBusName=self.name, EventPattern=pattern)
        target = {"Id": "queue", "Arn": arn["Attributes"]["QueueArn"]}
        events.put_targets(Rule="all", EventBusName=self.name, Targets=[target])

    def received(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            answer = self._queues.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10)
            messages = answer.get("Messages", [])
            if not messages:
                return found
            found += [json.loads(message["Body"]) for message in messages]
            for message in messages:
                self._queues.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])


def subscriber(store: Store, bus: str, endpoint: str) -> Consumer:
    handler = event_bridge(bus, REGION, endpoint)
    return Consumer(store, events_table, handler, name="bridge", checkpoints=internal_table, batch_size=100)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None) as store:
        store.ensure_tables(events_table, internal_table)
        yield store


@pytest.mark.requirement("TM7")
def test_events_arrive_on_the_bus(aws: str, store: Store) -> None:
    bus = Bus(aws)
    for number in range(25):
        store.put(some_event(number))
    subscriber(store, bus.name, aws).run_once()
    found = bus.received()
    assert sorted(each["detail"]["eventId"] for each in found) == sorted(f"e-{number}" for number in range(25))
    assert {(each["source"], each["detail-type"]) for each in found} == {("tablewright.tasks", "TaskCreated")}
    one = next(each for each in found if each["detail"]["eventId"] == "e-7")
    assert one["detail"] == {"eventId": "e-7", "taskId": "t-7", "share": 0.5, "n": 3}


@pytest.mark.requirement("TM7")
def test_events_wait_for_a_bus_that_cannot_be_reached_or_is_not_there(aws: str, store: Store) -> None:
    store.put(some_event())
    down = subscriber(store, "bus", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Unavailable, match="EventBridge cannot be reached"):
        down.run_once()
    down.release()
    missing = subscriber(store, "no-such-bus", aws)
    with pytest.raises(Unavailable, match="EventBridge responded with ResourceNotFoundException"):
        missing.run_once()
    missing.release()
    bus = Bus(aws)
    good = subscriber(store, bus.name, aws)
    good.run_once()
    assert [each["detail"]["eventId"] for each in bus.received()] == ["e-1"]
    assert good.dead_letters() == []


@pytest.mark.requirement("TM7")
def test_an_event_that_the_bus_refuses_is_put_aside_and_the_others_go_on(aws: str, store: Store) -> None:
    bus = Bus(aws)
    for number in range(5):
        store.put(some_event(number, **({"type": ""} if number == 2 else {})))
    consumer = subscriber(store, bus.name, aws)
    consumer.run_once()
    (letter,) = consumer.dead_letters()
    assert letter.error == f"{EventRefused.__name__}: InvalidArgument"
    assert {each["detail"]["eventId"] for each in bus.received()} == {"e-0", "e-1", "e-3", "e-4"}


@pytest.mark.requirement("TM7")
def test_a_whole_application_sends_its_events_to_a_bus(aws: str) -> None:
    bus = Bus(aws)
    with serving(load("tasks"), event_bus=bus.name, aws_endpoint=aws) as served:
        answer = served.client("ada", "Admins").post("/tasks/tasks", json=TASK)
        found = wait_for(bus.received)
    assert [(each["detail-type"], each["detail"]["taskId"]) for each in found] == [
        ("TaskCreated", answer.json()["taskId"])
    ]


# -- SES ------------------------------------------------------------------------------------------------------------


def sent() -> list[Any]:
    """What moto's SES was given."""
    messages: list[Any] = get_backend("ses")["123456789012"][REGION].sent_messages
    return messages


def mailer(store: Store, carrier: SesTransport, sender: str) -> Mailer:
    return Mailer(store, carrier, sender_from(sender), clock=lambda: datetime.now(UTC))


@pytest.mark.requirement("TM8")
def test_mail_goes_out_by_ses_once(aws: str, store: Store) -> None:
    client("ses", aws).verify_email_identity(EmailAddress="tasks@example.org")
    office = mailer(store, SesTransport(REGION, aws), "Tasks <tasks@example.org>")
    before = len(sent())
    for _ in range(3):
        office.send(some_event(), Message("grace@example.org", "Grüße", "Text\n"))
    (message,) = sent()[before:]
    assert (message.source, set(message.destinations)) == ("tasks@example.org", {"grace@example.org"})
    read = message_from_string(message.raw_data, policy=default)
    assert read["Subject"] == "Grüße"
    assert read["To"] == "grace@example.org"


@pytest.mark.requirement("TM8")
def test_mail_waits_for_a_sender_that_ses_does_not_know(aws: str, store: Store) -> None:
    office = mailer(store, SesTransport(REGION, aws), f"{uuid4().hex}@example.net")
    with pytest.raises(Unavailable, match="the sender is not a verified identity in SES"):
        office.send(some_event(), Message("grace@example.org", "Hello", "Text\n"))


@pytest.mark.requirement("TM8")
def test_mail_waits_for_a_ses_that_cannot_be_reached(store: Store) -> None:
    office = mailer(store, SesTransport(REGION, f"http://127.0.0.1:{free_port()}"), "tasks@example.org")
    with pytest.raises(Unavailable, match="SES cannot be reached"):
        office.send(some_event(), Message("grace@example.org", "Hello", "Text\n"))


@pytest.mark.requirement("TM8")
@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (
            "Email address is not verified. The following identities failed the check in region US-EAST-1: {to}",
            MailRefused,
        ),
        ("Email address is not verified. The following identities failed the check: {to}, {from}", Unavailable),
        ("Email address is not verified. The following identities failed the check: x{from}, example.org", Unavailable),
        ("Address is on the suppression list", MailRefused),
    ],
)
def test_a_recipient_that_ses_does_not_take_is_refused(told: str, outcome: type[Exception]) -> None:
    """SES's own words, said by a stub of botocore's, because moto says others."""
    carrier = SesTransport(REGION)
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = Address(addr_spec="t@example.org"), Address(addr_spec="to@example.org")
    message.set_content("Text\n")
    text = told.replace("{to}", "to@example.org").replace("{from}", "t@example.org")
    with Stubber(carrier._client) as stub:
        stub.add_client_error("send_raw_email", "MessageRejected", text)
        with pytest.raises(outcome):
            carrier.send(message)


@pytest.mark.requirement("TM8")
def test_a_message_names_its_configuration_set_and_waits_if_there_is_none() -> None:
    carrier = SesTransport(REGION, configuration_set="of-tasks")
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = Address(addr_spec="t@example.org"), Address(addr_spec="to@example.org")
    message.set_content("Text\n")
    asked = {
        "Source": "t@example.org",
        "Destinations": ["to@example.org"],
        "RawMessage": {"Data": message.as_bytes()},
        "Tags": [],
        "ConfigurationSetName": "of-tasks",
    }
    with Stubber(carrier._client) as stub:
        stub.add_response("send_raw_email", {"MessageId": "m-1"}, asked)
        carrier.send(message)
        stub.add_client_error("send_raw_email", "ConfigurationSetDoesNotExist", "Configuration set does not exist")
        with pytest.raises(Unavailable, match="ConfigurationSetDoesNotExist"):
            carrier.send(message)


# -- Cognito --------------------------------------------------------------------------------------------------------


class Pool:
    """A user pool with a client and one user."""

    def __init__(self, aws: str, group: str) -> None:
        cognito = client("cognito-idp", aws)
        self.id = cognito.create_user_pool(PoolName=f"pool-{uuid4().hex[:8]}")["UserPool"]["Id"]
        flow = "ADMIN_NO_SRP_AUTH"
        made = cognito.create_user_pool_client(UserPoolId=self.id, ClientName="web", ExplicitAuthFlows=[flow])
        self.client = made["UserPoolClient"]["ClientId"]
        user = {"UserPoolId": self.id, "Username": "ada"}
        secret = uuid4().hex + "A!1"
        address = {"Name": "email", "Value": "ada@example.org"}
        self.user_id = next(
            attribute["Value"]
            for attribute in cognito.admin_create_user(**user, UserAttributes=[address])["User"]["Attributes"]
            if attribute["Name"] == "sub"
        )
        cognito.admin_set_user_password(**user, Password=secret, Permanent=True)
        cognito.create_group(UserPoolId=self.id, GroupName=group)
        cognito.admin_add_user_to_group(**user, GroupName=group)
        answer = cognito.admin_initiate_auth(
            UserPoolId=self.id,
            ClientId=self.client,
            AuthFlow=flow,
            AuthParameters={"USERNAME": "ada", "PASSWORD": secret},
        )
        self.tokens: dict[str, str] = answer["AuthenticationResult"]
        self.issuer = f"https://cognito-idp.{REGION}.amazonaws.com/{self.id}"
        self.keys = f"{aws}/{self.id}/.well-known/jwks.json"


@pytest.mark.requirement("TM6")
def test_tokens_of_a_user_pool_are_verified_against_its_keys(aws: str) -> None:
    pool = Pool(aws, "tasks:Admins")
    verifier = Verifier(pool.issuer, pool.client, keys_at(pool.keys))
    for kind in ("IdToken", "AccessToken"):
        caller = asyncio.run(verifier.caller(f"Bearer {pool.tokens[kind]}"))
        assert caller == Caller(pool.user_id, caller.email, frozenset({"tasks:Admins"}))


@pytest.mark.requirement("TM6")
def test_an_application_takes_the_tokens_of_its_own_pool_only(aws: str) -> None:
    admins, members, others = Pool(aws, "Admins"), Pool(aws, "Members"), Pool(aws, "Admins")
    settings = {"mode": "production", "issuer": admins.issuer, "audience": admins.client, "jwks_url": admins.keys}
    settings["roles"] = {"Admins": ["tasks:Admins"], "Members": ["tasks:Members"]}
    with serving(load("tasks"), **settings) as served:
        assert served.runtime.issuer is None

        def create(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            return served.client().post("/tasks/tasks", json=TASK, headers=headers).status_code

        assert create(admins.tokens["IdToken"]) == 201
        assert create(admins.tokens["AccessToken"]) == 201
        assert create(others.tokens["IdToken"]) == 401
        assert create(admins.tokens["RefreshToken"]) == 401
    settings |= {"issuer": members.issuer, "audience": members.client, "jwks_url": members.keys}
    with serving(load("tasks"), **settings) as served:
        assert create(members.tokens["IdToken"]) == 403
