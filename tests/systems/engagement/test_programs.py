"""Programs: validated, versioned, enabled and disabled, and listed by marketplace without a scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tablewright.systems import load
from tablewright.systems.engagement.model import programs as programs_table
from tests.systems.engagement.engagement_fixtures import Programme, new_id, program
from tests.systems.harness import Served, at_once, serving
from tests.systems.stored_items import items

SEED = {
    "programName": "Retail Customer Engagement",
    "enabled": True,
    "dataConnectors": [{"type": "athena", "query": "SELECT * FROM customers", "schedule": "0 2 * * *"}],
    "scoringModels": [{"modelId": "propensity-v1", "endpoint": "https://models.example.org/p", "weight": 0.7}],
    "filterChain": {"filters": ["frequency", "eligibility", "preference"]},
    "channels": [{"channelId": "email", "priority": 1, "config": {}}],
    "batchSchedule": "0 2 * * *",
    "reactiveEnabled": True,
    "candidateTTLDays": 30,
}


@pytest.mark.requirement("CE6")
def test_a_program_is_stored_as_the_document_has_it(served: Served, admin: httpx.Client) -> None:
    name = new_id("retail")
    answer = admin.put(f"/programs/{name}/marketplaces/US", json=SEED)
    assert answer.status_code == 200, answer.text
    assert admin.get(f"/programs/{name}/marketplaces/US").json() == answer.json()
    assert {key: answer.json()[key] for key in ("programName", "batchSchedule", "candidateTTLDays")} == {
        "programName": "Retail Customer Engagement",
        "batchSchedule": "0 2 * * *",
        "candidateTTLDays": 30,
    }
    (item,) = [each for each in items(served, programs_table) if each["PK"] == {"S": f"PROGRAM#{name}"}]
    assert item["SK"] == {"S": "MARKETPLACE#US"}
    assert item["scoringModels"]["L"][0]["M"]["weight"] == {"N": "0.7"}
    assert item["filterChain"]["M"]["filters"] == {"L": [{"S": "frequency"}, {"S": "eligibility"}, {"S": "preference"}]}
    assert item["candidateTTLDays"] == {"N": "30"}


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"scoringModels": []}, "scoringModels"),
        ({"scoringModels": [{"modelId": "test-points", "weight": 0}]}, "weight"),
        ({"scoringModels": [{"modelId": "nobody-knows", "weight": 1}]}, "unknown model nobody-knows"),
        ({"scoringModels": [{"modelId": "m", "endpoint": "ftp://x", "weight": 1}]}, "http"),
        ({"scoringModels": [{"modelId": "m", "endpoint": "https://u:pw@x.org", "weight": 1}]}, "password"),
        ({"scoringModels": [{"modelId": "test-points", "weight": 1, "cacheHours": 72}]}, "cacheHours"),
        ({"channels": []}, "channels"),
        ({"channels": [{"channelId": "email", "priority": 0}]}, "priority"),
        ({"channels": [{"channelId": "a", "priority": 1}, {"channelId": "a", "priority": 2}]}, "a occurs twice"),
        ({"channels": [{"channelId": "webhook", "priority": 1}]}, "config.url"),
        ({"channels": [{"channelId": "email", "priority": 1, "config": {"subject": "$"}}]}, "$$"),
        ({"filterChain": {"filters": ["astrology"]}}, "unknown filter astrology; the filters are eligibility"),
        ({"filterChain": {"filters": ["frequency"], "settings": {"frequency": {"days": 400}}}}, "frequency: days"),
        ({"filterChain": {"filters": ["eligibility"], "settings": {"eligibility": {"rule": "age > 3"}}}}, "rule"),
        ({"filterChain": {"filters": [], "settings": {"frequency": {}}}}, "not one of the filters"),
        ({"batchSchedule": "every day"}, "cron"),
        ({"batchSchedule": "0 0 2 * * *"}, "five fields"),
        ({"batchSchedule": "@daily"}, "five fields"),
        ({"deliverySchedule": "0 0 31 2 *"}, "cron"),
        ({"timeZone": "Mars/Olympus"}, "time zone"),
        ({"timeZone": "posixrules"}, "time zone"),
        ({"timeZone": "localtime"}, "time zone"),
        ({"timeZone": "Factory"}, "time zone"),
        ({"timeZone": "europe/rome"}, "time zone"),
        ({"timeZone": "../Europe/Rome"}, "time zone"),
        ({"timeZone": "a\x00b"}, "time zone"),
        ({"candidateTTLDays": 0}, "candidateTTLDays"),
        ({"dataConnectors": [], "batchSchedule": "0 2 * * *"}, "needs a data connector"),
        ({"dataConnectors": [{"type": "ftp", "query": "x"}]}, "dataConnectors"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_and_named(
    served: Served, admin: httpx.Client, changes: dict[str, Any], told: str
) -> None:
    answer = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=program(**changes))
    assert answer.status_code in (400, 422), answer.text
    assert told in answer.json()["detail"]


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(
    ("tables", "query", "told"),
    [
        ({"c": "../secrets.json"}, "SELECT 1", "folder of sources"),
        ({"c": "/etc/passwd.csv"}, "SELECT 1", "folder of sources"),
        ({"c": "customers.json"}, "SELECT 1", "neither .csv nor .parquet"),
        ({"c": "customers.csv"}, "DROP TABLE c", "one SELECT"),
        ({"c": "customers.csv"}, "SELECT 1; SELECT 2", "one SELECT"),
        ({"c": "customers.csv"}, "SELECT FROM WHERE", "cannot be parsed"),
        ({"c": "customers.csv"}, "COPY c TO 'x.csv'", "one SELECT"),
        ({"Who": "a.csv", "who": "b.csv"}, "SELECT * FROM who", "Who and who are the same name"),
    ],
)
def test_a_query_reads_files_of_the_folder_and_does_nothing_else(
    served: Served, admin: httpx.Client, tables: dict[str, str], query: str, told: str
) -> None:
    body = program(dataConnectors=[{"type": "files", "tables": tables, "query": query}])
    answer = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=body)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/invalid")
    assert told in answer.json()["detail"]


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize("file", ["a\x00b.csv", "a\nb.csv", "*.csv", "c?.csv", "[ab].csv", "x" * 300 + ".csv", ""])
def test_the_name_of_a_file_is_checked_and_named(served: Served, admin: httpx.Client, file: str) -> None:
    body = program(dataConnectors=[{"type": "files", "tables": {"c": file}, "query": "SELECT * FROM c"}])
    answer = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=body)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-request"), answer.text
    assert "dataConnectors.0.files.tables.c" in answer.json()["detail"]


@pytest.mark.requirement("CE6")
def test_a_file_s_name_has_as_many_bytes_as_a_disk_takes(served: Served, admin: httpx.Client) -> None:
    body = program(dataConnectors=[{"type": "files", "tables": {"c": "ü" * 150 + ".csv"}, "query": "SELECT * FROM c"}])
    answer = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, "dataConnectors.0.tables")


@pytest.mark.requirement("CE6")
def test_a_query_has_no_characters_that_cannot_be_seen(served: Served, admin: httpx.Client) -> None:
    for query in ("SELECT * FROM c \x00 AND more", "SELECT *\x1b FROM c"):
        body = program(dataConnectors=[{"type": "files", "tables": {"c": "customers.csv"}, "query": query}])
        answer = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=body)
        assert answer.status_code == 422
        assert "dataConnectors.0.files.query" in answer.json()["detail"]
    body = program(
        dataConnectors=[{"type": "files", "tables": {"c": "customers.csv"}, "query": "SELECT *\r\n\tFROM c"}]
    )
    assert admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=body).status_code == 200


@pytest.mark.requirement("CE6")
def test_a_program_has_versions_and_a_change_of_an_old_one_is_refused(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin)
    second = admin.put(made.path, json={**made.body, "programName": "Second", "version": 3})
    assert second.json()["version"] == 4
    stale = admin.put(made.path, json={**made.body, "programName": "Third", "version": 3})
    assert (stale.status_code, stale.json()["type"]) == (409, "/problems/conflict")
    again = admin.put(made.path, json={**made.body, "version": 0})
    assert again.status_code == 409
    versions = admin.get(f"{made.path}/versions").json()["versions"]
    assert [(each["number"], each["step"], each["configuration"]["programName"]) for each in versions] == [
        (4, "edited", "Second"),
        (3, "approved", "A program"),
        (2, "requested", "A program"),
        (1, "edited", "A program"),
    ]
    assert [each["changedBy"] for each in versions] == ["root", "vera", "root", "root"]
    assert admin.get(f"{made.path}/versions/3").json() == versions[1]
    assert [admin.get(f"{made.path}/versions/{number}").status_code for number in (9, 10**8 - 1, 10**8)] == [
        404,
        404,
        422,
    ]


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize("version", [True, "1", 1.5])
def test_a_version_is_a_number_and_nothing_similar(served: Served, admin: httpx.Client, version: Any) -> None:
    made = Programme(served, admin)
    assert admin.put(made.path, json={**made.body, "version": version}).status_code == 422
    assert admin.get(made.path).json()["version"] == 3
    assert admin.post(f"{made.path}/deliveries", json={"limit": True}).status_code == 422


@pytest.mark.requirement("CE6")
def test_a_program_is_disabled_and_enabled(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, reactiveEnabled=True)
    assert admin.post(f"{made.path}/disable").json()["enabled"] is False
    assert admin.post(f"{made.path}/runs").status_code == 409
    assert admin.post(f"{made.path}/deliveries", json={}).status_code == 409
    event = {"marketplaceId": "US", "programId": made.id, "customerId": "c-1"}
    assert admin.post("/events", json=event).status_code == 409
    assert admin.post(f"{made.path}/enable").json()["enabled"] is True
    assert admin.post("/events", json={**event, "attributes": {"points": 1}}).status_code == 200
    assert admin.post(f"/programs/{new_id('p')}/marketplaces/US/enable").status_code == 404


@pytest.mark.requirement("CE6")
def test_a_program_that_is_no_longer_valid_can_be_disabled(tmp_path: Path) -> None:
    """What may be called has changed since; nothing else can be done with the program until it is put right."""
    models = [{"modelId": "remote", "endpoint": "http://127.0.0.1:9/score", "weight": 1}]
    with serving(load("engagement"), data=tmp_path, outbound_hosts=["127.0.0.1"]) as served:
        made = Programme(served, served.client("root", "Admins", path="/engagement"), scoringModels=models)
    with serving(load("engagement"), data=tmp_path) as served:
        admin = served.client("root", "Admins", path="/engagement")
        disabled = admin.post(f"{made.path}/disable")
        assert (disabled.status_code, disabled.json()["enabled"], disabled.json()["version"]) == (200, False, 4)
        assert admin.get(made.path).json() == disabled.json()
        versions = admin.get(f"{made.path}/versions").json()["versions"]
        enabled = [(each["number"], each["configuration"]["enabled"]) for each in versions]
        assert enabled == [(4, False), (3, True), (2, False), (1, False)]
        assert admin.post(f"{made.path}/enable").status_code == 422


@pytest.mark.requirement("CE6")
def test_a_program_is_disabled_despite_concurrent_changes(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin)

    def change(number: int) -> int:
        if number:
            return admin.put(made.path, json={**made.body, "programName": f"Name {number}"}).status_code
        return admin.post(f"{made.path}/disable").status_code

    assert at_once(4, change)[0] == 200


@pytest.mark.requirement("CE6")
def test_the_programs_of_a_marketplace_are_listed_by_a_query(served: Served, admin: httpx.Client) -> None:
    marketplace = new_id("M")
    names = [f"p{number}" for number in range(5)]
    for name in reversed(names):
        assert admin.put(f"/programs/{name}/marketplaces/{marketplace}", json=program()).status_code == 200
    scans = _scans(served)
    found: list[str] = []
    cursor: str | None = None
    while True:
        params: dict[str, Any] = {"limit": 2, **({} if cursor is None else {"cursor": cursor})}
        page = admin.get(f"/marketplaces/{marketplace}/programs", params=params).json()
        found += [each["programId"] for each in page["programs"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == names
    assert _scans(served) == scans


def _scans(served: Served) -> float:
    found = served.runtime.metrics.registry.get_sample_value("dynamodb_request_seconds_count", {"operation": "Scan"})
    return found or 0.0


def test_members_look_and_admins_configure(served: Served, admin: httpx.Client, member: httpx.Client) -> None:
    made = Programme(served, admin)
    assert member.get(made.path).status_code == 200
    assert member.put(made.path, json=made.body).status_code == 403
    assert member.post(f"{made.path}/runs").status_code == 403
