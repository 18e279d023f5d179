"""The tree of a statement as PartiQL parses it, before it is checked whether DynamoDB would run it.

PartiQL's grammar is much wider than what DynamoDB runs: a projection may be any expression, a FROM any query. The tree
covers all of it, each node with the token that messages refer to, and ``translate`` restricts it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tablewright.engine.partiql.syntax.statement_lexer import Token


@dataclass(frozen=True, slots=True)
class Name:
    """An attribute, a table or an index."""

    at: Token

    @property
    def text(self) -> str:
        return self.at.text


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, a number (its sign folded in), a boolean, NULL or MISSING."""

    at: Token
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A ``?``; they are counted from 1."""

    at: Token
    number: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """``[...]``, ``(..., ...)`` or, if it is a bag, ``<<...>>``."""

    at: Token
    members: tuple[Node, ...]
    is_bag: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """``{...: ...}``."""

    at: Token
    fields: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a path: into a map by name, into a list by an expression, or (neither) ``*`` or ``[*]``."""

    at: Token
    name: str | None = None
    index: Node | None = None
    in_brackets: bool = False

    @property
    def is_star(self) -> bool:
        return self.name is None and self.index is None


@dataclass(frozen=True, slots=True)
class Path:
    at: Token
    root: Node
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator and its operands; AND and OR have all operands of a chain."""

    at: Token
    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class TypeName:
    """The right side of IS, by the one name that its aliases stand for."""

    at: Token
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, by its name in lower case."""

    at: Token
    name: str
    arguments: tuple[Node, ...]
    is_aggregate: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A form that begins with a keyword and that DynamoDB never runs, with its names in messages."""

    at: Token
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Star:
    """A ``*`` in a projection, alone or at the end of a path."""

    at: Token


@dataclass(frozen=True, slots=True)
class Source:
    """The source after FROM; joined if there are several."""

    node: Node
    alias: Token | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """An element of a projection."""

    node: Node
    alias: Token | None = None


@dataclass(frozen=True, slots=True)
class Order:
    node: Node
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    at: Token
    items: tuple[Item, ...]
    source: Source
    where: Node | None
    order: tuple[Order, ...]
    # The message about a part that is parsed but never run.
    unsupported: str | None


@dataclass(frozen=True, slots=True)
class Assignment:
    target: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Removal:
    target: Node


@dataclass(frozen=True, slots=True)
class Returning:
    """``ALL OLD *`` and the like, the keywords in capitals; a column instead of ``*`` has its node here."""

    mapping: str
    column: Node | None


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT INTO``, of one VALUE or of everything that an expression gives."""

    at: Token
    target: Node
    value: Node
    is_one: bool
    # The name of a clause that is parsed but never run.
    unsupported: str | None = None
    returning: tuple[Returning, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """UPDATE, with its operations in the order written, or DELETE, with none."""

    at: Token
    # SET and REMOVE may occur without a table.
    source: Source | None
    operations: tuple[Assignment | Removal | Insert, ...]
    where: Node | None
    returning: tuple[Returning, ...]


Node = (
    Name
    | Constant
    | Parameter
    | Sequence
    | Struct
    | Path
    | Operation
    | TypeName
    | Call
    | Form
    | Star
    | Select
    | Insert
    | Change
)

_OPERATIONS = {
    "and": "And",
    "or": "Or",
    "=": "Eq",
    "<>": "Ne",
    "<": "Lt",
    "<=": "Lte",
    ">": "Gt",
    ">=": "Gte",
    "between": "Between",
    "in": "InCollection",
    "is": "IsType",
    "like": "Like",
    "+": "Plus",
    "-": "Minus",
    "*": "Times",
    "/": "Divide",
    "%": "Modulo",
    "||": "Concat",
}
_NAMES = {Name: "Id", Change: "Dml", Insert: "Dml"}


def kind(node: Node) -> str:
    """The name of a node in PartiQL's own tree, and in the service's messages."""
    match node:
        case Constant():
            return "Missing" if node.kind == "missing" else "Lit"
        case Form():
            return node.kind
        case Sequence():
            return "Bag" if node.is_bag else "List"
        case Operation(_, "+", (_,)):
            return "Pos"
        case Operation(_, "-", (_,)):
            return "Neg"
        case Operation(_, operator):
            if operator.startswith("not") or operator.endswith(" not"):
                return "Not"
            return _OPERATIONS.get(operator) or operator.partition(" ")[0].capitalize()
    return _NAMES.get(type(node), type(node).__name__)


def written(node: Node) -> str:
    """The text for a node in messages about the value of an attribute."""
    match node:
        case Name() | Form():
            return node.text
        case Call():
            return node.name
        case Operation():
            return "not" if kind(node) == "Not" else node.operator
    return kind(node).upper()
