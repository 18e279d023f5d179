"""Policies of roles: what they allow, and what they deny."""

from typing import Annotated, Any

import pytest

from tablewright.design import iam
from tablewright.design.design_loading import DesignError, load
from tablewright.design.iam import Tenant
from tablewright.design.iam.maintenance_grants import of_maintenance
from tablewright.design.iam.policy_evaluation import is_allowed
from tablewright.model import (
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Projection,
    Query,
    RetiredEntity,
    Table,
    Unique,
    Write,
    sharded,
)
from tests.design import models
from tests.design.subjects import CHECKPOINT_TABLE, DESIGNS
from tests.model.seed_designs import CALLS, TICKETS, Candidate

ACCOUNT = "123456789012"
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table"

# Everything that can be asked of a table, an index or a stream.
ACTIONS = [
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
    "dynamodb:CreateBackup",
    "dynamodb:CreateTable",
    "dynamodb:DeleteItem",
    "dynamodb:DeleteTable",
    "dynamodb:DescribeStream",
    "dynamodb:DescribeTable",
    "dynamodb:DescribeTimeToLive",
    "dynamodb:ExportTableToPointInTime",
    "dynamodb:GetItem",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
    "dynamodb:ListTables",
    "dynamodb:PartiQLDelete",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLSelect",
    "dynamodb:PartiQLUpdate",
    "dynamodb:PutItem",
    "dynamodb:PutResourcePolicy",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:TagResource",
    "dynamodb:UpdateContinuousBackups",
    "dynamodb:UpdateItem",
    "dynamodb:UpdateTable",
    "dynamodb:UpdateTimeToLive",
]


def policy(design: Design, role: str, tenant: Tenant | None = None) -> dict[str, Any]:
    return iam.document(iam.grants(design, role, tenant), iam.arns("us-east-1", ACCOUNT))


def allowed(document: dict[str, Any], resource: str, context: dict[str, Any] | None = None) -> set[str]:
    return {action.partition(":")[2] for action in ACTIONS if is_allowed(document, action, resource, context)}


# -- the Service Desk -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("SD9")
def test_the_service_desk_s_api_may_do_exactly_this() -> None:
    (design,) = load("tablewright.systems.servicedesk")
    document = policy(design, "api")
    table = f"{TABLE}/poc-itsm-tickets"
    assert allowed(document, table) == {"PutItem", "GetItem", "UpdateItem", "Query"}
    assert allowed(document, f"{table}/index/CallerIdIndex") == {"Query"}
    assert "*" not in str(document)
    assert all(statement["Effect"] == "Allow" for statement in document["Statement"])


@pytest.mark.requirement("SD9")
@pytest.mark.parametrize(
    "resource",
    [
        f"{TABLE}/prod-itsm-tickets",
        f"{TABLE}/poc-itsm-tickets-archive",
        f"{TABLE}/poc-itsm-tickets/index/OtherIndex",
        f"{TABLE}/poc-itsm-tickets/stream/2026-01-15T09:30:00.000",
        f"{TABLE}/poc-itsm-tickets/backup/01489602797149-73d8d5bc",
        f"arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/poc-itsm-tickets",
        "arn:aws:dynamodb:us-east-1:210987654321:table/poc-itsm-tickets",
        "*",
    ],
)
def test_the_service_desk_s_api_may_do_nothing_elsewhere(resource: str) -> None:
    (design,) = load("tablewright.systems.servicedesk")
    assert allowed(policy(design, "api"), resource) == set()


# -- all designs ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("name", DESIGNS)
def test_no_policy_has_a_wildcard_or_an_action_of_an_administrator(name: str) -> None:
    design = DESIGNS[name]
    # Those whose work is the whole of a table.
    scanning = {iam.MAINTENANCE, *(each.consumer for each in design.reactions if each.effect == "export")}
    maintenance = iam.all_grants(design, CHECKPOINT_TABLE, [iam.MAINTENANCE])
    for role, grants in {**iam.all_grants(design, CHECKPOINT_TABLE), **maintenance}.items():
        document = iam.document(grants, iam.arns("us-east-1", ACCOUNT))
        for statement in document["Statement"]:
            if statement["Action"] == ["dynamodb:ListBackups"]:
                # It has no resource in IAM, and is needed to know which blobs a restore may need.
                assert (role, statement["Resource"]) == (iam.MAINTENANCE, ["*"])
                continue
            assert "*" not in str(statement["Action"]) + str(statement["Resource"])
            assert set(statement) - {"Condition"} == {"Sid", "Effect", "Action", "Resource"}
            assert ("Condition" in statement) == (role in design.tenants)
            assert statement["Sid"].isalnum()
            for resource in statement["Resource"]:
                refused = {"CreateTable", "DeleteTable", "UpdateTable", "PutResourcePolicy", "ListStreams"}
                assert not allowed(document, resource) & (refused if role in scanning else {*refused, "Scan"})


