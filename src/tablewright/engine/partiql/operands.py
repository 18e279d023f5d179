"""Paths and literals: the parts that conditions and assignments of PartiQL share.

A literal is made into an attribute value here, and an error in one is reported with its place inside the
value (``root``, ``root[0]``, ``root[0].name``).
"""

from __future__ import annotations

from tablewright.dynamo import INVALID_VALUES, AttributeValue, Path, PathPart, ValidationException, canonical_number
from tablewright.dynamo.expressions import (
    OPERAND_COUNTS,
    Literal,
    Placeholder,
    function_problem,
)
from tablewright.dynamo.limits import MAX_LIST_INDEX, MAX_NESTING, MAX_PATH_DEPTH
from tablewright.engine.partiql.refusals import refused
from tablewright.engine.partiql.statements import placeholder
from tablewright.engine.partiql.syntax import statement_lexer, syntax_tree

_BAG = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
_ZERO = frozenset("-+0.")


def path(node: syntax_tree.Name | syntax_tree.Path) -> Path:
    """A document path."""
    if isinstance(node, syntax_tree.Name):
        return Path((_name(node.text),))
    if not isinstance(node.root, syntax_tree.Name):
        raise refused("Unexpected path component", node.root.at)
    parts: list[PathPart] = [_name(node.root.text)]
    for step in node.steps:
        if step.name is not None:
            parts.append(_name(step.name))
        else:
            parts.append(_index(step))
    if len(parts) > MAX_PATH_DEPTH:
        raise refused(f"The document path has too many nesting levels; nesting levels: {len(parts)}")
    return Path(tuple(parts))


def _name(text: str) -> str:
    if not text:
        raise refused("Path component cannot be an empty string")
    return text


def _index(step: syntax_tree.Step) -> PathPart:
    match step.index:
        case None if step.in_brackets:
            raise refused("Wildcard path component like a[*].b are not supported", step.at)
        case None:
            raise refused("Unpivot path component like a.*.b are not supported", step.at)
        case syntax_tree.Name(at):
            return _name(at.text)
        case syntax_tree.Constant(_, statement_lexer.STRING, text):
            return _name(text)
        case syntax_tree.Constant(at, statement_lexer.NUMBER, text) if text.lstrip("-").isdigit():
            if len(text) > 11 or not 0 <= int(text) <= MAX_LIST_INDEX:
                raise refused(f"List index is not within the allowable range; index: [{text}]", at)
            return int(text)
    raise refused("Unexpected path component", step.index.at)


def refused_call(node: syntax_tree.Call, in_update: bool) -> ValidationException:
    """Why a function cannot be called: because of its place, or because DynamoDB does not have it."""
    problem = function_problem(node.name, in_update) if node.name in OPERAND_COUNTS else None
    return refused(problem) if problem is not None else refused(f"Unrecognized function: {node.name}", node.at)


def is_value(node: syntax_tree.Node) -> bool:
    return isinstance(node, syntax_tree.Constant | syntax_tree.Sequence | syntax_tree.Struct | syntax_tree.Parameter)


def value(node: syntax_tree.Node) -> Literal | Placeholder:
    """A literal as an operand, or a parameter in the place of one."""
    if isinstance(node, syntax_tree.Parameter):
        return placeholder(node.number)
    if isinstance(node, syntax_tree.Constant) and node.kind == "missing":
        raise refused("MISSING must be compared using IS operator")
    return Literal(literal(node))


def literal(node: syntax_tree.Node, place: str = "root", depth: int = 0) -> AttributeValue:
    """The attribute value that a literal stands for."""
    if depth == MAX_NESTING:
        raise refused(f"Nesting Levels have exceeded supported limits under {place}")
    match node:
        case syntax_tree.Constant(kind=statement_lexer.STRING):
            return {"S": node.text}
        case syntax_tree.Constant(kind=statement_lexer.NUMBER):
            return {"N": _number(node, place)}
        case syntax_tree.Constant(kind=statement_lexer.BOOLEAN):
            return {"BOOL": node.text == "true"}
        case syntax_tree.Constant(kind="null"):
            return {"NULL": True}
        case syntax_tree.Constant(kind=statement_lexer.ION):
            raise refused(f"Ion Literals are not supported: {node.text} under key {place}", node.at)
        case syntax_tree.Sequence(is_bag=True):
            return _set(node.members, place, depth)
        case syntax_tree.Sequence():
            members = [literal(m, f"{place}[{i}]", depth + 1) for i, m in enumerate(node.members)]
            return {"L": members}
        case syntax_tree.Struct():
            return {"M": _map(node, place, depth)}
    raise refused(f"Unsupported data type: {syntax_tree.kind(node)} under key {place}", node.at)


def attributes(node: syntax_tree.Struct) -> dict[str, Literal | Placeholder]:
    """The item that a struct stands for; an error in an attribute names it as it is written."""
    found: dict[str, Literal | Placeholder] = {}
    for field, member in node.fields:
        name = _key(field, "root")
        if name in found:
            raise refused(f"Duplicate keys in tuple. Key: {name} under root", field.at)
        if isinstance(member, syntax_tree.Parameter):
            found[name] = placeholder(member.number)
        elif is_value(member) and not (isinstance(member, syntax_tree.Constant) and member.kind == "missing"):
            found[name] = Literal(literal(member))
        else:
            raise refused(f"Unsupported data type: {syntax_tree.written(member)} under key root", member.at)
    return found


def _number(node: syntax_tree.Constant, place: str) -> str:
    text = node.text
    if text.startswith("-") and not text[1:].isdigit() and _ZERO.issuperset(text.lower().partition("e")[0]):
        raise refused(f"Negative zero decimal is not supported under key {place}", node.at)
    try:
        return canonical_number(text)
    except ValidationException as error:
        raise ValidationException(f"{error.message} under {place}") from None


def _map(node: syntax_tree.Struct, place: str, depth: int) -> dict[str, AttributeValue]:
    members: dict[str, AttributeValue] = {}
    for field, member in node.fields:
        name = _key(field, place)
        if name in members:
            raise refused(f"Duplicate keys in tuple. Key: {name} under {place}", node.at)
        members[name] = literal(member, f"{place}.{name}", depth + 1)
    return members


def _key(node: syntax_tree.Node, place: str) -> str:
    match node:
        case syntax_tree.Constant(_, statement_lexer.STRING, text):
            return _name(text)
        case syntax_tree.Constant(_, statement_lexer.NUMBER, text):
            actual = "INT" if text.lstrip("-").isdigit() else "DECIMAL"
        case syntax_tree.Constant(_, statement_lexer.BOOLEAN):
            actual = "BOOL"
        case syntax_tree.Constant(_, "null"):
            actual = "NULL"
        case _:
            actual = syntax_tree.kind(node)
    raise refused(f"Tuple keys must be of type String. Actual type: {actual} under {place}", node.at)


def _set(nodes: tuple[syntax_tree.Node, ...], place: str, depth: int) -> AttributeValue:
    if not nodes:
        raise refused("Empty bags are not supported")
    if not isinstance(nodes[0], syntax_tree.Constant):
        raise refused(_BAG)
    members = [literal(node, place, depth + 1) for node in nodes]
    (tag,) = members[0]
    if tag not in ("S", "N") or any(tag not in member for member in members):
        raise refused(_BAG)
    elements = [str(member[tag]) for member in members]
    if len(set(elements)) != len(elements):
        listing = ", ".join(elements)
        ending = "contains duplicates." if tag == "S" else f"contains duplicates! under {place}"
        raise refused(f"{INVALID_VALUES}Input collection [{listing}] {ending}")
    return {f"{tag}S": elements}
