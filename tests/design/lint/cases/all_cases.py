"""The cases of all rules."""

from tests.design.lint.cases import (
    claims,
    composed_keys,
    fields,
    hot_partitions,
    identity,
    indexes,
    key_fields,
    key_values,
    limits,
    ordering,
    reading,
    writing,
)

CASES = [
    *key_values.CASES,
    *key_fields.CASES,
    *identity.CASES,
    *indexes.CASES,
    *ordering.CASES,
    *fields.CASES,
    *composed_keys.CASES,
    *reading.CASES,
    *writing.CASES,
    *hot_partitions.CASES,
    *limits.CASES,
    *claims.CASES,
]