@pytest.mark.parametrize("name", DESIGNS)
def test_sids_are_distinct(name: str) -> None:
    for grants in iam.all_grants(DESIGNS[name], CHECKPOINT_TABLE).values():
        sids = [each["Sid"] for each in iam.document(grants, iam.arns("us-east-1", ACCOUNT))["Statement"]]
        assert len(set(sids)) == len(sids)


@pytest.mark.requirement("X3")
def test_a_reader_may_not_write_and_a_writer_may_not_read() -> None:
    roles = {"reader": ["Order.by_id", "Order.in_state"], "writer": ["remark"]}
    design = Design("Orders", tables=[models.orders], writes=models.WRITES, roles=roles)
    table = f"{TABLE}/Orders"
    assert allowed(policy(design, "reader"), table) == {"GetItem"}
    assert allowed(policy(design, "reader"), f"{table}/index/byState") == {"Query"}
    assert allowed(policy(design, "reader"), f"{table}/index/byShop") == set()
    assert allowed(policy(design, "writer"), table) == {"UpdateItem"}
    assert allowed(policy(design, "writer"), f"{table}/index/byState") == set()


def test_a_query_on_the_table_comes_with_get_only_where_it_reads_no_more() -> None:
    roles = {"api": ["Order.by_id", "Order.in_state"]}
    with_sort_key = Design("Orders", tables=[models.orders], roles=roles)
    assert allowed(policy(with_sort_key, "api"), f"{TABLE}/Orders") == {"GetItem"}


@pytest.mark.requirement("X3")
def test_a_consumer_reads_one_stream_and_writes_its_checkpoints() -> None:
    document = iam.document(
        iam.all_grants(models.design, CHECKPOINT_TABLE)["consumer"],
        iam.arns("us-east-1", ACCOUNT, stream_labels={"Orders": "2026-01-15T09:30:00.000"}),
    )
    stream = f"{TABLE}/Orders/stream/2026-01-15T09:30:00.000"
    assert allowed(document, stream) == {"DescribeStream", "GetShardIterator", "GetRecords"}
    assert allowed(document, f"{TABLE}/Orders/stream/2025-01-01T00:00:00.000") == set()
    assert allowed(document, f"{TABLE}/Orders") == {"DescribeTable"}
    assert allowed(document, f"{TABLE}/tablewright-internal") == {
        "Query",
        "GetItem",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
    }


def test_notes_are_never_in_the_table_whose_stream_is_read() -> None:
    with pytest.raises(
        DesignError, match=r"consumers of Orders need another table for their checkpoints.* --checkpoints"
    ):
        iam.all_grants(models.design)
    with pytest.raises(DesignError, match=r"cannot be in Orders, which has their stream; .* --checkpoints"):
        iam.all_grants(models.design, models.orders)
    with pytest.raises(DesignError, match="cannot be in Single, which has a key other than two parts of text"):
        iam.all_grants(models.design, Table("Single", "PK"))


def test_notes_are_in_another_table_of_the_design_where_there_is_one() -> None:
    numbers = Table("Numbers", "PK", "SK", types={"SK": "N"})
    other = Table("Other", "PK", "SK")
    design = Design("Orders", tables=[models.orders, numbers, other], reactions=models.design.reactions)
    document = iam.document(iam.all_grants(design)["consumer"], iam.arns("us-east-1", ACCOUNT))
    assert allowed(document, f"{TABLE}/Orders") == {"DescribeTable"}
    assert "UpdateItem" in allowed(document, f"{TABLE}/Other")


def test_a_consumer_without_a_place_for_its_notes_is_no_matter_of_other_roles() -> None:
    assert list(iam.all_grants(models.design, roles=["api"])) == ["api"]


def test_a_stream_without_a_label_is_no_stream_at_all() -> None:
    document = iam.document(iam.all_grants(models.design, CHECKPOINT_TABLE)["consumer"], iam.arns("us-east-1", ACCOUNT))
    assert allowed(document, f"{TABLE}/Orders/stream/2026-01-15T09:30:00.000") == set()


def test_policies_follow_the_environment() -> None:
    (design,) = load("tablewright.systems.servicedesk")
    document = iam.document(iam.grants(design, "api"), iam.arns("eu-west-1", ACCOUNT, environment="dev"))
    assert allowed(document, f"arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/dev-itsm-tickets")
    assert not allowed(document, f"arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/poc-itsm-tickets")


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(DesignError, match="Orders has no role 'apis'; it has api"):
        iam.grants(models.design, "apis")


