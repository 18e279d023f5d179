"""Tokens to trees.

The grammar nests in two places only, parentheses and function calls, and both are kept on explicit stacks: a client's
text can nest as deep as its 4096 bytes allow without reaching Python's recursion limit. The resulting tree is bounded
too, because every level of it costs an operator or a function and DynamoDB allows at most 300 of those. Everything
after the parser may therefore recurse.

A syntax error names the first token that does not fit and shows the text from the token before it to the one after. Two
pairs of parentheses directly around the same thing are refused as soon as the outer pair closes, even if the text has
errors later.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tablewright.dynamo.errors import RequestValidationException
from tablewright.dynamo.expressions import lexer
from tablewright.dynamo.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    Compare,
    Condition,
    DeleteAction,
    Function,
    In,
    NameRef,
    Not,
    Operand,
    Or,
    Path,
    PathPart,
    Placeholder,
    RemoveAction,
    SetAction,
)
from tablewright.dynamo.limits import MAX_EXPRESSION_BYTES, MAX_OPERATORS


class InvalidExpression(RequestValidationException):
    """The error for a wrong expression: ``Invalid FilterExpression: ...``."""

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"Invalid {kind}: {problem}" if kind else problem)


@dataclass(slots=True)
class Section:
    """One SET, REMOVE, ADD or DELETE section of an update expression."""

    keyword: str
    actions: list[Action]


@dataclass(slots=True)
class _Group:
    """The condition being read between two parentheses: an OR of ANDs so far."""

    alternatives: list[Condition] = field(default_factory=list)
    conjunction: list[Condition] = field(default_factory=list)
    negations: int = 0
    only_parentheses: bool = False

    @property
    def empty(self) -> bool:
        return not (self.alternatives or self.conjunction or self.negations)

    def add(self, condition: Condition, parenthesised: bool) -> None:
        self.only_parentheses = parenthesised and self.empty
        for _ in range(self.negations):
            condition = Not(condition)
        self.negations = 0
        self.conjunction.append(condition)

    def close_conjunction(self) -> None:
        parts = self.conjunction
        self.alternatives.append(parts[0] if len(parts) == 1 else And(tuple(parts)))
        self.conjunction = []

    def finish(self) -> Condition:
        self.close_conjunction()
        parts = self.alternatives
        return parts[0] if len(parts) == 1 else Or(tuple(parts))


@dataclass(slots=True)
class _Open:
    """An operand's open parenthesis, or an open function call when it has a name."""

    name: str | None = None
    arguments: list[Operand] = field(default_factory=list)


def check_size(kind: str, text: str, *, report_size: bool = False) -> None:
    """An expression is neither empty nor longer than 4096 bytes, as sent; few operations report its size."""
    if not text:
        raise InvalidExpression(kind, "The expression can not be empty;")
    if len(text) * 4 > MAX_EXPRESSION_BYTES:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_EXPRESSION_BYTES:
            figure = f" expression size: {size}" if report_size else ""
            raise InvalidExpression(kind, f"Expression size has exceeded the maximum allowed size;{figure}")


