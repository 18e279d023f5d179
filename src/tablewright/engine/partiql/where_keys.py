"""The conditions of a WHERE clause on keys.

A condition on a key attribute is a ``KeyTerm``; anything else is a filter. A write needs an equality on every key
attribute. A read is *keyed* if, after every OR and IN that concerns a key has been expanded, each branch has one value
for the partition key: then each branch is a range of one partition, and only those are read. Otherwise the whole table
or index is. Overlapping ranges are refused, unless a branch has the sort key in a filter (``NOT song = 'a'``,
``song <> 'a'``): then they are read as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tablewright.dynamo import AttributeValue, Item, Path, ValidationException
from tablewright.dynamo.expressions import (
    ORDERED_TYPES,
    And,
    Between,
    Compare,
    Condition,
    ConditionProgram,
    Function,
    In,
    Operand,
    Or,
    constant,
    leaves,
    operands,
    references,
)
from tablewright.engine.items.key_conditions import key_range
from tablewright.engine.items.page_reader import Source
from tablewright.engine.partiql.refusals import StatementRefused
from tablewright.engine.partiql.statements import Values
from tablewright.engine.storage.key_encoding import scalar_bytes
from tablewright.engine.tables.table_schema import Key, Table

_MAX_READS = 50
# More branches than this are too many reads in any case, and are not even expanded.
_MAX_BRANCHES = 1000
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class KeyTerm:
    """A condition on one key attribute, its operands known."""

    name: str
    operator: str
    operands: tuple[AttributeValue, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Terms and filters that hold together."""

    terms: tuple[KeyTerm, ...] = ()
    filters: tuple[Condition, ...] = ()

    def merged(self, other: Branch) -> Branch:
        return Branch(self.terms + other.terms, self.filters + other.filters)


@dataclass(frozen=True, slots=True)
class Range:
    """One partition's part of a keyed read."""

    partition: bytes
    low: bytes
    high: bytes | None
    filters: tuple[Condition, ...]

    def overlaps(self, behind: Range) -> bool:
        """Whether a range that begins no earlier has keys in common with this one."""
        return self.partition == behind.partition and (self.high is None or behind.low < self.high)

    def merged(self, behind: Range) -> Range:
        high = None if self.high is None or behind.high is None else max(self.high, behind.high)
        return Range(self.partition, self.low, high, self.filters + behind.filters)


# -- writes, and reads of single items -------------------------------------------------------------


def item_key(table: Table, where: ConditionProgram | None, values: Values) -> Item:
    """The key of the one item that a write is about."""
    found, conditions = key_and_conditions(table, where, values)
    for part in conditions:
        equality = _equality(part, table.key, values)
        if equality is not None and found[equality[0]] != equality[1]:
            raise ValidationException(
                f"Multiple conditions on same key {equality[0]}. Only single item Update/Insert/Delete are supported"
            )
    if len(found) < len(table.key.names):
        raise ValidationException("Where clause does not contain a mandatory equality on all key attributes")
    return found


def key_and_conditions(table: Table, where: ConditionProgram | None, values: Values) -> tuple[Item, list[Condition]]:
    """Key attributes that are compared with a value for equality, and the other conditions; a second value is one."""
    if where is not None:
        for name in table.key.names:
            if name in where.nested_attributes:
                raise StatementRefused(
                    "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
                    f"Key {name}"
                )
    key: Item = {}
    conditions: list[Condition] = []
    for part in () if where is None else _conjuncts(where.node):
        equality = _equality(part, table.key, values)
        if equality is None or equality[0] in key:
            conditions.append(part)
            continue
        name, value = equality
        if not value.keys() & ORDERED_TYPES:
            raise StatementRefused(_not_a_key(name, value))
        key[name] = value
    return {name: key[name] for name in table.key.names if name in key}, conditions


