"""The rules of a table's definition, in the order in which the service checks them.

``check_request`` has already refused violations of a member's own constraints (names, enumerations, lengths). These are
the rules between members: keys against attribute definitions, billing mode against throughput, indexes against the
table and against each other.

Only a global secondary index may have a key of several attributes: up to four HASH elements, then up to
four RANGE elements. Tables and local indexes have one of each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tablewright.dynamo import INVALID_VALUES, LimitExceededException, ValidationException
from tablewright.dynamo.expressions import spread_hash
from tablewright.dynamo.limits import (
    MAX_GLOBAL_INDEXES,
    MAX_KEY_ATTRIBUTES,
    MAX_LOCAL_INDEXES,
    MAX_PROJECTED_ATTRIBUTES,
    MAX_TAG_KEY_LENGTH,
    MAX_TAG_VALUE_LENGTH,
    MAX_TAGS,
)

ON_DEMAND = "PAY_PER_REQUEST"
PROVISIONED = "PROVISIONED"

# The default quotas of an account; DescribeLimits returns the same.
TABLE_CAPACITY = 40_000
MAX_CAPACITY = 1_000_000_000_000
_TAG_PUNCTUATION = frozenset("_.:/=+-@")
_ON_DEMAND_GUIDE = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)

Definition = Mapping[str, Any]


def invalid(message: str) -> ValidationException:
    return ValidationException(INVALID_VALUES + message)


def check_definition(request: Definition) -> None:
    """A CreateTable request, on its own."""
    billing = request.get("BillingMode", PROVISIONED)
    _check_billing(billing, request.get("ProvisionedThroughput"))
    attributes = [definition["AttributeName"] for definition in request["AttributeDefinitions"]]
    key = request["KeySchema"]
    _check_table_key(key, attributes)
    local, global_ = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    for member, given in (("LocalSecondaryIndexes", local), ("GlobalSecondaryIndexes", global_)):
        if given == []:
            raise invalid(f"List of {member} is empty")
    indexes = [*(local or ()), *(global_ or ())]
    _check_attributes_used(attributes, key, indexes)
    if local is not None:
        _check_local_indexes(local, key)
    for index in global_ or ():
        check_global_index(index)
        if billing == ON_DEMAND and "ProvisionedThroughput" in index:
            raise invalid(
                f"ProvisionedThroughput should not be specified for index: {index['IndexName']} "
                f"when BillingMode is {ON_DEMAND}"
            )
    _check_names(indexes)
    _check_counts(local or (), global_ or ())
    check_projected_total(indexes)
    for index in global_ or ():
        _check_index_capacity(index, billing)
    check_stream(
        request.get("StreamSpecification"),
        required="Table is being created with a stream enabled, UpdateViewType is required",
        refused="Table is being created with a stream disabled, UpdateViewType should not be specified",
    )
    check_on_demand_throughput(request.get("OnDemandThroughput"), billing)
    check_new_warm_throughput(request, billing)
    for index in global_ or ():
        check_on_demand_throughput(index.get("OnDemandThroughput"), billing, index["IndexName"])
        check_new_warm_throughput(index, billing, index["IndexName"])
    check_encryption(request.get("SSESpecification"))
    merged_tags({}, request.get("Tags", ()))
    _check_not_supported(request)


def _check_not_supported(request: Definition) -> None:
    for member in (
        "VectorIndexes",
        "GlobalTableSourceArn",
        "GlobalTableSettingsReplicationMode",
        "ResourcePolicy",
    ):
        if request.get(member):
            raise invalid(f"Tablewright does not support {member}")


# -- capacity ------------------------------------------------------------------------------------------------


def _check_billing(billing: str, throughput: Definition | None) -> None:
    if billing == ON_DEMAND:
        if throughput is not None:
            raise invalid(
                f"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is {ON_DEMAND}"
            )
    elif throughput is None:
        raise invalid(
            f"ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is {PROVISIONED}"
        )
    else:
        check_capacity_bounds(throughput)


def check_capacity_bounds(throughput: Definition) -> None:
    for member in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput[member] > MAX_CAPACITY:
            raise ValidationException(f"Given value {throughput[member]} for {member} is out of bounds")


def _check_index_capacity(index: Definition, billing: str) -> None:
    if billing == PROVISIONED:
        if "ProvisionedThroughput" not in index:
            raise invalid(f"ProvisionedThroughput is not specified for index: {index['IndexName']}")
        check_capacity_bounds(index["ProvisionedThroughput"])


def check_account_limits(holder: Definition, region: str, index: str | None = None) -> None:
    """The requested capacity of a table or an index against the account's quota."""
    throughput = holder.get("ProvisionedThroughput") or {}
    what, whose = (f" for index {index}", "per index") if index else ("", "per table")
    for member in ("ReadCapacityUnits", "WriteCapacityUnits"):
        if throughput.get(member, 0) > TABLE_CAPACITY:
            raise LimitExceededException(
                f"The requested {member}{what}, {throughput[member]}, is above the {whose} maximum for the "
                f"account in {region}. Per table maximum: {TABLE_CAPACITY}. Refer to the Amazon DynamoDB "
                "Developer Guide for current limits and how to request higher limits."
            )
    for kind, members, owner in (
        ("OnDemandThroughput", ("MaxReadRequestUnits", "MaxWriteRequestUnits"), f"index : {index}"),
        ("WarmThroughput", ("ReadUnitsPerSecond", "WriteUnitsPerSecond"), f"index {index}"),
    ):
        for member, dimension in zip(members, ("Read", "Write"), strict=True):
            if (holder.get(kind) or {}).get(member, 0) > TABLE_CAPACITY:
                raise LimitExceededException(
                    f"Subscriber limit exceeded: Requested {member} for {kind} for "
                    f"{owner if index else 'table'} exceeds TableMax{dimension}CapacityUnits of the account "
                    f"in region {region}"
                )


