"""Each system, deployed by its stack: its story through API Gateway's events, its consumers on records of the stream.

Every function runs behind Lambda's runtime interface with the role that the stack gives it, which is enforced.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tablewright.systems import NAMES
from tests.deploy.deployed import ENVIRONMENT, Deployed, deployed
from tests.deploy.moto_account import client, unknown_types
from tests.deploy.stacks import stack
from tests.systems.harness import wait_for
from tests.systems.policy_stories import STORIES, administration, ok
from tests.systems.tasks.team import Team

pytestmark = pytest.mark.requirement("SH3")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"
READ_SECRET = "secretsmanager:GetSecretValue"
INTERNAL = f"{ENVIRONMENT}-tablewright-internal"


# Each starts a dozen processes.
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_system_s_story_runs_on_its_functions_under_their_roles(name: str, tmp_path: Path) -> None:
    with deployed(name, tmp_path) as made:
        assert made.served.client().get("/readyz").json() == {"status": "ready", "failing": {}}
        STORIES[name](made.served)
        administration(made.served)
        admin = made.served.client("rita", "Admins")
        for refused in (admin.get("/runtime/privacy"), admin.post("/runtime/privacy/nina/erase")):
            assert (refused.status_code, refused.json()["type"]) == (501, "/problems/not-offered")
        events = admin.get(f"/runtime/events/{name}")
        assert events.status_code == (200 if made.needs.publishes_events else 404), events.text
        assert made.proxy.denied == []
        assert made.account_proxy.denied == []


def mail_records(made: Deployed, state: str) -> list[dict[str, Any]]:
    found = made.engine.call("Scan", {"TableName": INTERNAL})["Items"]
    return [each for each in found if each["PK"]["S"].startswith("MAIL#") and each.get("state") == {"S": state}]


@pytest.mark.slow
def test_mail_goes_out_by_ses_bounces_are_recorded_events_reach_the_bus_and_what_fails_is_kept(tmp_path: Path) -> None:
    with deployed("tasks", tmp_path) as made:
        # The first turn takes the bucket, which is empty.
        assert made.local.functions.call("tasks.orphans schedule", {}, 900) == {}
        STORIES["tasks"](made.served)
        # Mail about the assignment, sent by a function that reads the stream of events.
        sent = wait_for(lambda: mail_records(made, "sent"))[0]
        statistics = client(made.account, "ses").get_send_statistics()["SendDataPoints"]
        assert sum(each["DeliveryAttempts"] for each in statistics) >= 1
        record = f"{sent['event_id']['S']}.{sent['recipient']['S']}"
        bounce = {"bounceType": "Permanent", "bounceSubType": "NoEmail"}
        for kind, detail in (("Delivery", {}), ("Bounce", {"bounce": {**bounce, "bounceType": "Transient"}})):
            assert made.local.functions.call("Bounces", notice(kind, record, **detail)) == {}
        assert mail_records(made, "refused") == []
        assert made.local.functions.call("Bounces", notice("Bounce", record, bounce=bounce)) == {}
        (refused,) = mail_records(made, "refused")
        assert refused["reason"] == {"S": "bounced: NoEmail"}
        assert made.local.functions.call("Bounces", notice("Bounce", "nobody.knows", bounce=bounce)) == {}
        # A turn of the schedule, with nothing to do.
        assert made.local.functions.call("tasks.mail-retries schedule", {}) == {}
        # A change that cannot be read is a dead letter, which an administrator sees; what follows is handled.
        table = f"{ENVIRONMENT}-TaskManagement"
        task = next(
            each
            for each in made.engine.call("Scan", {"TableName": table})["Items"]
            if each.get("EntityType") == {"S": "TASK"}
        )
        made.engine.call("PutItem", {"TableName": table, "Item": {**task, "Status": {"N": "1"}}})
        root = made.served.client("root", "Admins")

        def dead() -> dict[str, int]:
            found = {each["name"]: each["dead_letters"] for each in ok(root.get("/runtime/consumers"))}
            return found if found["tasks.events"] else {}

        found = wait_for(dead)
        assert found["tasks.events"] == 1
        assert (found["tasks.mail"], found["runtime.event-bridge"]) == (0, 0)
        assert made.proxy.denied == []
        assert made.account_proxy.denied == []
        used = {
            each.name: {action for action, _ in made.account_proxy.used_by(made.key(each))} - {READ_SECRET}
            for each in made.needs.functions
        }
        assert {name: actions for name, actions in used.items() if actions} == {
            "Api": {"s3:GetObject", "s3:PutObject"},
            "tasks.mail consumer": {"ses:SendRawEmail"},
            "tasks.orphans schedule": {"s3:ListBucket", "s3:PutObject"},
            "runtime.event-bridge consumer": {"events:PutEvents"},
        }


def notice(kind: str, record: str, **detail: Any) -> dict[str, Any]:
    """What SNS hands to a function about mail."""
    message = {"eventType": kind, "mail": {"tags": {"tablewright-record": [record]}}, **detail}
    return {"Records": [{"EventSource": "aws:sns", "Sns": {"Message": json.dumps(message)}}]}


@pytest.mark.slow
def test_a_function_without_a_permission_of_its_role_fails_and_says_so(tmp_path: Path) -> None:
    with deployed("calls", tmp_path) as made:
        made.proxy.attach(made.key(made.needs.api), {"Version": "2012-10-17", "Statement": []})
        assert made.served.client().get("/readyz").json()["failing"] == {"database": "access denied"}


@pytest.mark.slow
def test_a_function_without_a_permission_on_the_bucket_takes_no_file(tmp_path: Path) -> None:
    with deployed("tasks", tmp_path) as made:
        team = Team(made.served)
        place = f"/tasks/{team.task()}/attachments"
        file = {"name": "a", "content": base64.b64encode(b"x" * 600_000).decode()}
        assert team.admin.post(place, json=file).status_code == 201
        key = made.key(made.needs.api)
        made.account_proxy.attach(key, {"Version": "2012-10-17", "Statement": []})
        assert team.admin.post(place, json=file).status_code == 503
        # The second is for what the first may have left.
        assert [(who, action) for who, action, _ in made.account_proxy.denied] == [
            (key, "s3:PutObject"),
            (key, "s3:DeleteObject"),
        ]
        assert len(ok(team.admin.get(place))["attachments"]) == 1


def test_the_page_lists_what_the_proof_leaves_out() -> None:
    left_out = {kind for name in NAMES for kind in unknown_types(stack(name).template)}
    page = PAGE.read_text("utf-8")
    assert sorted(kind for kind in left_out if f"`{kind}`" not in page) == []