class Parser:
    """Reads one expression; each public method is one kind of expression, read to its end."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        self.tokens = lexer.tokenize(text)
        self.position = 0
        self.operators = 0

    def condition(self) -> Condition:
        result = self._condition()
        self._check_operators()
        return result

    def projection(self) -> list[Path]:
        paths = [self._path()]
        while self._take(","):
            paths.append(self._path())
        if self._kind() != lexer.END:
            raise self._syntax_error()
        return paths

    def update(self) -> list[Section]:
        sections: list[Section] = []
        while True:
            keyword = self._kind()
            if keyword not in ("SET", "REMOVE", "ADD", "DELETE"):
                raise self._syntax_error()
            self.position += 1
            actions = [self._action(keyword)]
            while self._take(","):
                actions.append(self._action(keyword))
            sections.append(Section(keyword, actions))
            if self._kind() == lexer.END:
                self._check_operators()
                return sections

    # -- tokens -----------------------------------------------------------------------------------

    def _kind(self, ahead: int = 0) -> str:
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)].kind

    def _take(self, kind: str) -> bool:
        if self.tokens[self.position].kind != kind:
            return False
        self.position += 1
        return True

    def _expect(self, kind: str) -> lexer.Token:
        token = self.tokens[self.position]
        if token.kind != kind:
            raise self._syntax_error()
        self.position += 1
        return token

    def _syntax_error(self) -> InvalidExpression:
        tokens, at = self.tokens, self.position
        start = tokens[max(at - 1, 0)].start
        end = tokens[min(at + 1, len(tokens) - 1)].end
        near = self.text[start:end]
        return InvalidExpression(self.kind, f'Syntax error; token: "{tokens[at].text}", near: "{near}"')

    def _redundant_parentheses(self) -> InvalidExpression:
        return InvalidExpression(self.kind, "The expression has redundant parentheses;")

    def _check_operators(self) -> None:
        if self.operators > MAX_OPERATORS:
            # The service counts no further.
            raise InvalidExpression(
                self.kind, f"The expression contains too many operators; operator count: {MAX_OPERATORS + 1}"
            )

    # -- conditions -------------------------------------------------------------------------------

    def _condition(self) -> Condition:
        """OR binds loosest, then AND, then NOT.

        A parenthesis may contain a condition or an operand, which is only known afterwards: ``(a) = :v``. So both are
        read by the same loop, and an operand becomes part of a condition if a comparator follows it.
        """
        outer: list[_Group] = []
        group = _Group()
        while True:
            if self._take("NOT"):
                self.operators += 1
                group.negations += 1
                continue
            if self._take("("):
                outer.append(group)
                group = _Group()
                continue
            node: Operand | Condition = self._operand()
            parenthesised = False
            while True:
                if isinstance(node, Path | Placeholder | Function):
                    if self._comparison_follows():
                        node, parenthesised = self._comparison(node), False
                    elif outer and group.empty and self._take(")"):
                        if parenthesised:
                            raise self._redundant_parentheses()
                        node, parenthesised = self._rest_of_path(node)
                        group = outer.pop()
                        continue
                    elif not isinstance(node, Function):
                        raise self._syntax_error()
                if not isinstance(node, Compare | Between | In | Function | And | Or | Not):
                    raise self._syntax_error()
                group.add(node, parenthesised)
                if self._take("AND"):
                    self.operators += 1
                    break
                if self._take("OR"):
                    self.operators += 1
                    group.close_conjunction()
                    break
                if outer and self._take(")"):
                    if group.only_parentheses:
                        raise self._redundant_parentheses()
                    node, parenthesised = group.finish(), True
                    group = outer.pop()
                    continue
                if self._kind() == lexer.END and not outer:
                    return group.finish()
                raise self._syntax_error()

    def _comparison_follows(self) -> bool:
        kind = self._kind()
        return kind in lexer.COMPARATORS or kind in ("BETWEEN", "IN")

    def _comparison(self, left: Operand) -> Condition:
        token = self.tokens[self.position]
        self.position += 1
        self.operators += 1
        if token.kind == "BETWEEN":
            low = self._operand()
            self._expect("AND")
            return Between(left, low, self._operand())
        if token.kind == "IN":
            self._expect("(")
            options = [self._operand()]
            while self._take(","):
                options.append(self._operand())
            self._expect(")")
            return In(left, tuple(options))
        return Compare(token.kind, left, self._operand())

    # -- operands ---------------------------------------------------------------------------------

    def _operand(self, arithmetic: bool = False) -> Operand:
        """``arithmetic``: one pair of parentheses around the whole may also hold ``left + right``."""
        opened: list[_Open] = []
        while True:
            token = self.tokens[self.position]
            if token.kind == "(":
                self.position += 1
                opened.append(_Open())
                continue
            if token.kind == lexer.NAME and self._kind(1) == "(":
                self.position += 2
                self.operators += 1
                opened.append(_Open(token.text))
                continue
            node: Operand
            if token.kind == lexer.VALUE_REF:
                self.position += 1
                node = Placeholder(token.text)
            else:
                node = self._path()
            parenthesised = False
            while opened:
                innermost = opened[-1]
                if innermost.name is not None and self._take(","):
                    innermost.arguments.append(node)
                    break
                if arithmetic and len(opened) == 1 and innermost.name is None and self._kind() in ("+", "-"):
                    node, parenthesised = self._arithmetic(node), False
                self._expect(")")
                opened.pop()
                if innermost.name is not None:
                    node, parenthesised = Function(innermost.name, (*innermost.arguments, node)), False
                elif parenthesised:
                    raise self._redundant_parentheses()
                else:
                    node, parenthesised = self._rest_of_path(node)
            else:
                return node

    def _arithmetic(self, left: Operand) -> Operand:
        token = self.tokens[self.position]
        self.position += 1
        self.operators += 1
        return Arithmetic(token.kind, left, self._operand())

    def _rest_of_path(self, node: Operand) -> tuple[Operand, bool]:
        """A path may continue after the parentheses around its start: ``(a.b).c``."""
        if isinstance(node, Path) and self._kind() in (".", "["):
            return Path(self._steps(list(node.parts))), False
        return node, True

    def _path(self) -> Path:
        return Path(self._steps([self._name()]))

    def _name(self) -> PathPart:
        token = self.tokens[self.position]
        if token.kind not in (lexer.NAME, lexer.NAME_REF):
            raise self._syntax_error()
        self.position += 1
        return token.text if token.kind == lexer.NAME else NameRef(token.text)

    def _steps(self, parts: list[PathPart]) -> tuple[PathPart, ...]:
        while True:
            if self._take("."):
                parts.append(self._name())
            elif self._take("["):
                parts.append(int(self._expect(lexer.INDEX).text))
                self._expect("]")
            else:
                return tuple(parts)

    # -- updates ----------------------------------------------------------------------------------

    def _action(self, keyword: str) -> Action:
        path = self._path()
        if keyword == "REMOVE":
            return RemoveAction(path)
        if keyword == "SET":
            self._expect("=")
            value = self._operand(arithmetic=True)
            if not isinstance(value, Arithmetic) and self._kind() in ("+", "-"):
                value = self._arithmetic(value)
            return SetAction(path, value)
        operand = Placeholder(self._expect(lexer.VALUE_REF).text)
        return AddAction(path, operand) if keyword == "ADD" else DeleteAction(path, operand)