def check_on_demand_throughput(
    throughput: Definition | None, billing: str, index: str | None = None, *, update: bool = False
) -> None:
    """Ceilings of on-demand tables and indexes; in an update, -1 removes a ceiling."""
    if not throughput:
        return
    members = [m for m in ("MaxReadRequestUnits", "MaxWriteRequestUnits") if m in throughput]
    if billing == PROVISIONED:
        if update:
            what = f" for index : {index}" if index else ""
            raise invalid(
                f"{members[0]} for OnDemandThroughput{what} cannot be specified when the table "
                f"BillingMode is {PROVISIONED}"
            )
        what = f" for index: {index}" if index else ""
        raise invalid(
            f"{members[0]} for OnDemandThroughput{what} cannot be specified when table BillingMode is {PROVISIONED}."
        )
    owner = f"index : {index}" if index else "table"
    for member in members:
        if throughput[member] < 1 and not (update and throughput[member] == -1):
            raise invalid(f"Requested {member} for OnDemandThroughput for {owner} is outside of valid range")


def check_new_warm_throughput(holder: Definition, billing: str, index: str | None = None) -> None:
    """Warm throughput starts at what the table or index can serve anyway; less is refused."""
    owner = f"index {index}" if index else "table"
    least = least_warm_throughput(holder, billing)
    for member, capacity in (
        ("ReadUnitsPerSecond", "ReadCapacityUnits"),
        ("WriteUnitsPerSecond", "WriteCapacityUnits"),
    ):
        if (holder.get("WarmThroughput") or {}).get(member, least[member]) < least[member]:
            reason = (
                f"initial throughput for OnDemand. See: {_ON_DEMAND_GUIDE}"
                if billing == ON_DEMAND
                else f"{capacity} of ProvisionedThroughput"
            )
            raise invalid(f"Requested {member} for WarmThroughput for {owner} is lower than {reason}")


def least_warm_throughput(holder: Definition, billing: str) -> dict[str, int]:
    if billing == ON_DEMAND:
        return {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}
    throughput = holder["ProvisionedThroughput"]
    return {
        "ReadUnitsPerSecond": throughput["ReadCapacityUnits"],
        "WriteUnitsPerSecond": throughput["WriteCapacityUnits"],
    }


# -- keys ----------------------------------------------------------------------------------------------------