def single_read_key(table: Table, where: ConditionProgram | None, values: Values) -> Item | None:
    """The key that a WHERE clause consists of; None if it says less or more than that."""
    if where is not None and all(_type_problem(table.key, t) is None for t in key_terms(where.node, table.key, values)):
        _decomposed(table.key, where.node, values)  # raises what is wrong with the reads of any SELECT
    key: Item = {}
    for part in () if where is None else _conjuncts(where.node):
        if isinstance(part, In) and len(part.options) == 1:
            part = Compare("=", part.operand, part.options[0])
        equality = _equality(part, table.key, values)
        if equality is None or key.setdefault(*equality) != equality[1]:
            return None
    return {name: key[name] for name in table.key.names} if len(key) == len(table.key.names) else None


def _conjuncts(node: Condition) -> Iterator[Condition]:
    if isinstance(node, And):
        for part in node.parts:
            yield from _conjuncts(part)
    else:
        yield node


def _equality(node: Condition, key: Key, values: Values) -> tuple[str, AttributeValue] | None:
    if isinstance(node, Compare) and node.operator == "=":
        term = _term(node, key, values)
        if term is not None:
            return term.name, term.operands[0]
    return None


# -- keyed reads -----------------------------------------------------------------------------------


def ranges(source: Source, where: ConditionProgram | None, values: Values) -> list[Range] | None:
    """The ranges of a keyed read in the order of their partition keys; None for a read of everything."""
    if where is None:
        return None
    for term in key_terms(where.node, source.key, values):
        problem = _type_problem(source.key, term)
        if problem is not None:
            raise ValidationException(problem)
    return _decomposed(source.key, where.node, values)


def _decomposed(key: Key, node: Condition, values: Values) -> list[Range] | None:
    if not _pins(node, key, values):
        return None
    branches = _spread(node, key, values)
    found = _partition_ranges(key, branches)
    parts = None if found is None else _disjoint(key, branches, found)
    if len(branches) > _MAX_READS:
        raise _too_many()
    return parts


def _partition_ranges(key: Key, branches: list[Branch]) -> list[Range] | None:
    """The range of each branch; None when one asks for two values of the partition key."""
    found = []
    for branch in branches:
        partitions = {scalar_bytes(t.operands[0]): t for t in branch.terms if t.name in key.partition}
        if len(partitions) != 1:
            return None
        ((partition, term),) = partitions.items()
        found.append(Range(partition, *_bounds(key, term, branch), branch.filters))
    return found


def _disjoint(key: Key, branches: list[Branch], found: list[Range]) -> list[Range]:
    """The ranges in order, without empty ones unless all are."""
    found = [part for part in found if part.low != part.high] or found[:1]
    parts: list[Range] = []
    for part in sorted(found, key=lambda part: (part.partition, part.low)):
        if parts and parts[-1].overlaps(part):
            if not any(filter_attributes(branch.filters) & set(key.sort) for branch in branches):
                raise ValidationException("Overlapping conditions with range keys are not supported in where clause")
            part = parts.pop().merged(part)
        parts.append(part)
    return parts


def _bounds(key: Key, partition: KeyTerm, branch: Branch) -> tuple[bytes, bytes | None]:
    equal = {partition.name: partition.operands[0]}
    low, high = key_range(key, equal, ())
    for term in branch.terms:
        if term.name in key.sort:
            start, end = key_range(key, equal, [(term.name, term.operator, term.operands)])
            low = max(low, start)
            high = end if high is None else high if end is None else min(high, end)
    return low, high if high is None else max(low, high)


def partition_conditions(where: ConditionProgram, key: Key, values: Values) -> int:
    """The number of values that the WHERE clause allows for the partition key, in its necessary conditions."""
    total = 0
    for part in _conjuncts(where.node):
        match part:
            case In(Path((name,)), options) if name in key.partition:
                total += len(options)
            case Or(parts) if all(_partition_equality(option, key, values) for option in parts):
                total += len(parts)
            case _:
                total += _partition_equality(part, key, values)
    return total


def _partition_equality(node: Condition, key: Key, values: Values) -> bool:
    equality = _equality(node, key, values)
    return equality is not None and equality[0] in key.partition