# -- tenants --------------------------------------------------------------------------------------------------------

SUPPORT = Design("Support", tables=[TICKETS], roles={"customer": ["Ticket.of_customer"], "by id": ["Ticket.by_id"]})
CUSTOMER_INDEX = f"{TABLE}/prod-tickets-unified/index/GSI1-customer-index"


def of_tenant(customer: str, *keys: str) -> dict[str, Any]:
    return {"aws:PrincipalTag/customer_id": customer, "dynamodb:LeadingKeys": list(keys)}


@pytest.mark.requirement("X3")
def test_a_tenant_reads_its_own_partition_and_no_other() -> None:
    document = policy(SUPPORT, "customer", Tenant("customer_id"))
    assert allowed(document, CUSTOMER_INDEX, of_tenant("c-1", "CUSTOMER#c-1")) == {"Query"}
    assert allowed(document, CUSTOMER_INDEX, of_tenant("c-1", "CUSTOMER#c-2")) == set()
    assert allowed(document, CUSTOMER_INDEX, of_tenant("c-1", "CUSTOMER#c-1", "CUSTOMER#c-2")) == set()
    assert allowed(document, CUSTOMER_INDEX, of_tenant("c-1", "CUSTOMER#c-11")) == set()
    assert allowed(document, CUSTOMER_INDEX, of_tenant("c", "CUSTOMER#c-1")) == set()
    assert allowed(document, f"{TABLE}/prod-tickets-unified", of_tenant("c-1", "CUSTOMER#c-1")) == set()


@pytest.mark.requirement("X3")
def test_a_tenant_s_request_without_a_key_is_denied() -> None:
    document = policy(SUPPORT, "customer", Tenant("customer_id"))
    assert allowed(document, CUSTOMER_INDEX, {"aws:PrincipalTag/customer_id": "c-1"}) == set()
    assert allowed(document, CUSTOMER_INDEX, of_tenant("c-1")) == set()


def test_a_caller_who_is_no_tenant_is_denied() -> None:
    document = policy(SUPPORT, "customer", Tenant("customer_id"))
    assert allowed(document, CUSTOMER_INDEX, {"dynamodb:LeadingKeys": ["CUSTOMER#"]}) == set()


def test_the_variable_can_be_chosen() -> None:
    document = policy(SUPPORT, "customer", Tenant("customer_id", "${cognito-identity.amazonaws.com:sub}"))
    (statement,) = document["Statement"]
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:LeadingKeys": ["CUSTOMER#${cognito-identity.amazonaws.com:sub}"]
    }
    context = {"cognito-identity.amazonaws.com:sub": "u-7", "dynamodb:LeadingKeys": ["CUSTOMER#u-7"]}
    assert allowed(document, CUSTOMER_INDEX, context) == {"Query"}


def test_what_has_no_tenant_in_its_key_cannot_be_limited() -> None:
    with pytest.raises(DesignError, match=r"Ticket\.by_id cannot be limited to a tenant: its partition key"):
        iam.grants(SUPPORT, "by id", Tenant("customer_id"))


def test_a_field_that_is_the_key_is_the_tenant_itself() -> None:
    design = Design("Calls", tables=[CALLS], roles={"user": ["Call.of_user", "Call.by_key"]})
    document = policy(design, "user", Tenant("user_id"))
    own = {"aws:PrincipalTag/user_id": "u-1", "dynamodb:LeadingKeys": ["u-1"]}
    assert allowed(document, f"{TABLE}/Calls", own) == {"GetItem", "Query"}
    assert allowed(document, f"{TABLE}/Calls", {**own, "dynamodb:LeadingKeys": ["u-2"]}) == set()


def test_fixed_values_are_part_of_the_key() -> None:
    design = Design("Calls", tables=[CALLS], roles={"user": ["Call.upcoming"]})
    document = policy(design, "user", Tenant("user_id"))
    index = f"{TABLE}/Calls/index/byUserStatus"
    for key, expected in (("u-1#SCHEDULED", {"Query"}), ("u-1#COMPLETED", set()), ("u-2#SCHEDULED", set())):
        assert allowed(document, index, {"aws:PrincipalTag/user_id": "u-1", "dynamodb:LeadingKeys": [key]}) == expected


def test_a_key_that_goes_on_behind_the_tenant_is_matched_by_its_beginning() -> None:
    design = Design("E", tables=[Candidate.schema_.table], roles={"customer": ["Candidate.by_subject"]})
    document = policy(design, "customer", Tenant("customer_id"))
    table = f"{TABLE}/Candidates"
    own = "CUSTOMER#c-1#PROGRAM#retail#MARKETPLACE#US"
    assert allowed(document, table, of_tenant("c-1", own)) == {"GetItem"}
    assert allowed(document, table, of_tenant("c-1", "CUSTOMER#c-11#PROGRAM#retail#MARKETPLACE#US")) == set()
    # A star in the tenant's name is a star, and no wildcard.
    assert allowed(document, table, of_tenant("*", own)) == set()


