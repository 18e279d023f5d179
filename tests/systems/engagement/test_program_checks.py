"""What a program names is checked when it is saved, and nothing unresolved reaches anybody."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tablewright.systems import load
from tablewright.systems.engagement.model import Delivery, Run, RunState
from tests.systems.engagement.engagement_fixtures import Workshop, approve, new_id, program, write
from tests.systems.engagement.web import Asked, Reply, Web
from tests.systems.harness import Served, serving, wait_for

KEY = "Bearer 8f14e45fceea167a"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    credentials = {"models": {"host": "127.0.0.1", "value": KEY}, "elsewhere": {"host": "a.example.org", "value": "x"}}
    with serving(
        load("engagement"),
        data=tmp_path_factory.mktemp("data"),
        outbound_hosts=["127.0.0.1"],
        outbound_credentials=credentials,
    ) as served:
        folder = served.runtime.settings.data / "sources"
        people = [("c-1", "Ada", "ada@example.org", 3), ("c-2", "", "bob@example.org", 2), ("", "Nobody", "x@y.org", 1)]
        write(folder / "people.csv", people, ("customer_id", "first_name", "email", "points"))
        write(folder / "others.csv", [("c-9", 1)], ("customer_id", "points"))
        yield served


def files(query: str = "SELECT * FROM c", file: str = "people.csv", **changes: Any) -> dict[str, Any]:
    return {"type": "files", "tables": {"c": file}, "query": query, **changes}


def rule(rule: dict[str, Any]) -> dict[str, Any]:
    return {"filters": ["eligibility"], "settings": {"eligibility": {"rule": rule}}}


def mail(**config: Any) -> list[dict[str, Any]]:
    return [{"channelId": "email", "priority": 1, "config": config}]


def saved(admin: httpx.Client, **changes: Any) -> httpx.Response:
    return admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=program("people.csv", **changes))


# -- when it is saved ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dataConnectors": [files(file="nothing.csv")]}, "nothing.csv is not in the folder of sources"),
        ({"dataConnectors": [files("SELECT nothing FROM c")]}, "the data connector: Binder Error: Referenced column"),
        (
            {"dataConnectors": [files(customerColumn="id")]},
            "customerColumn: the query has no column id; it has customer_id, first_name, email, points",
        ),
        (
            {"dataConnectors": [files(subjectTypeColumn="points", subjectIdColumn="sku")]},
            "subjectIdColumn: the query has no column sku",
        ),
        (
            {"channels": mail(subject="Hello $frist_name")},
            "config.subject: unknown name $frist_name; use one of customer_id, email, first_name, points,",
        ),
        ({"channels": mail(text="${pionts} points")}, "config.text: unknown name $pionts"),
        ({"channels": mail(addressAttribute="mail")}, "config.addressAttribute: there is no column mail"),
        # All connectors have to have it, as each has customers of its own.
        (
            {"dataConnectors": [files(), files(file="others.csv")], "channels": mail(text="$first_name")},
            "unknown name $first_name",
        ),
        (
            {"filterChain": rule({"attribute": "pionts", "op": "ge", "value": 1})},
            "eligibility: there is no attribute pionts; use one of email, first_name, points",
        ),
        (
            {"filterChain": rule({"any": [{"not": {"all": [{"attribute": "pionts", "op": "exists"}]}}]})},
            "eligibility: there is no attribute pionts",
        ),
        (
            {"filterChain": rule({"attribute": "cart", "op": "exists"}), "eventAttributes": ["basket"]},
            "eligibility: there is no attribute cart",
        ),
        # What names the subject is the subject's id, and no attribute.
        (
            {
                "dataConnectors": [files(subjectTypeColumn="first_name", subjectIdColumn="points")],
                "channels": mail(text="$points"),
            },
            "unknown name $points",
        ),
    ],
)
def test_what_is_not_there_is_refused_when_the_program_is_saved(
    admin: httpx.Client, changes: dict[str, Any], told: str
) -> None:
    answer = saved(admin, **changes)
    assert (answer.status_code in (400, 422), told in answer.text) == (True, True), answer.text


@pytest.mark.parametrize("padding", ["", " " * 200_000], ids=["small", "large"])
def test_a_file_that_has_changed_is_looked_at_again(served: Served, admin: httpx.Client, padding: str) -> None:
    file = served.runtime.settings.data / "sources" / f"{new_id('f')}.csv"
    change = {"dataConnectors": [files(file=file.name, subjectIdColumn="sku", subjectTypeColumn="points")]}
    for header in ("customer_id,points", "customer_id,points,sku", "sku,points,customer", "customer_id,points,sku"):
        file.write_text(f"{header}\n" + padding.replace(" ", "1,2,3\n" if header.count(",") == 2 else "1,2\n"))
        answer = saved(admin, **change)
        known = {"customer_id", "sku"} <= set(header.split(","))
        assert (answer.status_code == 200) is known, answer.text


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(
    "changes",
    [
        {"channels": mail(subject="$program", text="$customer_id $subject_type $subject_id $unsubscribe_url $$5")},
        {"channels": mail(text="${first_name} $points", addressAttribute="email")},
        {"dataConnectors": [files(customerColumn="CUSTOMER_ID")]},
        {"dataConnectors": [files(), files("SELECT *, 'you' AS first_name FROM c", "others.csv")]},
        {"channels": mail(text="$cart_total"), "eventAttributes": ["cart_total"]},
        {"dataConnectors": [], "channels": mail(text="$whatever events bring")},
        {"filterChain": rule({"attribute": "points", "op": "ge", "value": 1})},
        {"filterChain": rule({"attribute": "cart", "op": "exists"}), "eventAttributes": ["cart"]},
        # Of those who have it.
        {
            "dataConnectors": [files(), files(file="others.csv")],
            "filterChain": rule({"attribute": "first_name", "op": "exists"}),
        },
        {"dataConnectors": [], "filterChain": rule({"attribute": "whatever", "op": "exists"})},
        {
            "dataConnectors": [{"type": "athena", "query": "SELECT 1"}],
            "filterChain": rule({"attribute": "whatever", "op": "exists"}),
        },
        {"dataConnectors": [{"type": "athena", "query": "SELECT 1"}], "channels": mail(text="$whatever")},
    ],
)
def test_what_is_there_is_not_refused(admin: httpx.Client, changes: dict[str, Any]) -> None:
    answer = saved(admin, **changes)
    assert answer.status_code == 200, answer.text


# -- when it is sent ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("CE10")
def test_a_text_that_names_what_a_customer_does_not_have_is_not_sent(served: Served, admin: httpx.Client) -> None:
    path = f"/programs/{new_id('p')}/marketplaces/US"
    body = program("people.csv", channels=mail(text="Hello $first_name"), reactiveEnabled=True)
    assert admin.put(path, json=body).status_code == 200
    approve(served, admin, path)
    run_id = admin.post(f"{path}/runs").json()["runId"]
    run = wait_for(lambda: _ended(admin, f"{path}/runs/{run_id}"))
    assert (run["counts"]["read"], run["counts"]["withoutId"]) == (2, 1)
    first = admin.post(f"{path}/deliveries", json={}).json()
    assert (first["attempted"], first["sent"], first["incomplete"]) == (1, 1, {"first_name": 1})
    assert list(served.runtime.sync_store.iterate(Delivery))[-1].customer_id == "c-1"
    # It is sent as soon as it can be.
    event = {"marketplaceId": "US", "programId": path.split("/")[2], "customerId": "c-2"}
    admin.post("/events", json={**event, "attributes": {"first_name": "Bob"}})
    second = admin.post(f"{path}/deliveries", json={}).json()
    assert (second["sent"], second["incomplete"]) == (1, {})


def _ended(admin: httpx.Client, place: str) -> Any:
    found = admin.get(place).json()
    return found if found["state"] != "running" else None


# -- rows that name nobody ----------------------------------------------------------------------------------------


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("stopped_at", [0, 2, 4])
def test_rows_without_a_customer_id_are_counted_once_wherever_a_run_is_stopped(
    workshop: Workshop, stopped_at: int
) -> None:
    nobody = [("", number, "IT", number) for number in range(7)]
    write(workshop.folder / "customers.csv", [*nobody, *((f"c-{number}", 1, "IT", number) for number in range(4))])
    write(workshop.folder / "nobody.csv", nobody)
    connectors = [
        files(file="nobody.csv"),
        files(file="customers.csv", subjectTypeColumn="country", subjectIdColumn="age"),
    ]
    runs = workshop.runs(chunk=2)
    held = runs.begin(workshop.put(program(dataConnectors=connectors)))

    def stop(run: Run) -> None:
        if run.counts.read == stopped_at and run.checkpoint.connector == 1:
            found = runs.get(run)
            if found.requested is None:
                runs.request(found, "stop")

    run = runs.execute(held, report=stop)
    if run.state is RunState.STOPPED:
        run = runs.execute(runs.resume(run))
    assert (run.state, run.counts.read, run.counts.without_id) == (RunState.COMPLETED, 4, 14)
    assert (run.counts.failed, run.errors) == (0, {})


# -- credentials --------------------------------------------------------------------------------------------------


def guarded(reply: bytes) -> Any:
    def answer(asked: Asked) -> Reply:
        return (200, reply) if asked.headers.get("authorization") == KEY else (401, b"")

    return answer


@pytest.mark.requirement("CE8", "CE10")
def test_models_and_webhooks_get_credentials_that_are_nowhere_to_be_read(
    served: Served, admin: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": "models"}
    with Web(guarded(json.dumps({"scores": [0.5]}).encode())) as model, Web(guarded(b"")) as receiver:
        path = f"/programs/{new_id('p')}/marketplaces/US"
        models = [
            {"modelId": new_id("m"), "endpoint": model.url, "weight": 1, "headers": headers, "batchSize": 1},
        ]
        channels = [{"channelId": "webhook", "priority": 1, "config": {"url": receiver.url, "headers": headers}}]
        put = admin.put(path, json=program("people.csv", scoringModels=models, channels=channels))
        assert put.status_code == 200, put.text
        approve(served, admin, path)
        run_id = admin.post(f"{path}/runs").json()["runId"]
        run = wait_for(lambda: _ended(admin, f"{path}/runs/{run_id}"))
        assert (run["state"], run["counts"]["candidates"]) == ("completed", 2)
        assert admin.post(f"{path}/deliveries", json={}).json()["sent"] == 2
    seen = [put.text, admin.get(path).text, admin.get(f"{path}/versions").text, caplog.text]
    assert [text for text in seen if KEY[-8:] in text] == []
    assert KEY not in repr(served.runtime.settings)
    assert KEY not in served.runtime.settings.model_dump_json()


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"Authorization": "nothing"}, "there is no credential nothing in the settings"),
        ({"Authorization": "elsewhere"}, "the credential elsewhere is not for 127.0.0.1"),
        ({"Host": "models"}, "Host cannot be used as a header for credentials"),
        ({"Webhook-Signature": "models"}, "Webhook-Signature cannot be used as a header for credentials"),
        ({"a b": "models"}, "use the name of a header"),
    ],
)
def test_a_credential_that_is_not_for_an_address_is_refused(
    admin: httpx.Client, headers: dict[str, str], told: str
) -> None:
    models = [{"modelId": "m", "endpoint": "http://127.0.0.1:9/", "weight": 1, "headers": headers}]
    channels = [{"channelId": "webhook", "priority": 1, "config": {"url": "http://127.0.0.1:9/", "headers": headers}}]
    for answer in (saved(admin, scoringModels=models), saved(admin, channels=channels)):
        assert (answer.status_code in (400, 422), told in answer.text) == (True, True), answer.text


def test_a_credential_goes_to_its_host_by_https_or_where_it_is_allowed(tmp_path: Path) -> None:
    credentials = {"models": {"host": "models.example.org", "value": KEY}}
    with serving(load("engagement"), data=tmp_path, outbound_credentials=credentials) as served:
        admin = served.client("root", "Admins", path="/engagement")
        write(tmp_path / "sources" / "people.csv", [("c-1", 1, "IT", 1)])
        for scheme, status in (("https", 200), ("http", 422)):
            endpoint = f"{scheme}://models.example.org/"
            models = [{"modelId": "m", "endpoint": endpoint, "weight": 1, "headers": {"X-Api-Key": "models"}}]
            answer = saved(admin, scoringModels=models)
            assert answer.status_code in (status, 400 if status == 422 else 200), answer.text


@pytest.mark.requirement("CE8")
def test_a_model_that_responds_with_401_pauses_the_run_and_fails_no_customer(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [(f"c-{number}", 1, "IT", 1) for number in range(5)])
    with Web(lambda asked: (401, b"")) as web:
        made = workshop.put(program(scoringModels=[{"modelId": "remote", "endpoint": web.url, "weight": 1}]))
        runs = workshop.runs(outage_seconds=0.2)
        run = runs.execute(runs.begin(made))
    assert (run.state, run.counts.failed, run.failure) == (RunState.PAUSED, 0, "remote: it responded with 401")
