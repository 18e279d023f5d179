"""Each system starts, runs and is ready with exactly the policies that ``tablewright iam`` prints for its roles.

All of it goes over HTTP, through a proxy that enforces the policies in front of our own server. And each policy is
minimal: what it grants is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tablewright.design.iam import MAINTENANCE as MAINTENANCE_ROLE
from tablewright.engine import Engine
from tablewright.store import ServiceError, Store
from tablewright.systems import NAMES, load
from tablewright.systems.calls.model import Call
from tablewright.systems.support import support_system
from tablewright.systems.support.model import Ticket, tickets
from tablewright.wire import serve_in_thread
from tests.policy_proxy import ACCOUNT, REGION, PolicyProxy
from tests.systems.calls.call_clients import schedule
from tests.systems.harness import wait_for
from tests.systems.policy_damage import damage, repair_all
from tests.systems.policy_enforced_system import (
    ADMINISTRATOR,
    CONSUMERS,
    MAINTENANCE,
    REQUESTS,
    Guarded,
    guard,
    serving_guarded,
)
from tests.systems.policy_stories import STORIES, administration, ok, personal_data
from tests.systems.servicedesk.desk import open_ticket
from tests.systems.support.tickets import opened

# What is granted and not used in these stories, because it takes an accident: (role, action, table).
RARELY = {
    # Query on the table returns the very items that GetItem does, as it has no sort key (SD9).
    (REQUESTS, "Query", "itsm-tickets"),
    # Mail that was refused for good is listed with its records: tests/runtime/mail.
    (CONSUMERS, "BatchGetItem", "tablewright-internal"),
    # Customers whom a model failed for are forgotten with their run: tests/systems/engagement/runs.
    (REQUESTS, "BatchWriteItem", "Candidates"),
    # What cannot be read is no dead letter of a search: other errors are.
    (CONSUMERS, "PutItem", "tablewright-internal"),
    # A checkpoint is read again when the response to a write got lost, and deleted when its shard is trimmed, as is a
    # dead letter that is replayed: tests/store/streams.
    (CONSUMERS, "GetItem", "tablewright-internal"),
    (CONSUMERS, "DeleteItem", "tablewright-internal"),
    (MAINTENANCE, "GetItem", "tablewright-internal"),
    (MAINTENANCE, "PutItem", "tablewright-internal"),
}
SLOW_FOR_ENGAGEMENT = [pytest.param(name, marks=pytest.mark.slow) if name == "engagement" else name for name in NAMES]
# An item is read again when somebody changes it while it is repaired: tests/store/maintenance.
READ_AGAIN = (MAINTENANCE, "GetItem")


@pytest.fixture
def proxy() -> Iterator[PolicyProxy]:
    with Engine.open() as engine, serve_in_thread(engine) as url, PolicyProxy(url) as proxy:
        yield proxy


def store_of(guarded: Guarded, access_key: str, **options: Any) -> Store:
    (system,) = load(guarded.name)
    names = {table.name: guarded.table_name(table) for table in system.design.all_tables}
    return Store.connect(
        REGION,
        guarded.proxy.url,
        aws_access_key_id=access_key,
        aws_secret_access_key="secret",
        table_names=names,
        **options,
    )


def unused(guarded: Guarded, access_key: str) -> set[tuple[str, str, str]]:
    """What an access key is granted and has not used."""
    found = set()
    for action, resource in guarded.granted(access_key) - guarded.proxy.used_by(access_key):
        table = resource.partition(":table/")[2].removeprefix(f"{guarded.environment}-")
        found.add((access_key, action.partition(":")[2], table))
    return found


@pytest.mark.requirement("SU14", "SD9", "X3")
@pytest.mark.parametrize("name", SLOW_FOR_ENGAGEMENT)
def test_a_system_runs_with_the_policies_that_are_printed_and_needs_all_of_them(
    name: str, proxy: PolicyProxy, tmp_path: Path
) -> None:
    guarded = guard(proxy, name, "story")
    with serving_guarded(guarded, tmp_path, training_export=tmp_path / "export") as served:
        client = served.client()
        assert client.get("/readyz").json() == {"status": "ready", "failing": {}}
        proxy.forget(REQUESTS)
        STORIES[name](served)
        administration(served)
        if name == "support":
            # A change that cannot be read becomes a dead letter, and the whole table has been exported.
            place = guarded.table_name(tickets)
            administrator = guarded.client(ADMINISTRATOR)
            ticket = next(each for each in administrator.scan(TableName=place)["Items"] if "symptom_text" in each)
            administrator.put_item(TableName=place, Item={**ticket, "status": {"N": "1"}})
            admin = served.client("root", "Admins")
            wait_for(lambda: any(each["dead_letters"] for each in ok(admin.get("/runtime/consumers"))))
            wait_for(lambda: (CONSUMERS, "Scan", tickets.name) not in unused(guarded, CONSUMERS))
        assert client.get("/readyz").json() == {"status": "ready", "failing": {}}
        # Consumers may be behind; what they never do is told below.
        with suppress(AssertionError):
            wait_for(lambda: unused(guarded, CONSUMERS) <= RARELY, seconds=10)
    assert proxy.denied == []
    assert unused(guarded, REQUESTS) | unused(guarded, CONSUMERS) <= RARELY


# What maintenance needs for personal data alone.
OF_PERSONAL_DATA = {
    (MAINTENANCE, "DeleteItem", "itsm-tickets"),
    (MAINTENANCE, "Scan", "tablewright-events"),
    (MAINTENANCE, "Scan", "tablewright-internal"),
    (MAINTENANCE, "UpdateItem", "tablewright-internal"),
    (MAINTENANCE, "DeleteItem", "tablewright-internal"),
}
# Whom the story of a system is about.
PEOPLE = {"servicedesk": "caller-1", "support": "cust_1", "engagement": "c-1", "calls": "cleo", "tasks": "tess"}


@pytest.mark.requirement("X3", "AP9", "AP10")
@pytest.mark.parametrize("name", SLOW_FOR_ENGAGEMENT)
def test_administrators_manage_people_and_erase_personal_data_with_the_policies_that_are_printed(
    name: str, proxy: PolicyProxy, tmp_path: Path
) -> None:
    guarded = guard(proxy, name, "people")
    with serving_guarded(guarded, tmp_path) as served:
        proxy.forget(REQUESTS)
        administration(served)
        used = proxy.used_by(REQUESTS)
        STORIES[name](served)
        for person in (PEOPLE[name], "nina"):
            try:
                personal_data(served, person)
            finally:
                assert proxy.denied == []
    granted = {
        action for statement in guarded.policies["administration"]["Statement"] for action in statement["Action"]
    }
    assert granted == {action for action, _ in used}
    # An item in the internal table that is kept, and names one of them, is not in every story.
    left = OF_PERSONAL_DATA & unused(guarded, MAINTENANCE)
    assert left <= {(MAINTENANCE, "UpdateItem", "tablewright-internal")}


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", SLOW_FOR_ENGAGEMENT)
def test_maintenance_repairs_everything_with_its_policy_and_needs_all_of_it(
    name: str, proxy: PolicyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Our own server's stream is never behind its table.
    monkeypatch.setattr(support_system, "_SETTLE", 0)
    guarded = guard(proxy, name, "repair")
    (system,) = load(name)
    blobs = tmp_path / "blobs"
    with store_of(guarded, ADMINISTRATOR, blobs=blobs) as store:
        damage(store, system.design)
    with store_of(guarded, MAINTENANCE, blobs=blobs) as store:
        repair_all(store, system.design)
    if name == "support":
        with serving_guarded(guarded, tmp_path) as served:
            admin = served.client("root", "Admins", path="/support")
            for job in (
                "/metrics/rebuild",
                "/metrics/rebuild",
                "/maintenance/migrate-shards",
                "/maintenance/collect-orphans",
            ):
                ok(admin.post(job))
                state = wait_for(lambda: None if (found := ok(admin.get(job)))["running"] else found)  # noqa: B023
                assert state["failed"] is None
    assert proxy.denied == []
    left = {each for each in unused(guarded, MAINTENANCE) if each[:2] != READ_AGAIN}
    assert left <= RARELY | OF_PERSONAL_DATA


@pytest.mark.requirement("SD9")
def test_the_service_desk_starts_with_the_policy_of_its_api_alone_and_serves_with_that_of_the_internal_table(
    proxy: PolicyProxy, tmp_path: Path
) -> None:
    guarded = guard(proxy, "servicedesk", "alone")
    table = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/alone-itsm-tickets"
    proxy.attach(REQUESTS, guarded.policies["api"])
    assert {
        (action, resource)
        for statement in guarded.policies["api"]["Statement"]
        for action in statement["Action"]
        for resource in statement["Resource"]
    } == {
        *((f"dynamodb:{action}", table) for action in ("GetItem", "PutItem", "UpdateItem", "Query")),
        ("dynamodb:Query", f"{table}/index/CallerIdIndex"),
    }
    with serving_guarded(guarded, tmp_path) as served:
        # Whether the internal table exists is asked, and need not be known.
        internal = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/alone-tablewright-internal"
        assert set(proxy.denied) == {(REQUESTS, "dynamodb:GetItem", internal)}
        assert served.client().get("/readyz").json()["failing"] == {"database": "access denied"}
        proxy.denied.clear()
        proxy.attach(REQUESTS, guarded.policies["api"], guarded.policies["runtime"])
        agent = served.client("sam", "Agents", path="/servicedesk")
        ticket = open_ticket(agent)
        ok(agent.post(f"/tickets/{ticket['ticket_id']}/comments", json={"comment_text": "It hums"}))
        assert served.client().get("/readyz").json() == {"status": "ready", "failing": {}}
    assert proxy.denied == []


def test_a_process_without_its_permissions_is_not_ready_and_says_why(proxy: PolicyProxy, tmp_path: Path) -> None:
    guarded = guard(proxy, "servicedesk", "barred")
    with serving_guarded(guarded, tmp_path) as served:
        proxy.attach(REQUESTS)
        response = served.client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["failing"] == {"database": "access denied"}


@pytest.mark.requirement("SU14")
@pytest.mark.parametrize("name", ["support", "calls"])
def test_a_customer_s_credentials_read_what_is_theirs_and_nothing_else(
    name: str, proxy: PolicyProxy, tmp_path: Path
) -> None:
    guarded = guard(proxy, name, "own")
    field = {"support": "customer_id", "calls": "user_id"}[name]
    proxy.attach("AKIACUSTOMER", guarded.policies["customer"], tags={field: "cust_1"})
    with serving_guarded(guarded, tmp_path) as served:
        staff = served.client("op_1", {"support": "Services", "calls": "Schedulers"}[name], path=f"/{name}")
        for customer in ("cust_1", "cust_2", "cust_11"):
            _ = opened(staff, customer) if name == "support" else schedule(staff, userId=customer)
    with store_of(guarded, "AKIACUSTOMER") as store:

        def found(customer: str) -> int:
            if name == "support":
                return len(store.query(Ticket.of_customer(customer_id=customer)).items)
            own = store.query(Call.of_user(user_id=customer)).items
            assert store.query(Call.upcoming(user_id=customer)).items == own
            return len(own)

        assert found("cust_1") == 1
        for other in ("cust_2", "cust_11", "cust_1#x", "*"):
            with pytest.raises(ServiceError, match="AccessDenied"):
                found(other)
        with pytest.raises(ServiceError, match="AccessDenied"):
            store.verify(load(name)[0].tables[0])


def test_a_denied_call_is_answered_as_the_service_answers(proxy: PolicyProxy) -> None:
    guarded = guard(proxy, "servicedesk", "denied")
    with pytest.raises(ClientError) as refusal:
        guarded.client(REQUESTS).scan(TableName="denied-itsm-tickets")
    response = refusal.value.response
    assert (response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]) == ("AccessDeniedException", 400)
    assert "is not authorized to perform: dynamodb:Scan on resource" in response["Error"]["Message"]
    assert MAINTENANCE_ROLE in guarded.policies
