"""Conditions with their values written out."""

from __future__ import annotations

import pytest

from tablewright.dynamo import Item
from tablewright.transfer import TransferError
from tablewright.transfer.changes.where_expression import where

ITEM: Item = {
    "status": {"S": "open"},
    "total": {"N": "12.50"},
    "order-id": {"S": "o'1"},
    "paid": {"BOOL": False},
    "gone": {"NULL": True},
    "lines": {"L": [{"M": {"size": {"N": "3"}}}]},
    "size": {"N": "-4"},
}


@pytest.mark.requirement("SH5")
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("status = 'open'", True),
        ("status <> 'open'", False),
        ("total = 12.5 AND NOT paid = TRUE", True),
        ("total BETWEEN 1e1 AND 13", True),
        ("size = -4", True),
        ("size(status) > 3", True),
        ("\"order-id\" = 'o''1'", True),
        ("order-id = 'o''1'", True),
        ("gone = null OR missing = 1", True),
        ("lines[0].size = 3", True),
        ("attribute_exists(nothing)", False),
        ("begins_with(status, 'op') and contains(status, 'pe')", True),
        ("attribute_type(status, 'S')", True),
        ("status IN ('a', 'open')", True),
        ("(status = 'x' OR total < 13) AND paid = false", True),
    ],
)
def test_a_condition_is_evaluated(text: str, holds: bool) -> None:
    assert where(text)(ITEM) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("status = ; drop", "syntax error at '; drop'"),
        ("status = 'open", "syntax error at"),
        ("status", "Syntax error"),
        ("begins_with(status, 3)", "begins_with"),
        ("", "expression can not be empty"),
    ],
)
def test_what_is_no_condition_is_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(TransferError, match=message):
        where(text)