def key_names(key: Iterable[Definition]) -> list[str]:
    return [element["AttributeName"] for element in key]


def _check_table_key(key: Sequence[Definition], attributes: Sequence[str]) -> None:
    names = key_names(key)
    if len(names) > len(attributes):
        raise ValidationException("Invalid KeySchema: Some index key attribute have no definition")
    seen: set[str] = set()
    for name in attributes:
        if name in seen:
            raise ValidationException(f"Attribute Name is duplicated: {name}")
        seen.add(name)
    check_defined(names, attributes)
    _check_key_structure(key)


def _check_key_structure(key: Sequence[Definition]) -> None:
    """The key of a table or a local index: a HASH element, then perhaps a RANGE element."""
    _check_two_names(key)
    if key[0]["KeyType"] != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(key) == 2 and key[1]["KeyType"] != "RANGE":
        raise ValidationException("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")


def _check_global_key_structure(key: Sequence[Definition]) -> None:
    """The key of a global index: one to four HASH elements, then up to four RANGE elements."""
    kinds = [element["KeyType"] for element in key]
    _check_two_names(key)
    if kinds[0] != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if kinds != sorted(kinds):
        raise invalid("All HASH key attributes must precede RANGE key attributes in the KeySchema")
    for kind in ("HASH", "RANGE"):
        if kinds.count(kind) > MAX_KEY_ATTRIBUTES:
            raise invalid(f"The KeySchema exceeds the maximum allowed number of {kind} key attributes")
    if len(set(key_names(key))) < len(key):
        raise ValidationException("The KeySchema contains multiple key attributes with the same name")


def _check_two_names(key: Sequence[Definition]) -> None:
    if len(key) == 2 and key[0]["AttributeName"] == key[1]["AttributeName"]:
        raise ValidationException("Both the Hash Key and the Range Key element in the KeySchema have the same name")


def check_defined(names: Sequence[str], attributes: Sequence[str]) -> None:
    if not set(names) <= set(attributes):
        raise invalid(
            "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{_in_map_order(attributes)}]"
        )


def _check_attributes_used(
    attributes: Sequence[str], table_key: Sequence[Definition], indexes: Sequence[Definition]
) -> None:
    """Exactly the attributes that some key has are defined."""
    used = key_names(table_key)
    for index in indexes:
        names = key_names(index["KeySchema"])
        check_defined(names, attributes)
        used += names
    if len(attributes) == len(set(used)):
        return
    if not indexes:
        raise invalid(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        )
    raise invalid(
        f"Some AttributeDefinitions are not used. AttributeDefinitions: [{_in_map_order(attributes)}], "
        f"keys used: [{_in_set_order(used)}]"
    )


# The service prints these names in the order of its hash tables. One is made for
# as many names as there are, the other grows from 16 buckets.


def _in_map_order(names: Sequence[str]) -> str:
    return _in_bucket_order(names, len(names) + 1 if len(names) < 3 else int(len(names) / 0.75 + 1))


