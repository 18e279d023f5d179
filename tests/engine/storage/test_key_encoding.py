"""Keys as bytes: their order is DynamoDB's, and no two keys are the same."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from hashlib import md5
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import canonical_number
from tablewright.engine.storage.key_encoding import (
    after,
    key_values,
    number_bytes,
    number_text,
    partition_bytes,
    scalar_bytes,
    segment_bounds,
    sort_bytes,
    sort_prefix,
)
from tablewright.engine.tables.table_schema import Key

numbers = st.builds(
    lambda digits, exponent: canonical_number(f"{digits}e{exponent}"),
    st.integers(-(10**38) + 1, 10**38 - 1),
    st.integers(-130, 87),
)


@given(numbers, numbers)
def test_numbers_sort_as_numbers(one: str, other: str) -> None:
    expected = (Decimal(one) > Decimal(other)) - (Decimal(one) < Decimal(other))
    left, right = sort_bytes(number_bytes(one)), sort_bytes(number_bytes(other))
    assert (left > right) - (left < right) == expected


@given(numbers)
def test_a_number_can_be_read_from_its_bytes(number: str) -> None:
    assert Decimal(number_text(number_bytes(number))) == Decimal(number)


@given(st.binary(max_size=8), st.lists(st.binary(max_size=8), max_size=2))
def test_the_values_of_a_key_can_be_read_from_it(partition: bytes, sort: list[bytes]) -> None:
    key = partition_bytes([partition]) + b"".join(map(sort_bytes, sort)) + b"what follows"
    assert key_values(key, 1, len(sort)) == [partition, *sort]


def test_the_ends_of_the_number_range_sort() -> None:
    ordered = [
        "-9e125",
        "-1e125",
        "-1.5",
        "-1",
        "-1e-130",
        "0",
        "1e-130",
        "2e-130",
        "1",
        "1.5",
        "10",
        "9e125",
    ]
    keys = [sort_bytes(number_bytes(canonical_number(number))) for number in ordered]
    assert keys == sorted(keys)


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_sort_keys_sort_by_their_bytes_whatever_follows(one: bytes, other: bytes) -> None:
    left, right = sort_bytes(one) + b"\xff", sort_bytes(other) + b"\x00"
    if one != other:
        assert (left < right) == (one < other)


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_a_prefix_of_a_sort_key_is_a_prefix_of_its_bytes(start: bytes, rest: bytes) -> None:
    assert sort_bytes(start + rest).startswith(sort_prefix(start))


@given(st.text(max_size=6), st.text(max_size=6))
def test_text_sorts_by_its_utf8(one: str, other: str) -> None:
    left, right = scalar_bytes({"S": one}), scalar_bytes({"S": other})
    assert (left < right) == (one.encode() < other.encode())


def test_binary_is_its_bytes() -> None:
    assert scalar_bytes({"B": b64encode(b"\x00\xff").decode()}) == b"\x00\xff"


parts = st.lists(st.binary(max_size=5), min_size=1, max_size=4)


def key_bytes(partition: list[bytes], sort: list[bytes]) -> bytes:
    """The key of an item with so many binary key attributes."""
    item = {str(number): {"B": b64encode(part).decode()} for number, part in enumerate(partition + sort)}
    names = tuple(item)
    return Key(names[: len(partition)], names[len(partition) :], dict.fromkeys(names, "B")).bytes_of(item)


@given(parts, parts, parts, parts)
def test_no_two_keys_have_the_same_bytes(
    partition: list[bytes], sort: list[bytes], other_partition: list[bytes], other_sort: list[bytes]
) -> None:
    if len(partition) == len(other_partition):
        same = partition == other_partition and sort == other_sort
        assert (key_bytes(partition, sort) == key_bytes(other_partition, other_sort)) == same


def test_a_partition_begins_with_the_hash_that_dynamodb_orders_by() -> None:
    assert partition_bytes([b"a"]).startswith(md5(b"Outliersa").digest()[:6])


def test_a_value_that_is_no_key_has_bytes_of_its_own() -> None:
    assert partition_bytes([b"x" * 70_000]) != partition_bytes([b"x" * 65_535])


@given(st.binary(min_size=1, max_size=5), st.binary(max_size=5))
def test_after_is_above_all_that_begin_so(prefix: bytes, rest: bytes) -> None:
    end = after(prefix)
    if end is None:
        assert set(prefix) == {0xFF}
    else:
        assert prefix + rest < end


@pytest.mark.parametrize("total", [1, 2, 3, 7, 4095, 4096, 4097, 10_000, 1_000_000])
def test_segments_cover_every_hash_once(total: int) -> None:
    hashes = [bytes(6), b"\x00\x0f", b"\x7f\xff\xff", b"\x80\x00", b"\xff\xef\xff", b"\xff\xf0", b"\xff" * 6]
    sample = range(total) if total <= 4097 else [*range(300), *range(total // 2 - 300, total // 2 + 300)]
    last = range(max(0, total - 600), total)
    found: dict[bytes, set[int]] = {key: set() for key in hashes}
    for segment in {*sample, *last}:
        low, high = segment_bounds(segment, total)
        for key in hashes:
            # A row's key goes on behind its hash.
            row = key.ljust(6, b"\x00") + b"\x00\x01a"
            if low <= row and (high is None or row < high):
                found[key].add(segment)
    for key, segments in found.items():
        if total <= 4097:
            assert len(segments) == 1, key
        else:
            assert len(segments) <= 1, key
    assert len(found[b"\xff" * 6]) == 1


@given(st.integers(1, 5000), st.data())
def test_a_segment_ends_where_the_next_begins(total: int, data: Any) -> None:
    segment = data.draw(st.integers(0, total - 1))
    _, high = segment_bounds(segment, total)
    if segment + 1 < total:
        low, _ = segment_bounds(segment + 1, total)
        assert high == low or (high is None and low > b"\xff" * 6)
    else:
        assert high is None
