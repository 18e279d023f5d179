"""From PartiQL's tree to a statement that DynamoDB runs, or to its reason why it does not.

``statement`` is the way in: text to statement, remembered by text.
"""

from __future__ import annotations

from tablewright.dynamo import Path
from tablewright.dynamo.expressions import (
    ConditionProgram,
    Literal,
    Placeholder,
    UpdateProgram,
    cached_program,
    condition_from_node,
)
from tablewright.engine.partiql.assignments import Assignments
from tablewright.engine.partiql.operands import literal, path
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
    raise refused("Unsupported operation", node.at)


# -- tables ----------------------------------------------------------------------------------------


def _source(source: syntax_tree.Source) -> tuple[str, str | None]:
    """The table and the index behind FROM."""
    if source.joined:
        raise refused("Only select from a single table or index is supported.")
    if source.alias is not None:
        raise refused("Aliasing is not supported")
    names = _names(source.node)
    if len(names) > 2:
        raise refused("A path may contain at most 2 components in the FROM clause")
    return names[0], names[1] if len(names) == 2 else None


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
        clause, at = node.unsupported
        raise refused(f"Unsupported clause: {clause}", at)
    table, index = _source(node.source)
    order = []
    for term in node.order:
        if not isinstance(term.node, syntax_tree.Name):
            raise refused("Argument to ORDER BY must be an attribute name", term.node.at)
        order.append((term.node.text, term.descending))
    return Select(table, index, _columns(node.items), _where(node.where), tuple(order), parameters)


def _columns(items: tuple[syntax_tree.Item, ...]) -> Columns | None:
    if isinstance(items[0].node, syntax_tree.Star):
        return None
    paths: list[Path] = []
    for item in items:
        if item.alias is not None:
            raise refused("Aliasing is not supported")
        if not isinstance(item.node, syntax_tree.Name | syntax_tree.Path):
            raise refused("Unexpected path component", item.node.at)
        paths.append(path(item.node))
    labels: set[str] = set()
    for column in map(label, paths):
        if column in labels:
            raise refused(f"Duplicate identifiers in select clause: {column}")
        labels.add(column)
    return Columns(paths)


def _where(node: syntax_tree.Node | None) -> ConditionProgram | None:
    return None if node is None else condition_from_node(condition(node))


def _insert(node: syntax_tree.Insert, parameters: int) -> Insert:
    names = _names(node.target)
    if len(names) > 1:
        raise refused(
            "FROM clause may only contain a single table name in data manipulation statements", node.target.at
        )
    if node.returning is not None:
        raise refused("RETURNING is not supported in INSERT")
    if isinstance(node.value, syntax_tree.Parameter):
        return Insert(names[0], placeholder(node.value.number), parameters)
    if not isinstance(node.value, syntax_tree.Struct):
        raise refused("Item to insert must be a map", node.value.at)
    attributes: dict[str, Literal | Placeholder] = {}
    for name, value in node.value.fields:
        if not isinstance(name, syntax_tree.Constant) or name.kind != statement_lexer.STRING:
            raise refused("Tuple keys must be of type String", name.at)
        if name.text in attributes:
            raise refused(f"Duplicate keys in tuple. Key: {name.text} under root")
        attributes[name.text] = (
            placeholder(value.number) if isinstance(value, syntax_tree.Parameter) else Literal(literal(value))
        )
    return Insert(names[0], attributes, parameters)


def _change(node: syntax_tree.Change, parameters: int) -> Statement:
    if isinstance(node.source.node, syntax_tree.Star):
        raise refused("Unexpected from source", node.at)
    table, index = _source(node.source)
    where = _where(node.where)
    returning = None if node.returning is None else node.returning.mapping
    if node.returning is not None and node.returning.column is not None:
        raise refused(f"Invalid returning clause: RETURNING {returning}. Only * is supported.")
    if not node.operations:
        if returning not in (None, "ALL OLD"):
            raise refused(
                f"Invalid returning clause: RETURNING {returning} *. "
                "Only RETURNING ALL OLD * is allowed in DELETE statements."
            )
        return Delete(table, index, where, returning, parameters)
    assignments = Assignments()
    for operation in node.operations:
        if isinstance(operation, syntax_tree.Insert):
            raise refused("Only one operation is allowed in a statement.")
        assignments.add(operation)
    update = UpdateProgram(assignments.actions, {})
    return UpdateStatement(table, index, update, tuple(assignments.sets), where, returning, parameters)