def _in_set_order(names: Sequence[str]) -> str:
    return _in_bucket_order(names, max(16, -(-len(set(names)) * 4 // 3)))


def _in_bucket_order(names: Sequence[str], capacity: int) -> str:
    buckets = 1 << (capacity - 1).bit_length()
    return ", ".join(sorted(dict.fromkeys(names), key=lambda name: spread_hash(name) & (buckets - 1)))


# -- indexes -------------------------------------------------------------------------------------------------


def _check_local_indexes(indexes: Sequence[Definition], table_key: Sequence[Definition]) -> None:
    if len(table_key) < 2:
        raise invalid(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
        )
    table_hash = table_key[0]["AttributeName"]
    for index in indexes:
        key, name = index["KeySchema"], index["IndexName"]
        _check_key_structure(key)
        if len(key) < 2:
            raise invalid(f"Index KeySchema does not have a range key for index: {name}")
        index_hash = key[0]["AttributeName"]
        if index_hash != table_hash:
            raise invalid(
                f"Index KeySchema does not have the same leading hash key as table KeySchema for index: "
                f"{name}. index hash key: {index_hash}, table hash key: {table_hash}"
            )
        _check_projection(index["Projection"])


def check_global_index(index: Definition) -> None:
    """A global index by itself; that its key attributes are defined is checked elsewhere."""
    _check_global_key_structure(index["KeySchema"])
    _check_projection(index["Projection"])


def _check_projection(projection: Definition) -> None:
    kind, attributes = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise invalid("Unknown ProjectionType: null")
    if kind != "INCLUDE":
        if attributes is not None:
            raise invalid(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
        return
    if attributes is None:
        raise invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    for position, name in enumerate(attributes):
        if name in attributes[:position]:
            raise invalid(f"Duplicate element in NonKeyAttributes: {name}")


def _check_names(indexes: Iterable[Definition]) -> None:
    seen: set[str] = set()
    for index in indexes:
        name = index["IndexName"]
        if name in seen:
            raise invalid(f"Duplicate index name: {name}")
        seen.add(name)


def _check_counts(local: Sequence[Definition], global_: Sequence[Definition]) -> None:
    if len(local) > MAX_LOCAL_INDEXES:
        raise invalid(f"Number of LocalSecondaryIndexes exceeds per-table limit of {MAX_LOCAL_INDEXES}")
    if len(global_) > MAX_GLOBAL_INDEXES:
        raise invalid(f"GlobalSecondaryIndex count exceeds the per-table limit of {MAX_GLOBAL_INDEXES}")


def check_projected_total(indexes: Iterable[Definition]) -> None:
    """INCLUDE projections may name 100 attributes in all; the same one in two indexes counts twice."""
    total = sum(len(index["Projection"].get("NonKeyAttributes", ())) for index in indexes)
    if total > MAX_PROJECTED_ATTRIBUTES:
        raise invalid(
            "Number of NonKeyAttributes across all secondary indexes exceeds the per-table limit of "
            f"{MAX_PROJECTED_ATTRIBUTES}"
        )


# -- the rest ------------------------------------------------------------------------------------------------


def check_stream(specification: Definition | None, *, required: str, refused: str) -> None:
    """A stream that is enabled has a view type, and one that is disabled has none."""
    if specification is not None and specification["StreamEnabled"] != ("StreamViewType" in specification):
        raise invalid(required if specification["StreamEnabled"] else refused)


def check_encryption(specification: Definition | None) -> None:
    if not specification:
        return
    if not specification.get("Enabled", True):
        for member in ("SSEType", "KMSMasterKeyId"):
            if member in specification:
                raise invalid(f"{member} can not be specified if Enabled is false")
    if specification.get("SSEType") == "AES256":
        raise invalid("SSEType AES256 is not supported")
    if "KMSMasterKeyId" in specification and "SSEType" not in specification:
        raise invalid("SSEType KMS is required if KMSMasterKeyId is specified")


def merged_tags(present: Mapping[str, str], tags: Iterable[Definition]) -> dict[str, str]:
    """The tags as they will be: those present, and the given ones over them."""
    given: dict[str, str] = {}
    for tag in tags:
        key, value = tag.get("Key"), tag.get("Value")
        check_tag_key(key)
        if value is None or len(value) > MAX_TAG_VALUE_LENGTH or not _is_tag_text(value):
            raise ValidationException(f"The Tag Value provided is invalid, Value: {_or_null(value)}")
        assert key is not None
        if key in given:
            raise ValidationException(f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
        given[key] = value
    result = {**present, **given}
    check_tag_count(result)
    return result


def check_tag_count(tags: Iterable[str]) -> None:
    if len(list(tags)) > MAX_TAGS:
        raise ValidationException("Number of Tags exceed the current limit for the provided ResourceArn")


def check_tag_key(key: str | None) -> None:
    if not key or len(key) > MAX_TAG_KEY_LENGTH or not _is_tag_text(key):
        raise ValidationException(f"The Tag Key provided is invalid, Key: {_or_null(key)}")
    if key.lower().startswith("aws:"):
        raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {key}")


def _is_tag_text(text: str) -> bool:
    return all(c in _TAG_PUNCTUATION or unicodedata.category(c)[0] in "LNZ" for c in text)


def _or_null(text: str | None) -> str:
    return "null" if text is None else text
