"""From PartiQL's tree to a statement that DynamoDB runs, or to the error because it does not.

``statement`` is the entry point: text to statement, cached by text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tablewright.dynamo import Path, ValidationException
from tablewright.dynamo.expressions import (
    ConditionProgram,
    Literal,
    Placeholder,
    UpdateProgram,
    cached_program,
    clash,
)
from tablewright.dynamo.limits import MAX_TABLE_NAME_LENGTH, MIN_TABLE_NAME_LENGTH
from tablewright.engine.partiql.assignments import Assignments
from tablewright.engine.partiql.operands import attributes, path
from tablewright.engine.partiql.refusals import refused
from tablewright.engine.partiql.statements import (
    Columns,
    Delete,
    Exists,
    Insert,
    Select,
    Statement,
    UpdateStatement,
    label,
    placeholder,
)
from tablewright.engine.partiql.syntax import statement_lexer, syntax_tree
from tablewright.engine.partiql.syntax.statement_parser import parse
from tablewright.engine.partiql.where_conditions import condition

_NAME = re.compile(rf"[a-zA-Z0-9_.-]{{{MIN_TABLE_NAME_LENGTH},{MAX_TABLE_NAME_LENGTH}}}")


@cached_program
def statement(text: str) -> Statement:
    """The statement of a text; raises a ValidationException."""
    node = parse(text)
    parameters = sum(token.kind == statement_lexer.PARAMETER for token in statement_lexer.tokenize(text))
    match node:
        case syntax_tree.Select():
            return _select(node, parameters)
        case syntax_tree.Call(at, "exists", (syntax_tree.Select() as select,)) if at.kind == statement_lexer.KEYWORD:
            return Exists(_select(select, parameters))
        case syntax_tree.Insert():
            return _insert(node, parameters)
        case syntax_tree.Change():
            return _change(node, parameters)
    raise refused(f"Unsupported operation: {syntax_tree.kind(node)}")


# -- tables ----------------------------------------------------------------------------------------


def _source(source: syntax_tree.Source) -> tuple[str, str | None]:
    """The table and the index after FROM."""
    if source.joined:
        raise refused("Only select from a single table or index is supported.")
    if source.alias is not None:
        raise refused("Aliasing is not supported")
    names = _names(source.node)
    if len(names) > 2:
        raise refused("A path may contain at most 2 components in the FROM clause")
    return names[0], names[1] if len(names) == 2 else None


def _check_names(*names: str | None) -> None:
    for name in names:
        if name is not None and not name.startswith("arn:") and not _NAME.fullmatch(name):
            raise refused(
                f"Table name should be within the length [{MIN_TABLE_NAME_LENGTH}, {MAX_TABLE_NAME_LENGTH}] and only "
                "contain 'a-z', 'A-Z', '0-9', '-', '_', '.'."
            )


def _names(node: syntax_tree.Node) -> list[str]:
    names = []
    if isinstance(node, syntax_tree.Name):
        names = [node.text]
    elif isinstance(node, syntax_tree.Path) and isinstance(node.root, syntax_tree.Name):
        names = [node.root.text]
        for step in node.steps:
            if step.name is None:
                raise refused("Unexpected path component", step.at)
            names.append(step.name)
    if not names:
        raise refused("Unexpected from source", node.at)
    if "" in names:
        raise refused("Path component cannot be an empty string")
    return names


# -- statements ------------------------------------------------------------------------------------


def _select(node: syntax_tree.Select, parameters: int) -> Select:
    if node.unsupported is not None:
        raise refused(node.unsupported)
    table, index = _source(node.source)
    _check_names(table, index)
    columns, flaw = None, None
    try:
        columns = _columns(node.items)
    except ValidationException as error:
        if index is None:
            raise
        flaw = error.message
    where = _where(node.where)
    order = []
    for term in node.order:
        if not isinstance(term.node, syntax_tree.Name):
            raise refused("Argument to ORDER BY must be an attribute name", term.node.at)
        order.append((term.node.text, term.descending))
    return Select(table, index, columns, where, tuple(order), parameters, flaw)


def _columns(items: tuple[syntax_tree.Item, ...]) -> Columns | None:
    if isinstance(items[0].node, syntax_tree.Star):
        return None
    paths: list[Path] = []
    for item in items:
        if item.alias is not None:
            raise refused("Aliasing is not supported")
        if not isinstance(item.node, syntax_tree.Name | syntax_tree.Path):
            raise refused("Unexpected path component", item.node.at)
        if isinstance(item.node, syntax_tree.Path) and item.node.steps[-1].is_star:
            raise refused("Changing item's hierarchy while reading isn't supported")
        paths.append(path(item.node))
    labels: set[str] = set()
    for column in map(label, paths):
        if column in labels:
            raise refused(f"Duplicate identifiers in select clause: {column}")
        labels.add(column)
    _check_paths(paths)
    return Columns(paths)


def _check_paths(paths: list[Path]) -> None:
    """The service collects paths from the last to the first, and names two that conflict in that order."""
    problem = clash(reversed(paths))
    if problem is not None:
        raise refused(problem)


def _where(node: syntax_tree.Node | None) -> ConditionProgram | None:
    return None if node is None else ConditionProgram(condition(node), {})


def _insert(node: syntax_tree.Insert, parameters: int) -> Insert:
    if not node.is_one:
        raise refused("Unsupported operation: Insert")
    names = _names(node.target)
    if len(names) > 1:
        raise refused(
            "FROM clause may only contain a single table name in data manipulation statements", node.target.at
        )
    if node.unsupported == "AT":
        raise refused("AT is not supported in insert statements.", node.at)
    if node.unsupported is not None:
        raise refused(f"Unsupported clause: {node.unsupported}")
    match node.value:
        case syntax_tree.Parameter(_, number):
            item: Mapping[str, Literal | Placeholder] | Placeholder = placeholder(number)
        case syntax_tree.Struct():
            item = attributes(node.value)
        case _:
            raise refused(
                "Unsupported format in item expression. Please use struct format {...} to express item values for "
                "insert statement.",
                node.value.at,
            )
    if _returning(node.returning) is not None:
        raise refused("RETURNING is not supported in INSERT")
    return Insert(names[0], item, parameters)


def _returning(elements: tuple[syntax_tree.Returning, ...]) -> str | None:
    if not elements:
        return None
    if len(elements) > 1:
        raise refused("Invalid syntax with multiple returning elements in RETURNING clause")
    if elements[0].column is not None:
        raise refused("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
    return elements[0].mapping


def _change(node: syntax_tree.Change, parameters: int) -> Statement:
    if node.source is None:
        raise refused("Only select from a single table or index is supported.")
    if len(node.operations) == 1 and isinstance(node.operations[0], syntax_tree.Insert):
        raise refused("Unsupported FROM ... WHERE ... clause in INSERT statement.", node.at)
    table, index = _source(node.source)
    where = _where(node.where)
    returning = _returning(node.returning)
    if not node.operations:
        if returning not in (None, "ALL OLD"):
            raise refused(
                f"Invalid returning clause: RETURNING {returning} *. "
                "Only RETURNING ALL OLD * is allowed in DELETE statements."
            )
        _check_names(table, index)
        return Delete(table, index, where, returning, parameters)
    assignments = Assignments()
    for operation in node.operations:
        if isinstance(operation, syntax_tree.Insert):
            raise refused("Only SET and REMOVE are supported in update expressions at this time")
        assignments.add(operation)
    _check_paths([action.path for action in assignments.actions])
    _check_names(table, index)
    update = UpdateProgram(assignments.actions, {})
    return UpdateStatement(table, index, update, tuple(assignments.sets), where, returning, parameters)
