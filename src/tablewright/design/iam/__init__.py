"""The least policy of each role: what the store asks for to run the role's patterns and writes, and nothing else.

    grants(design, "api")                      actions on tables, indexes and streams, each with its reason
    document(grants, arns("us-east-1", "123456789012"))

A role is a list of patterns and writes. A read by primary key is GetItem (and BatchGetItem, where it says ``many``), a
query is Query on the table or on the index. A transaction has no permission of its own: each of its actions needs the
one of PutItem, UpdateItem, DeleteItem or ConditionCheckItem. What the store does beside the item itself counts: guards
of unique fields, counters, a read before a key can be made anew, moves. Many puts or deletes without a condition are
BatchWriteItem (``write_many``).

Reactions that read a stream belong to a consumer, which has a policy too: it reads the stream, and writes its notes.
The service cannot restrict ListStreams to a table, and it is needed only while a stream is being replaced by another
one, so it is left out.

A tenant's policy goes further: it is limited to the partition keys that have the tenant's own value, by
``dynamodb:LeadingKeys``. That the request names a key at all is part of the condition, as "all of none" is true.

resources   Resource, Grant, Tenant
roles       grants, consumer_grants, all_grants: what roles and consumers are granted
reads, writes, tenants
            what a pattern asks for, what a write asks for, and which keys are a tenant's own
documents   arns, document: the policy
"""

from tablewright.design.iam.grants import Grant, Resource, Tenant
from tablewright.design.iam.policy_document import arns, document, words
from tablewright.design.iam.role_grants import all_grants, consumer_grants, grants

__all__ = ["Grant", "Resource", "Tenant", "all_grants", "arns", "consumer_grants", "document", "grants", "words"]
