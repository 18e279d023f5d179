"""Tokens to the tree of a statement, by precedence climbing.

In PartiQL a statement is an expression like any other, and the service's parser says so: the misspelt
``SELECTT * FROM t`` is a multiplication whose right side is the statement ``FROM t``, which then lacks an
operation. The messages only come out right when statements are read that way, so they are.

Nesting is bounded well below Python's recursion limit, and operators in a row are bounded too, because each
makes the tree one level deeper (AND and OR do not: a row of those is one node).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tablewright.dynamo.limits import MAX_OPERATORS
from tablewright.engine.partiql.refusals import NotWellFormed, refused
from tablewright.engine.partiql.syntax import grammar, statement_lexer
from tablewright.engine.partiql.syntax.statement_lexer import Token
from tablewright.engine.partiql.syntax.syntax_tree import (
    Assignment,
    Call,
    Change,
    Constant,
    Insert,
    Item,
    Name,
    Node,
    Operation,
    Order,
    Parameter,
    Path,
    Removal,
    Returning,
    Select,
    Sequence,
    Source,
    Star,
    Step,
    Struct,
    TypeName,
)

T = TypeVar("T")


def parse(statement: str) -> Node:
    """The tree of a whole statement; raises NotWellFormed."""
    try:
        tokens = statement_lexer.tokenize(statement)
    except statement_lexer.Unreadable:
        raise NotWellFormed from None
    return _Parser(tokens).statement()


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def statement(self) -> Node:
        node = self._expression()
        if self._take(";") is not None and self._head.kind != statement_lexer.END:
            raise NotWellFormed("Unexpected token after semicolon. (Only one query is allowed.)")
        if self._head.kind != statement_lexer.END:
            raise NotWellFormed("Unexpected token after expression")
        return node

    # -- tokens ------------------------------------------------------------------------------------

    @property
    def _head(self) -> Token:
        return self._tokens[self._position]

    def _next(self) -> Token:
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def _advance(self) -> Token:
        token = self._tokens[self._position]
        self._position += 1
        return token

    def _take(self, kind: str) -> Token | None:
        return self._advance() if self._head.kind == kind else None

    def _is_keyword(self, text: str) -> bool:
        head = self._head
        return head.kind == statement_lexer.KEYWORD and head.text == text

    def _take_keyword(self, text: str) -> bool:
        if not self._is_keyword(text):
            return False
        self._position += 1
        return True

    def _expect(self, symbol: str) -> None:
        if self._take(symbol) is None:
            raise NotWellFormed(f"Expected {grammar.SYMBOL_NAMES[symbol]}")

    def _list(self, element: Callable[[], T]) -> tuple[T, ...]:
        elements = [element()]
        while self._take(",") is not None:
            elements.append(element())
        return tuple(elements)

    # -- expressions -------------------------------------------------------------------------------

    def _expression(self, precedence: int = -1) -> Node:
        self._depth += 1
        if self._depth > grammar.MAX_DEPTH:
            raise refused("Nesting Levels have exceeded supported limits")
        left = self._unary()
        operators = 0
        while True:
            operator = self._head
            if operator.kind != statement_lexer.OPERATOR and operator.kind != "*":
                break
            rank = grammar.PRECEDENCE.get(operator.text, 0)
            if rank <= precedence or not rank:
                break
            self._position += 1
            if operator.text in ("and", "or"):
                right = self._right(rank)
                if isinstance(left, Operation) and left.operator == operator.text:
                    left = Operation(left.at, operator.text, (*left.operands, right))
                else:
                    left = Operation(operator, operator.text, (left, right))
                continue
            operators += 1
            if operators > MAX_OPERATORS:
                raise refused("Nesting Levels have exceeded supported limits")
            left = Operation(operator, operator.text, (left, *self._rest(operator.text, rank)))
        self._depth -= 1
        return left

    def _right(self, rank: int) -> Node:
        if self._head.kind == statement_lexer.END:
            raise NotWellFormed("Missing right-hand side expression of infix operator")
        return self._expression(rank)

    def _rest(self, operator: str, rank: int) -> tuple[Node, ...]:
        """What follows an operator."""
        if operator in ("is", "is not"):
            return (self._type(operator),)
        if operator in ("in", "not in") and self._head.kind == "(" and self._next().text not in ("select", "values"):
            at = self._advance()
            members = self._list(self._expression)
            self._expect(")")
            return (Sequence(at, members),)
        right = self._right(rank)
        if operator in ("between", "not between"):
            if self._head.kind != statement_lexer.OPERATOR or self._head.text != "and":
                raise NotWellFormed("Expected AND keyword")
            self._position += 1
            if self._head.kind == statement_lexer.END:
                raise NotWellFormed("Expected expression after AND")
            return (right, self._expression(rank))
        if operator in ("like", "not like") and self._take_keyword("escape"):
            if self._head.kind == statement_lexer.END:
                raise NotWellFormed("Expected expression after ESCAPE")
            return (right, self._expression(rank))
        return (right,)

    def _type(self, operator: str) -> Node:
        token = self._head
        name = grammar.TYPE_ALIASES.get(token.text, token.text)
        if token.kind != statement_lexer.KEYWORD or name not in grammar.TYPES:
            raise NotWellFormed("Expected type name")
        self._position += 1
        parameters: tuple[Node, ...] = ()
        if self._take("(") is not None:
            parameters = self._list(self._expression)
            self._expect(")")
        if len(parameters) > grammar.TYPES[name]:
            written, most = name.replace(" ", "_"), grammar.TYPES[name]
            raise NotWellFormed(f"{operator.replace(' ', '_')} type argument {written} must have arity of 0..{most}")
        for parameter in parameters:
            if not isinstance(parameter, Constant) or not parameter.text.isdigit():
                raise NotWellFormed("Type parameter must be an unsigned integer literal")
        return TypeName(token, name)

    def _unary(self) -> Node:
        token = self._head
        if token.kind != statement_lexer.OPERATOR or token.text not in ("+", "-", "not"):
            return self._path_term()
        self._position += 1
        if token.text == "not":
            return Operation(token, "not", (self._expression(grammar.NOT_PRECEDENCE),))
        self._depth += 1
        if self._depth > grammar.MAX_DEPTH:
            raise refused("Nesting Levels have exceeded supported limits")
        operand = self._unary()
        self._depth -= 1
        if isinstance(operand, Constant) and operand.kind == statement_lexer.NUMBER:
            if token.text == "+":
                return operand
            negated = operand.text[1:] if operand.text.startswith("-") else f"-{operand.text}"
            return Constant(operand.at, statement_lexer.NUMBER, negated)
        return Operation(token, token.text, (operand,))

    def _path_term(self) -> Node:
        root = self._term()
        steps = []
        while True:
            if self._take(".") is not None:
                head = self._head
                if head.kind in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                    steps.append(Step(self._advance(), name=head.text))
                elif head.kind == "*":
                    steps.append(Step(self._advance()))
                else:
                    raise NotWellFormed("Invalid path dot component")
            elif (bracket := self._take("[")) is not None:
                star = self._take("*")
                steps.append(
                    Step(star, in_brackets=True) if star is not None else Step(bracket, index=self._expression())
                )
                self._expect("]")
            else:
                return Path(root.at, root, tuple(steps)) if steps else root

    def _term(self) -> Node:
        token = self._head
        match token.kind:
            case statement_lexer.NAME | statement_lexer.QUOTED_NAME:
                self._position += 1
                return self._call(token) if self._take("(") is not None else Name(token)
            case statement_lexer.STRING | statement_lexer.NUMBER | statement_lexer.BOOLEAN:
                self._position += 1
                return Constant(token, token.kind, token.text)
            case statement_lexer.PARAMETER:
                self._position += 1
                return Parameter(token, int(token.text))
            case statement_lexer.KEYWORD:
                return self._keyword_term(token)
            case statement_lexer.OPERATOR:
                raise NotWellFormed("Unexpected operator")
            case "(":
                self._position += 1
                members = self._list(self._expression)
                self._expect(")")
                return members[0] if len(members) == 1 else Sequence(token, members)
            case "[" | "<<":
                self._position += 1
                closing = "]" if token.kind == "[" else ">>"
                elements = () if self._head.kind == closing else self._list(self._expression)
                self._expect(closing)
                return Sequence(token, elements, is_bag=closing == ">>")
            case "{":
                self._position += 1
                fields = () if self._head.kind == "}" else self._list(self._field)
                self._expect("}")
                return Struct(token, fields)
        raise NotWellFormed("Unexpected term")

    def _field(self) -> tuple[Node, Node]:
        name = self._expression()
        self._expect(":")
        return name, self._expression()

    def _keyword_term(self, token: Token) -> Node:
        self._position += 1
        match token.text:
            case "null" | "missing":
                return Constant(token, token.text, token.text)
            case "select":
                return self._select(token)
            case "insert into" | "set" | "remove":
                self._position -= 1
                operation = self._operation()
                if isinstance(operation, Insert):
                    return operation
                return Change(token, None, (operation,), None, ())
            case "update":
                source = self._target()
                operations = self._operations()
                return Change(token, source, operations, self._where(), self._returning())
            case "delete":
                if not self._take_keyword("from"):
                    raise NotWellFormed("Expected FROM after DELETE")
                return Change(token, self._target(), (), self._where(), self._returning())
            case "from":
                source = self._source()
                where = self._where()
                return Change(token, source, self._operations(), where, self._returning())
            case "values":
                return Sequence(token, self._list(self._row), is_bag=True)
            case name if name in grammar.FUNCTION_KEYWORDS and self._take("(") is not None:
                return self._call(token)
        raise NotWellFormed("Unexpected keyword")

    def _row(self) -> Node:
        at = self._head
        if self._take("(") is None:
            raise NotWellFormed("Expected LEFT_PAREN for row value constructor")
        members = self._list(self._expression)
        self._expect(")")
        return Sequence(at, members)

    def _call(self, name: Token) -> Node:
        """A call, its parenthesis open."""
        is_aggregate = name.text in grammar.AGGREGATES and name.kind == statement_lexer.KEYWORD
        if is_aggregate:
            if self._head.kind == ")":
                raise NotWellFormed("Aggregate functions are always unary")
            if self._is_keyword("distinct") or self._is_keyword("all"):
                self._position += 1
            if name.text == "count" and self._take("*") is not None:
                self._expect(")")
                return Call(name, name.text, (), is_aggregate)
        if self._head.kind == "*":
            raise NotWellFormed(f"{name.text}(*) is not allowed")
        arguments = () if self._head.kind == ")" else self._list(self._expression)
        self._expect(")")
        return Call(name, name.text.lower(), arguments, is_aggregate)

    # -- SELECT ------------------------------------------------------------------------------------

    def _select(self, at: Token) -> Node:
        # The clauses come before the projection when there is something to refuse about both.
        projection: list[str] = []
        clauses: list[str] = []
        is_distinct = self._take_keyword("distinct")
        if not is_distinct:
            self._take_keyword("all")
        if self._take_keyword("value"):
            projection.append("Select projection doesn't support value or pivot keywords")
            items: tuple[Item, ...] = (Item(self._expression()),)
        else:
            if is_distinct:
                projection.append("Unsupported token in expression: DISTINCT")
            items = self._list(self._item)
            if len(items) > 1 and any(isinstance(item.node, Star) for item in items):
                raise NotWellFormed(
                    "Other expressions may not be present in the select list when '*' is used without dot notation."
                )
        if not self._take_keyword("from"):
            raise NotWellFormed("Expected FROM after SELECT list")
        source = self._source(grammar.SELECT_PRECEDENCE)
        where = self._where(grammar.SELECT_PRECEDENCE)
        order: tuple[Order, ...] = ()
        if self._take_keyword("order"):
            self._by()
            order = self._list(self._order)
        if self._is_keyword("group"):
            self._position += 1
            self._take_keyword("partial")
            self._by()
            self._list(lambda: self._aliased(grammar.SELECT_PRECEDENCE))
            clauses.append("Unsupported clause: GROUP BY")
        for name in ("having", "limit", "offset"):
            if self._take_keyword(name):
                clauses.append(f"Unsupported clause: {name.upper()} at {self._head.place}")
                self._expression(grammar.SELECT_PRECEDENCE)
        return Select(at, items, source, where, order, next(iter(clauses + projection), None))

    def _by(self) -> None:
        if not self._take_keyword("by"):
            raise NotWellFormed("Expected BY")

    def _order(self) -> Order:
        node = self._expression()
        descending = self._is_keyword("desc")
        if descending or self._is_keyword("asc"):
            self._position += 1
        return Order(node, descending)

    def _item(self) -> Item:
        star = self._take("*")
        if star is not None:
            return Item(Star(star))
        head = self._head
        if head.kind == statement_lexer.KEYWORD and head.text in grammar.STATEMENT_KEYWORDS:
            keyword = head.text.replace(" ", "_")
            raise NotWellFormed(
                f"Expected identifier or an expression but found unexpected keyword '{keyword}' in a select list."
            )
        return self._aliased()

    def _aliased(self, precedence: int = -1) -> Item:
        node = self._expression(precedence)
        if isinstance(node, Path):
            _check_stars(node)
        return Item(node, self._alias())

    def _alias(self) -> Token | None:
        if self._take_keyword("as"):
            if self._head.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                raise NotWellFormed("Expected identifier for AS-alias")
            return self._advance()
        return self._advance() if self._head.kind in (statement_lexer.NAME, statement_lexer.QUOTED_NAME) else None

    def _aliases(self) -> Token | None:
        """AS, AT and BY, any of which names the source anew."""
        alias = self._alias()
        for keyword in ("at", "by"):
            if self._take_keyword(keyword):
                if self._head.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                    raise NotWellFormed(f"Expected identifier for {keyword.upper()}-alias")
                alias = alias or self._head
                self._position += 1
        return alias

    def _source(self, precedence: int = -1) -> Source:
        self._take_keyword("unpivot")
        node = self._expression(precedence)
        alias = self._aliases()
        joined = False
        while self._head.kind == "," or (
            self._head.kind == statement_lexer.KEYWORD and self._head.text in grammar.JOINS
        ):
            joined = True
            needs_condition = self._head.kind != "," and self._head.text != "cross join"
            self._position += 1
            self._expression(precedence)
            self._aliases()
            if needs_condition:
                if not self._take_keyword("on"):
                    raise NotWellFormed("Expected 'ON'")
                self._expression(precedence)
        return Source(node, alias, joined)

    # -- writes ------------------------------------------------------------------------------------

    def _target(self) -> Source:
        node = self._simple_path()
        return Source(node, self._aliases())

    def _simple_path(self) -> Node:
        token = self._head
        if token.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
            raise NotWellFormed("Expected identifier for simple path")
        self._position += 1
        steps = []
        while True:
            if self._take(".") is not None:
                head = self._head
                if head.kind == "*":
                    raise NotWellFormed("Invalid path dot component for simple path")
                if head.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                    raise NotWellFormed("Invalid path dot component")
                steps.append(Step(self._advance(), name=head.text))
            elif (bracket := self._take("[")) is not None:
                star = self._take("*")
                index = None if star is not None else self._expression()
                self._expect("]")
                if not isinstance(index, Constant | Name):
                    raise NotWellFormed("Invalid path component for simple path")
                steps.append(Step(bracket, index=index))
            else:
                return Path(token, Name(token), tuple(steps)) if steps else Name(token)

    def _operations(self) -> tuple[Assignment | Removal | Insert, ...]:
        operations: list[Assignment | Removal | Insert] = []
        while self._head.kind == statement_lexer.KEYWORD and self._head.text in ("set", "remove", "insert into"):
            if self._take_keyword("set"):
                operations.extend(self._list(self._assignment))
            else:
                operations.append(self._operation())
        if not operations:
            raise NotWellFormed("Expected data manipulation")
        return tuple(operations)

    def _operation(self) -> Assignment | Removal | Insert:
        keyword = self._advance()
        if keyword.text == "set":
            return self._list(self._assignment)[0]
        target = self._simple_path()
        if keyword.text == "remove":
            return Removal(target)
        if not self._take_keyword("value"):
            return Insert(keyword, target, self._expression(), is_one=False)
        value = self._expression()
        unsupported = None
        if self._take_keyword("at"):
            unsupported = "AT"
            self._expression()
        if self._take_keyword("on conflict"):
            unsupported = unsupported or "ON CONFLICT"
            self._conflict()
        return Insert(keyword, target, value, True, unsupported, self._returning())

    def _conflict(self) -> None:
        if self._take_keyword("where"):
            self._expression()
            if self._take_keyword("do nothing"):
                return
        raise NotWellFormed("invalid ON CONFLICT syntax")

    def _assignment(self) -> Assignment:
        target = self._simple_path()
        if self._head.kind != statement_lexer.OPERATOR or self._head.text != "=":
            raise NotWellFormed("Expected '='")
        self._position += 1
        return Assignment(target, self._expression())

    def _where(self, precedence: int = -1) -> Node | None:
        return self._expression(precedence) if self._take_keyword("where") else None

    def _returning(self) -> tuple[Returning, ...]:
        return self._list(self._returning_element) if self._take_keyword("returning") else ()

    def _returning_element(self) -> Returning:
        mapping = grammar.MAPPINGS.get(self._head.text) if self._head.kind == statement_lexer.KEYWORD else None
        if mapping is None:
            raise NotWellFormed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.")
        self._position += 1
        if self._take("*") is not None:
            return Returning(mapping, None)
        column = self._expression()
        if not isinstance(column, Name | Path | Constant):
            raise NotWellFormed("Unsupported syntax in RETURNING columns.")
        if isinstance(column, Path) and len(column.steps) > 1:
            raise NotWellFormed("More than two paths in RETURNING columns.")
        return Returning(mapping, column)


def _check_stars(path: Path) -> None:
    """In a projection ``*`` may only be the last step, and then of names alone."""
    stars = [step for step in path.steps if step.is_star]
    if not stars:
        return
    last = path.steps[-1]
    if len(stars) > 1 or stars[0] is not last or last.in_brackets:
        raise NotWellFormed("Invalid use of * in select list")
    if any(step.index is not None for step in path.steps):
        raise NotWellFormed("Cannot use [] and * together in SELECT list expression")