notes = Table("Notes", "PK", "SK", indexes=[GlobalIndex("byOwner", "GSI1PK", "SK", include=["title"])])


class Note(Entity, table=notes):
    owner: str
    note_id: str
    title: str = ""

    keys = Keys(PK="OWNER#{owner}", SK="NOTE#{note_id}", GSI1PK=sharded("OWNER#{owner}", 3))

    @Get(many=True)
    def by_id(self, owner: str, note_id: str) -> None: ...

    @Query("byOwner")
    def of_owner(self, owner: str) -> None: ...


class NoteTitle(Projection[Note]):
    title: str

    @Query("byOwner")
    def titles(self, owner: str) -> None: ...


class Tag(Entity, table=notes):
    owner: str
    name: Annotated[str, Unique()]

    keys = Keys(PK="OWNER#{owner}", SK="TAG#{name}")


NOTES = Design(
    "Notes",
    tables=[notes],
    writes=[Write("add", ItemWrite(Note, "create")), Write("tag", ItemWrite(Tag, "create"))],
    roles={"owner": ["Note.by_id", "NoteTitle.titles", "add"], "all": ["Note.of_owner"], "tagger": ["tag"]},
)


def test_all_shards_are_the_tenant_s() -> None:
    document = policy(NOTES, "owner", Tenant("owner"))
    for key, expected in (("OWNER#o#0", {"Query"}), ("OWNER#o#2", {"Query"}), ("OWNER#o#3", set()), ("OWNER#o", set())):
        context = {"aws:PrincipalTag/owner": "o", "dynamodb:LeadingKeys": [key]}
        assert allowed(document, f"{TABLE}/Notes/index/byOwner", context) == expected


def test_while_items_move_to_other_shards_all_of_both_are_the_tenant_s() -> None:
    moving = Table("Moving", "PK", indexes=[GlobalIndex("byOwner", "GSI1PK")])

    class Moved(Entity, table=moving):
        owner: str
        id: str

        keys = Keys(PK="{id}", GSI1PK=sharded("OWNER#{owner}", 3, was=1))

        @Query("byOwner")
        def of_owner(self, owner: str) -> None: ...

    design = Design("Moving", tables=[moving], roles={"owner": ["Moved.of_owner"]})
    (grant,) = iam.grants(design, "owner", Tenant("owner", "${o}"))
    assert grant.leading == ("OWNER#${o}", "OWNER#${o}#0", "OWNER#${o}#1", "OWNER#${o}#2")


def test_a_tenant_may_write_its_own_items() -> None:
    document = policy(NOTES, "owner", Tenant("owner"))
    own = {"aws:PrincipalTag/owner": "o", "dynamodb:LeadingKeys": ["OWNER#o"]}
    assert allowed(document, f"{TABLE}/Notes", own) == {"GetItem", "BatchGetItem", "PutItem"}
    assert allowed(document, f"{TABLE}/Notes", {**own, "dynamodb:LeadingKeys": ["OWNER#o", "OWNER#p"]}) == set()


def test_what_reaches_beyond_the_tenant_cannot_be_limited() -> None:
    with pytest.raises(DesignError, match=r"items are read from the table as well \(the index lacks attributes\)"):
        iam.grants(NOTES, "all", Tenant("owner"))
    with pytest.raises(DesignError, match="guards and counters are shared by all tenants"):
        iam.grants(NOTES, "tagger", Tenant("owner"))
    with pytest.raises(DesignError, match="Note has no text field 'tenant'"):
        iam.grants(NOTES, "owner", Tenant("tenant"))


def test_a_role_that_may_do_nothing_has_no_policy() -> None:
    with pytest.raises(DesignError, match="IAM refuses one without statements"):
        iam.document([], iam.arns("us-east-1", "123456789012"))


def test_maintenance_may_replace_items_of_retired_entities() -> None:
    table = Table("Orders", "PK")

    class Order(Entity, table=table):
        order_id: str
        keys = Keys(PK="ORDER#{order_id}")

    design = Design("Shop", tables=[table])
    before = {grant.action for grant in of_maintenance(design)}

    class OrderBefore(RetiredEntity, Order):
        keys = Keys(PK="O#{order_id}")

    assert {grant.action for grant in of_maintenance(design)} - before == {
        "BatchGetItem",
        "ConditionCheckItem",
        "UpdateItem",
    }
    assert OrderBefore in table.retired
