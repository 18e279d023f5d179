"""Tokens to the tree of a statement, by precedence climbing.

In PartiQL a statement is an expression like any other, and this shows in the service's messages: the misspelt
``SELECTT * FROM t`` is a multiplication whose right side is the statement ``FROM t``, which then lacks an
operation. Only by parsing statements in that way are the messages the same.

Nesting is bounded well below Python's recursion limit, and operators in a row are bounded too, because each
makes the tree one level deeper (AND and OR do not: a row of those is one node).
"""

from __future__ import annotations

from tablewright.dynamo.limits import MAX_OPERATORS
from tablewright.engine.partiql.refusals import NotWellFormed, refused
from tablewright.engine.partiql.syntax import grammar, statement_lexer
from tablewright.engine.partiql.syntax.keyword_forms import keyword_form, type_name
from tablewright.engine.partiql.syntax.statement_lexer import Token
from tablewright.engine.partiql.syntax.syntax_tree import (
    Assignment,
    Call,
    Change,
    Constant,
    Form,
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
)
from tablewright.engine.partiql.syntax.token_reader import TokenReader


def parse(statement: str) -> Node:
    """The tree of a whole statement; raises NotWellFormed."""
    try:
        tokens = statement_lexer.tokenize(statement)
    except statement_lexer.Unreadable:
        raise NotWellFormed from None
    return _Parser(tokens).statement()


