"""The actions of S3 that roles need on the bucket of blobs, where large values are kept beside the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablewright.design.iam.read_grants import may_load_blobs
from tablewright.design.iam.role_grants import MAINTENANCE, consumers
from tablewright.model import Design, Reaction, schema_of

__all__ = ["blob_actions"]

# Without ListBucket, S3 answers that a blob that is missing may not be read.
_READS = ("s3:GetObject", "s3:ListBucket")
# A write reads as well, for it returns the item, and deletes its blob if the item could not be written.
_WRITES = (*_READS, "s3:PutObject", "s3:DeleteObject")


def blob_actions(design: Design, roles: Sequence[str]) -> tuple[str, ...]:
    """What roles and consumers need, sorted; maintenance may be one of them."""
    found: set[str] = set()
    reading = consumers(design)
    for role in roles:
        reactions = reading.get(role, [])
        names = [*design.roles.get(role, ()), *(each.write for each in reactions if each.write is not None)]
        for actions in (*_of_names(design, names), *_of_changes(reactions)):
            found |= {*actions}
        if role == MAINTENANCE and any(schema.large for schema in design.schemas):
            found |= {*_WRITES}
    return tuple(sorted(found))


def _of_names(design: Design, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    reads = [name for name in names if name not in design.writes]
    for write in (design.writes[name] for name in names if name in design.writes):
        reads += write.reads
        if any(schema_of(each.entity).large for each in write.item_writes):
            yield _WRITES
    if any(may_load_blobs(*design.granted_patterns[name]) for name in reads):
        yield _READS


def _of_changes(reactions: Sequence[Reaction]) -> Iterator[tuple[str, ...]]:
    """A change has no blobs, but the consumer can load them."""
    if any(schema_of(each.entity).large for each in reactions):
        yield _READS
