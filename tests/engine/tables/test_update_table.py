"""UpdateTable: class, protection, encryption and stream, what the answer says and what is described afterwards."""

from __future__ import annotations

from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_requests import INVALID, NEW_IMAGE, create, describe, on_demand, refusal, update


def test_the_table_class_changes_after_the_answer(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    assert update(engine, TableClass="STANDARD")["TableStatus"] == "UPDATING"
    assert "TableClassSummary" not in describe(engine)
    told = update(engine, TableClass="STANDARD_INFREQUENT_ACCESS")
    assert "TableClassSummary" not in told
    assert describe(engine)["TableClassSummary"] == {
        "TableClass": "STANDARD_INFREQUENT_ACCESS",
        "LastUpdateDateTime": clock.now,
    }


def test_deletion_protection_changes_at_once(engine: Engine) -> None:
    create(engine, on_demand())
    told = update(engine, DeletionProtectionEnabled=True)
    assert (told["TableStatus"], told["DeletionProtectionEnabled"]) == ("ACTIVE", True)
    assert describe(engine)["DeletionProtectionEnabled"] is True


def test_encryption_is_switched_on_changed_and_off(engine: Engine) -> None:
    create(engine, on_demand())
    told = update(engine, SSESpecification={"Enabled": True})
    assert told["SSEDescription"]["Status"] == "UPDATING"
    first = describe(engine)["SSEDescription"]
    assert (first["Status"], first["SSEType"]) == ("ENABLED", "KMS")
    told = update(engine, SSESpecification={"SSEType": "KMS", "KMSMasterKeyId": "mine"})
    assert told["SSEDescription"] == {**first, "Status": "UPDATING"}
    arn = describe(engine)["SSEDescription"]["KMSMasterKeyArn"]
    assert arn == "arn:aws:kms:us-east-1:123456789012:key/mine"
    again = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn}
    assert refusal(lambda: update(engine, SSESpecification=again)) == (
        INVALID + "Table is already encrypted with given KMSMasterKeyId. "
        "Use KMSMasterKeyId parameter if you want to change Master Key"
    )
    update(engine, SSESpecification={"Enabled": False})
    assert "SSEDescription" not in describe(engine)
    message = refusal(lambda: update(engine, SSESpecification={"Enabled": False}))
    assert message == INVALID + "Table is already encrypted by default"


def test_a_stream_is_enabled_and_disabled(engine: Engine, clock: Clock) -> None:
    create(engine, on_demand())
    told = update(engine, StreamSpecification=NEW_IMAGE)
    assert (told["TableStatus"], told["StreamSpecification"]) == ("UPDATING", NEW_IMAGE)
    table = describe(engine)
    assert table["StreamSpecification"] == NEW_IMAGE
    assert table["LatestStreamArn"] == told["LatestStreamArn"]
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}}})
    assert engine.verify().stream_records == 1
    assert refusal(lambda: update(engine, StreamSpecification=NEW_IMAGE)) == (
        "Table already has an enabled stream: TableName: music"
    )
    told = update(engine, StreamSpecification={"StreamEnabled": False})
    assert "StreamSpecification" not in told
    table = describe(engine)
    assert "StreamSpecification" not in table
    assert table["LatestStreamArn"] == told["LatestStreamArn"]
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "b"}}})
    assert refusal(lambda: update(engine, StreamSpecification={"StreamEnabled": False})) == (
        "Table has no stream to disable: TableName: music"
    )
    clock.now += 1
    assert update(engine, StreamSpecification=NEW_IMAGE)["LatestStreamArn"] != table["LatestStreamArn"]
