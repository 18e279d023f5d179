"""The updates that take a stack from one template to another: CloudFormation makes or deletes one global index of a
table in each.

    old ─▶ old with an index more ─▶ ... ─▶ new, with indexes that it does not need ─▶ one less ─▶ ... ─▶ new

New indexes are made before the new programs come, which read them, and old ones are deleted after the old programs have
gone. So the first steps are the old stack in all but its indexes. What CloudFormation would answer by making the table
anew, without its items, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from tablewright.design import DesignError

__all__ = ["StackSteps", "stack_steps"]

_TABLE = "AWS::DynamoDB::Table"
_INDEXES = "GlobalSecondaryIndexes"

Template = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StackSteps:
    """What to deploy before the new template, one after the other."""

    # With the programs that are there: indexes are added.
    first: list[Template]
    # With the new programs: indexes are deleted.
    then: list[Template]


def stack_steps(old: Template, new: Template) -> StackSteps:
    """The steps from one template to another; DesignError for changes that an existing table cannot have."""
    before, after = _tables(old), _tables(new)
    added: dict[str, list[str]] = {}
    removed: dict[str, list[str]] = {}
    for name in before.keys() & after.keys():
        _check_kept(name, before[name], after[name])
        had, has = _indexes(before[name]), _indexes(after[name])
        added[name] = [index for index in has if index not in had]
        removed[name] = [index for index in had if index not in has]
    steps = StackSteps([], [])
    made: dict[str, list[str]] = {name: [] for name in added}
    for round_ in zip_longest(*([(name, each) for each in indexes] for name, indexes in sorted(added.items()))):
        for name, index in filter(None, round_):
            made[name].append(index)
        steps.first.append(_with_indexes(old, {name: (after[name], indexes) for name, indexes in made.items()}))
    kept = {name: list(indexes) for name, indexes in removed.items()}
    while any(kept.values()):
        steps.then.append(_with_indexes(new, {name: (before[name], indexes) for name, indexes in kept.items()}))
        kept = {name: indexes[1:] for name, indexes in kept.items()}
    return steps


def _tables(template: Template) -> dict[str, Mapping[str, Any]]:
    return {name: each["Properties"] for name, each in template["Resources"].items() if each["Type"] == _TABLE}


def _indexes(table: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {index["IndexName"]: index for index in table.get(_INDEXES, ())}


def _types(table: Mapping[str, Any]) -> dict[str, str]:
    return {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}


def _typed(table: Mapping[str, Any], key: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    types = _types(table)
    return [(part["AttributeName"], types[part["AttributeName"]], part["KeyType"]) for part in key]


def _check_kept(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse changes that an existing table cannot have."""
    remedy = "declare a table of another name, and move the items with `tablewright migrate` (docs/evolution.md)"
    if _typed(old, old["KeySchema"]) != _typed(new, new["KeySchema"]):
        raise DesignError(f"{name} would be replaced by an empty table, as its key changes; {remedy}")
    if old.get("LocalSecondaryIndexes", []) != new.get("LocalSecondaryIndexes", []):
        raise DesignError(f"{name} would be replaced by an empty table, as its local indexes change; {remedy}")
    had, has = _indexes(old), _indexes(new)
    for index in had.keys() & has.keys():
        before, after = (
            (_typed(t, i[index]["KeySchema"]), i[index]["Projection"]) for t, i in ((old, had), (new, has))
        )
        if before != after:
            raise DesignError(
                f"index {index} of {name} has another key or projection, which CloudFormation cannot change; give the "
                "new one another name"
            )
    for attribute, kind in _types(old).items():
        if _types(new).get(attribute, kind) != kind:
            raise DesignError(
                f"{attribute} of {name} is the key of an index and changes its type, while indexes of both types are "
                "there; give the new one another name"
            )


def _with_indexes(template: Template, further: Mapping[str, tuple[Mapping[str, Any], list[str]]]) -> Template:
    """A template whose tables have some indexes more, as another version of each table describes them."""
    found = deepcopy(template)
    for name, (other, names) in further.items():
        if not names:
            continue
        table = found["Resources"][name]["Properties"]
        described = _indexes(other)
        table[_INDEXES] = [*table.get(_INDEXES, ()), *(described[index] for index in names)]
        known = {**_types(other), **_types(table)}
        keys = [table, *table[_INDEXES], *table.get("LocalSecondaryIndexes", ())]
        used = dict.fromkeys(part["AttributeName"] for each in keys for part in each["KeySchema"])
        table["AttributeDefinitions"] = [{"AttributeName": each, "AttributeType": known[each]} for each in used]
    return found