class _Parser(TokenReader):
    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self._depth = 0
        # Statements in the order of their ends, each with the word that it is reported by.
        self._statements: list[tuple[Node, str]] = []

    def statement(self) -> Node:
        node = self.expression()
        if self.take(";") is not None and not self.at_end:
            raise NotWellFormed("Unexpected token after semicolon. (Only one query is allowed.)")
        if not self.at_end:
            raise NotWellFormed("Unexpected token after expression")
        for inner, word in reversed(self._statements):
            if inner is not node:
                raise NotWellFormed(f"Keyword {word} only expected at the top level in the query")
        return node

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, precedence: int = -1) -> Node:
        self._depth += 1
        if self._depth > grammar.MAX_DEPTH:
            raise refused("Nesting Levels have exceeded supported limits")
        left = self._unary()
        operators = 0
        while True:
            operator = self.head
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
        if self.at_end:
            raise NotWellFormed("Missing right-hand side expression of infix operator")
        return self.expression(rank)

    def _rest(self, operator: str, rank: int) -> tuple[Node, ...]:
        """What follows an operator."""
        if operator in ("is", "is not"):
            return (type_name(self, operator),)
        if (
            operator in ("in", "not in")
            and self.head.kind == "("
            and self.behind_head().text not in ("select", "values")
        ):
            at = self.advance()
            members = self.list(self.expression)
            self.expect(")")
            return (Sequence(at, members),)
        right = self._right(rank)
        if operator in ("between", "not between"):
            if self.head.kind != statement_lexer.OPERATOR or self.head.text != "and":
                raise NotWellFormed("Expected AND keyword")
            self._position += 1
            if self.at_end:
                raise NotWellFormed("Expected expression after AND")
            return (right, self.expression(rank))
        if operator in ("like", "not like") and self.take_keyword("escape"):
            if self.at_end:
                raise NotWellFormed("Expected expression after ESCAPE")
            return (right, self.expression(rank))
        return (right,)

    def _unary(self) -> Node:
        token = self.head
        if token.kind != statement_lexer.OPERATOR or token.text not in ("+", "-", "not"):
            return self._path_term()
        self._position += 1
        if token.text == "not":
            return Operation(token, "not", (self.expression(grammar.NOT_PRECEDENCE),))
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
            if self.take(".") is not None:
                head = self.head
                if head.kind in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                    steps.append(Step(self.advance(), name=head.text))
                elif head.kind == "*":
                    steps.append(Step(self.advance()))
                else:
                    raise NotWellFormed("Invalid path dot component")
            elif (bracket := self.take("[")) is not None:
                star = self.take("*")
                steps.append(
                    Step(star, in_brackets=True) if star is not None else Step(bracket, index=self.expression())
                )
                self.expect("]")
            else:
                return Path(root.at, root, tuple(steps)) if steps else root

    def _term(self) -> Node:
        token = self.head
        match token.kind:
            case statement_lexer.NAME | statement_lexer.QUOTED_NAME:
                self._position += 1
                return self._call(token) if self.take("(") is not None else Name(token)
            case statement_lexer.STRING | statement_lexer.NUMBER | statement_lexer.BOOLEAN | statement_lexer.ION:
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
                members = self.list(self.expression)
                self.expect(")")
                return members[0] if len(members) == 1 else Sequence(token, members)
            case "[" | "<<":
                self._position += 1
                closing = "]" if token.kind == "[" else ">>"
                elements = () if self.head.kind == closing else self.list(self.expression)
                self.expect(closing)
                return Sequence(token, elements, is_bag=closing == ">>")
            case "{":
                self._position += 1
                fields = () if self.head.kind == "}" else self.list(self._field)
                self.expect("}")
                return Struct(token, fields)
        raise NotWellFormed("Unexpected term")

    def _field(self) -> tuple[Node, Node]:
        name = self.expression()
        self.expect(":")
        return name, self.expression()

    def _keyword_term(self, token: Token) -> Node:
        node = self._keyword_node(token)
        if isinstance(node, Change | Insert) or (isinstance(node, Form) and node.kind == "Ddl"):
            word = "null" if token.text in ("update", "from") else token.text.replace(" ", "_")
            self._statements.append((node, word))
        return node

    def _keyword_node(self, token: Token) -> Node:
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
                if not self.take_keyword("from"):
                    raise NotWellFormed("Expected FROM after DELETE")
                return Change(token, self._target(), (), self._where(), self._returning())
            case "from":
                source = self._source()
                where = self._where()
                return Change(token, source, self._operations(), where, self._returning())
            case "values":
                return Sequence(token, self.list(self._row), is_bag=True)
            case name if name in grammar.FUNCTION_KEYWORDS and self.take("(") is not None:
                return self._call(token)
            case name if name in grammar.PARTICLES:
                raise NotWellFormed("Unexpected term")
        form = keyword_form(self, token)
        if form is None:
            raise NotWellFormed("Unexpected keyword")
        return form

    def _row(self) -> Node:
        at = self.head
        if self.take("(") is None:
            raise NotWellFormed("Expected LEFT_PAREN for row value constructor")
        members = self.list(self.expression)
        self.expect(")")
        return Sequence(at, members)

    def _call(self, name: Token) -> Node:
        """A call, its parenthesis open."""
        is_aggregate = name.text in grammar.AGGREGATES and name.kind == statement_lexer.KEYWORD
        if is_aggregate:
            if self.head.kind == ")":
                raise NotWellFormed("Aggregate functions are always unary")
            if self.is_keyword("distinct") or self.is_keyword("all"):
                quantifier = self.advance().text.upper()
                if name.text == "count" and self.head.kind == "*":
                    raise NotWellFormed(f"COUNT({quantifier} *) is not supported")
            elif name.text == "count" and self.take("*") is not None:
                self.expect(")")
                return Call(name, name.text, (), is_aggregate)
        if self.head.kind == "*":
            raise NotWellFormed(f"{name.text}(*) is not allowed")
        arguments = () if self.head.kind == ")" and not is_aggregate else self.list(self.expression)
        self.expect(")")
        return Call(name, name.text.lower(), arguments, is_aggregate)

    # -- SELECT ------------------------------------------------------------------------------------

    def _select(self, at: Token) -> Node:
        # The clauses come before the projection if there are errors in both.
        projection: list[str] = []
        clauses: list[str] = []
        is_distinct = self.take_keyword("distinct")
        if not is_distinct:
            self.take_keyword("all")
        if self.take_keyword("value"):
            projection.append("Select projection doesn't support value or pivot keywords")
            items: tuple[Item, ...] = (Item(self.expression()),)
        else:
            if is_distinct:
                projection.append("Unsupported token in expression: DISTINCT")
            items = self.list(self._item)
            if len(items) > 1 and any(isinstance(item.node, Star) for item in items):
                raise NotWellFormed(
                    "Other expressions may not be present in the select list when '*' is used without dot notation."
                )
        if not self.take_keyword("from"):
            raise NotWellFormed("Expected FROM after SELECT list")
        source = self._source(grammar.SELECT_PRECEDENCE)
        where = self._where(grammar.SELECT_PRECEDENCE)
        order: tuple[Order, ...] = ()
        if self.take_keyword("order"):
            self._by()
            order = self.list(self._order)
        if self.is_keyword("group"):
            self._position += 1
            self.take_keyword("partial")
            self._by()
            keys = self.list(lambda: self._aliased(grammar.SELECT_PRECEDENCE))
            if any(isinstance(key.node, Constant) and key.node.kind != "missing" for key in keys):
                raise NotWellFormed("Literals (including ordinals) not supported in GROUP BY")
            clauses.append("Unsupported clause: GROUP BY")
        for name in ("having", "limit", "offset"):
            if self.take_keyword(name):
                clauses.append(f"Unsupported clause: {name.upper()} at {self.head.place}")
                self.expression(grammar.SELECT_PRECEDENCE)
        return Select(at, items, source, where, order, next(iter(clauses + projection), None))

    def _by(self) -> None:
        if not self.take_keyword("by"):
            raise NotWellFormed("Expected BY")

    def _order(self) -> Order:
        node = self.expression()
        descending = self.is_keyword("desc")
        if descending or self.is_keyword("asc"):
            self._position += 1
        return Order(node, descending)

    def _item(self) -> Item:
        star = self.take("*")
        if star is not None:
            return Item(Star(star))
        head = self.head
        if head.kind == statement_lexer.KEYWORD and head.text in grammar.STATEMENT_KEYWORDS:
            keyword = head.text.replace(" ", "_")
            raise NotWellFormed(
                f"Expected identifier or an expression but found unexpected keyword '{keyword}' in a select list."
            )
        return self._aliased()

    def _aliased(self, precedence: int = -1) -> Item:
        node = self.expression(precedence)
        if isinstance(node, Path):
            _check_stars(node)
        return Item(node, self._alias())

    def _alias(self) -> Token | None:
        if self.take_keyword("as"):
            if self.head.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                raise NotWellFormed("Expected identifier for AS-alias")
            return self.advance()
        return self.advance() if self.head.kind in (statement_lexer.NAME, statement_lexer.QUOTED_NAME) else None

    def _aliases(self) -> Token | None:
        """AS, AT and BY, each of which renames the source."""
        alias = self._alias()
        for keyword in ("at", "by"):
            if self.take_keyword(keyword):
                if self.head.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                    raise NotWellFormed(f"Expected identifier for {keyword.upper()}-alias")
                alias = alias or self.head
                self._position += 1
        return alias

    def _source(self, precedence: int = -1) -> Source:
        self.take_keyword("unpivot")
        node = self.expression(precedence)
        alias = self._aliases()
        joined = False
        while self.head.kind == "," or (self.head.kind == statement_lexer.KEYWORD and self.head.text in grammar.JOINS):
            joined = True
            needs_condition = self.head.kind != "," and self.head.text != "cross join"
            self._position += 1
            self.expression(precedence)
            self._aliases()
            if needs_condition:
                if not self.take_keyword("on"):
                    raise NotWellFormed("Expected 'ON'")
                self.expression(precedence)
        return Source(node, alias, joined)

    # -- writes ------------------------------------------------------------------------------------

    def _target(self) -> Source:
        node = self._simple_path()
        return Source(node, self._aliases())

    def _simple_path(self) -> Node:
        token = self.head
        if token.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
            raise NotWellFormed("Expected identifier for simple path")
        self._position += 1
        steps = []
        while True:
            if self.take(".") is not None:
                head = self.head
                if head.kind == "*":
                    raise NotWellFormed("Invalid path dot component for simple path")
                if head.kind not in (statement_lexer.NAME, statement_lexer.QUOTED_NAME):
                    raise NotWellFormed("Invalid path dot component")
                steps.append(Step(self.advance(), name=head.text))
            elif (bracket := self.take("[")) is not None:
                star = self.take("*")
                index = None if star is not None else self.expression()
                self.expect("]")
                if not isinstance(index, Constant | Name):
                    raise NotWellFormed("Invalid path component for simple path")
                steps.append(Step(bracket, index=index))
            else:
                return Path(token, Name(token), tuple(steps)) if steps else Name(token)

    def _operations(self) -> tuple[Assignment | Removal | Insert, ...]:
        operations: list[Assignment | Removal | Insert] = []
        while self.head.kind == statement_lexer.KEYWORD and self.head.text in ("set", "remove", "insert into"):
            if self.take_keyword("set"):
                operations.extend(self.list(self._assignment))
            else:
                operations.append(self._operation())
        if not operations:
            raise NotWellFormed("Expected data manipulation")
        return tuple(operations)

    def _operation(self) -> Assignment | Removal | Insert:
        keyword = self.advance()
        if keyword.text == "set":
            return self.list(self._assignment)[0]
        target = self._simple_path()
        if keyword.text == "remove":
            return Removal(target)
        if not self.take_keyword("value"):
            return Insert(keyword, target, self.expression(), is_one=False)
        value = self.expression()
        unsupported = None
        if self.take_keyword("at"):
            unsupported = "AT"
            self.expression()
        if self.take_keyword("on conflict"):
            unsupported = unsupported or "ON CONFLICT"
            self._conflict()
        return Insert(keyword, target, value, True, unsupported, self._returning())

    def _conflict(self) -> None:
        if self.take_keyword("where"):
            self.expression()
            if self.take_keyword("do nothing"):
                return
        raise NotWellFormed("invalid ON CONFLICT syntax")

    def _assignment(self) -> Assignment:
        target = self._simple_path()
        if self.head.kind != statement_lexer.OPERATOR or self.head.text != "=":
            raise NotWellFormed("Expected '='")
        self._position += 1
        return Assignment(target, self.expression())

    def _where(self, precedence: int = -1) -> Node | None:
        return self.expression(precedence) if self.take_keyword("where") else None

    def _returning(self) -> tuple[Returning, ...]:
        return self.list(self._returning_element) if self.take_keyword("returning") else ()

    def _returning_element(self) -> Returning:
        mapping = grammar.MAPPINGS.get(self.head.text) if self.head.kind == statement_lexer.KEYWORD else None
        if mapping is None:
            raise NotWellFormed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.")
        self._position += 1
        if self.take("*") is not None:
            return Returning(mapping, None)
        column = self.expression()
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
