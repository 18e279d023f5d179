"""Paths and literals: the parts of PartiQL that both conditions and assignments consist of.

A literal is made into an attribute value here, and a problem in one is reported with its place inside the
value (``root``, ``root[0]``, ``root[0].name``).
"""

from __future__ import annotations

from tablewright.dynamo import AttributeValue, Path, PathPart, ValidationException, canonical_number
from tablewright.dynamo.expressions import Literal, Placeholder
from tablewright.dynamo.limits import MAX_LIST_INDEX, MAX_NESTING, MAX_PATH_DEPTH
from tablewright.engine.partiql.refusals import refused
from tablewright.engine.partiql.statements import placeholder
from tablewright.engine.partiql.syntax import statement_lexer, syntax_tree

_KINDS = {
    syntax_tree.Name: "VariableReference",
    syntax_tree.Path: "Path",
    syntax_tree.Operation: "NAry",
    syntax_tree.Call: "NAry",
    syntax_tree.Parameter: "Parameter",
    syntax_tree.Select: "Select",
}


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
    index = step.index
    if isinstance(index, syntax_tree.Constant):
        if index.kind == statement_lexer.STRING:
            return _name(index.text)
        if index.kind == statement_lexer.NUMBER and index.text.lstrip("-").isdigit():
            if index.text.startswith("-") or len(index.text) > 10 or int(index.text) > MAX_LIST_INDEX:
                raise refused(f"List index is not within the allowable range; index: [{index.text}]", index.at)
            return int(index.text)
    raise refused("Unexpected path component", step.at if index is None else index.at)


def is_value(node: syntax_tree.Node) -> bool:
    return isinstance(node, syntax_tree.Constant | syntax_tree.Sequence | syntax_tree.Struct | syntax_tree.Parameter)


def value(node: syntax_tree.Node) -> Literal | Placeholder:
    """A literal, or a parameter in the place of one."""
    return placeholder(node.number) if isinstance(node, syntax_tree.Parameter) else Literal(literal(node))


def literal(node: syntax_tree.Node, place: str = "root", depth: int = 0) -> AttributeValue:
    """The attribute value that a literal stands for."""
    if depth == MAX_NESTING:
        raise refused(f"Nesting Levels have exceeded supported limits under {place}")
    match node:
        case syntax_tree.Constant(kind=statement_lexer.STRING):
            return {"S": node.text}
        case syntax_tree.Constant(kind=statement_lexer.NUMBER):
            return {"N": _number(node.text, place)}
        case syntax_tree.Constant(kind=statement_lexer.BOOLEAN):
            return {"BOOL": node.text == "true"}
        case syntax_tree.Constant(kind="null"):
            return {"NULL": True}
        case syntax_tree.Sequence(is_bag=True):
            return _set([literal(member, place, depth + 1) for member in node.members], place)
        case syntax_tree.Sequence():
            members = [literal(m, f"{place}[{i}]", depth + 1) for i, m in enumerate(node.members)]
            return {"L": members}
        case syntax_tree.Struct():
            return {"M": _map(node, place, depth)}
    kind = "LiteralMissing" if isinstance(node, syntax_tree.Constant) else _KINDS.get(type(node), type(node).__name__)
    raise refused(f"Unsupported data type: {kind} under key {place}", node.at)


def _number(text: str, place: str) -> str:
    try:
        return canonical_number(text)
    except ValidationException as error:
        raise ValidationException(f"{error.message} under {place}") from None


def _map(node: syntax_tree.Struct, place: str, depth: int) -> dict[str, AttributeValue]:
    members: dict[str, AttributeValue] = {}
    for name, member in node.fields:
        if not isinstance(name, syntax_tree.Constant) or name.kind != statement_lexer.STRING:
            raise refused("Tuple keys must be of type String", name.at)
        if name.text in members:
            raise refused(f"Duplicate keys in tuple. Key: {name.text} under {place}")
        members[name.text] = literal(member, f"{place}.{name.text}", depth + 1)
    return members


def _set(members: list[AttributeValue], place: str) -> AttributeValue:
    if not members:
        raise refused("Empty bags are not supported")
    (tag,) = members[0]
    if tag not in ("S", "N") or any(tag not in member for member in members):
        raise refused("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")
    elements = [str(member[tag]) for member in members]
    if len(set(elements)) != len(elements):
        ending = "contains duplicates." if tag == "S" else f"contains duplicates! under {place}"
        listing = ", ".join(elements)
        raise refused(f"One or more parameter values were invalid: Input collection [{listing}] {ending}")
    return {f"{tag}S": elements}
