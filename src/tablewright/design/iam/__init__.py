"""Least-privilege IAM policies: exactly what the store needs for the patterns and writes of a role.

    grants(design, "api")                      permissions on tables, indexes and streams, each with its reason
    document(grants, arns("us-east-1", "123456789012"))

A role is a list of patterns and writes. A read by primary key is GetItem (and BatchGetItem, with ``many``), a query is
Query on the table or the index. A transaction has no permission of its own: each of its actions needs PutItem,
UpdateItem, DeleteItem or ConditionCheckItem. Internal items and reads count as well: guards of unique fields,
counters, reads before a key can be derived, moves. Unconditional puts or deletes of many items are BatchWriteItem
(``write_many``).

Reactions that read a stream belong to a consumer, which has a policy too: it reads the stream, and stores checkpoints.
Maintenance (verify, repair, rebuild, collect) has one as well, and so has relocation. ListStreams cannot be restricted
to a table, and is needed only while a stream is being replaced by another one, so it is granted only for a relocation.

The policy of a tenant is also limited to the partition keys with the tenant's own value, by ``dynamodb:LeadingKeys``.
The condition requires that the request has a key at all, as ``ForAllValues`` is true for none.

    grants              Resource, Grant, Tenant
    role_grants         the grants of roles, consumers and maintenance
    read_grants         the grants for a pattern
    write_grants        the grants for a write
    stream_grants       the grants for reading a stream
    maintenance_grants  the grants for verify, repair and collect
    relocation_grants   the grants for a relocation, and for programs during one
    blob_actions        the actions on the bucket of blobs
    leading_keys        the partition keys of a tenant
    policy_document     ARNs and the policy
    request_permissions the permissions that a request needs
    policy_evaluation   whether a policy allows them, for tests
"""

from tablewright.design.iam.blob_actions import blob_actions
from tablewright.design.iam.grants import Grant, Resource, Tenant
from tablewright.design.iam.policy_document import arns, document, words
from tablewright.design.iam.policy_evaluation import is_allowed
from tablewright.design.iam.request_permissions import KnownTables, Permission, request_permissions
from tablewright.design.iam.role_grants import (
    MAINTENANCE,
    RELOCATION,
    all_grants,
    call_grants,
    consumer_grants,
    consumers,
    grants,
)
from tablewright.design.iam.stream_grants import of_delivery as delivery_grants

__all__ = [
    "MAINTENANCE",
    "RELOCATION",
    "Grant",
    "KnownTables",
    "Permission",
    "Resource",
    "Tenant",
    "all_grants",
    "arns",
    "blob_actions",
    "call_grants",
    "consumer_grants",
    "consumers",
    "delivery_grants",
    "document",
    "grants",
    "is_allowed",
    "request_permissions",
    "words",
]