def _pins(node: Condition, key: Key, values: Values) -> bool:
    """Whether every way to meet the condition gives the partition key a value."""
    match node:
        case And(parts):
            return any(_pins(part, key, values) for part in parts)
        case Or(parts):
            return all(_pins(part, key, values) for part in parts)
        case _:
            return any(term.name in key.partition for term in _terms(node, key, values))


def _spread(node: Condition, key: Key, values: Values) -> list[Branch]:
    match node:
        case And(parts):
            branches = [Branch()]
            for part in parts:
                others = _spread(part, key, values)
                if len(branches) * len(others) > _MAX_BRANCHES:
                    raise _too_many()
                branches = [branch.merged(other) for branch in branches for other in others]
            return branches
        case Or(parts) if any(True for _ in key_terms(node, key, values)):
            branches = [branch for part in parts for branch in _spread(part, key, values)]
            if len(branches) > _MAX_BRANCHES:
                raise _too_many()
            return branches
    terms = _terms(node, key, values)
    if len(terms) > _MAX_BRANCHES:
        raise _too_many()
    return [Branch((term,)) for term in terms] if terms else [Branch((), (node,))]


def _too_many() -> ValidationException:
    return ValidationException("Too many decomposed read operations for a given query.")


# -- terms -----------------------------------------------------------------------------------------


def key_terms(node: Condition, key: Key, values: Values) -> Iterator[KeyTerm]:
    """The conditions on key attributes, outside of any NOT."""
    match node:
        case And(parts) | Or(parts):
            for part in parts:
                yield from key_terms(part, key, values)
        case _:
            yield from _terms(node, key, values)


def _terms(node: Condition, key: Key, values: Values) -> list[KeyTerm]:
    """A leaf as one condition on a key attribute, or as one of several for IN; nothing when it is none."""
    if isinstance(node, In):
        match node.operand:
            case Path((str(name),)) if name in key.types:
                operands = [constant(option, values) for option in node.options]
                if all(operand is not None for operand in operands):
                    return [KeyTerm(name, "=", (operand,)) for operand in operands if operand is not None]
        return []
    term = _term(node, key, values)
    return [] if term is None else [term]


def _term(node: Condition, key: Key, values: Values) -> KeyTerm | None:
    operands: tuple[Operand, ...]
    match node:
        case Compare(operator, Path((str(name),)), right) if operator != "<>":
            operands = (right,)
        case Compare(operator, left, Path((str(name),))) if operator != "<>":
            operator, operands = _MIRRORED[operator], (left,)
        case Between(Path((str(name),)), low, high):
            operator, operands = "BETWEEN", (low, high)
        case Function("begins_with" as operator, (Path((str(name),)), prefix)):
            operands = (prefix,)
        case _:
            return None
    if name not in key.sort and not (name in key.partition and operator == "="):
        return None
    constants = tuple(value for operand in operands if (value := constant(operand, values)) is not None)
    return KeyTerm(name, operator, constants) if len(constants) == len(operands) else None


def _type_problem(key: Key, term: KeyTerm) -> str | None:
    """The error in the values that a key attribute is compared with."""
    for operand in term.operands:
        ((tag, content),) = operand.items()
        if tag not in ORDERED_TYPES:
            return _not_a_key(term.name, operand)
        if tag != key.types[term.name]:
            return f"Key attribute's data type should match its data type in table's schema: Key {term.name}"
        if content == "" and term.operator != "begins_with":
            kind = "string" if tag == "S" else "binary"
            return (
                "One or more parameter values are not valid. The AttributeValue for a key attribute "
                f"cannot contain an empty {kind} value. Key: {term.name}"
            )
    return None


def _not_a_key(name: str, value: AttributeValue) -> str:
    return f"Key value must be of type S, N, or B. Key name: {name}, Key type: {next(iter(value))}"


def filter_attributes(filters: tuple[Condition, ...]) -> set[str]:
    """The attributes that filters read."""
    names = set()
    for node in filters:
        for leaf in leaves(node):
            for operand in operands(leaf):
                for reference in references(operand):
                    if isinstance(reference, Path):
                        names.add(str(reference.parts[0]))
    return names
