"""Forms that begin with a keyword of their own: DATE, CAST, CASE, CREATE and the like, and the names of types.

DynamoDB runs none of them. They are read because their keywords make likely names for attributes (``date``,
``time``, ``case``), and an unquoted attribute of such a name is reported as an error in that form.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tablewright.engine.partiql.refusals import NotWellFormed
from tablewright.engine.partiql.syntax import grammar, statement_lexer
from tablewright.engine.partiql.syntax.statement_lexer import Token
from tablewright.engine.partiql.syntax.syntax_tree import Call, Constant, Form, Node, TypeName
from tablewright.engine.partiql.syntax.token_reader import TokenReader

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{2}:\d{2}:\d{2}(?:\.\d*)?(?:[+-]\d{2}:\d{2})?", re.ASCII)
_PARTS = ("year", "month", "day", "hour", "minute", "second", "timezone_hour", "timezone_minute")
_NAMES = (statement_lexer.NAME, statement_lexer.QUOTED_NAME)


def keyword_form(reader: TokenReader, keyword: Token) -> Node | None:
    """The form that a keyword begins, after the keyword; None if it begins none of this kind."""
    read = _FORMS.get(keyword.text)
    return None if read is None else read(reader, keyword)


def type_name(reader: TokenReader, asking: str) -> TypeName:
    """The name of a type, with its parameters in parentheses."""
    token = reader.head
    name = grammar.TYPE_ALIASES.get(token.text, token.text)
    if token.kind != statement_lexer.KEYWORD or name not in grammar.TYPES:
        raise NotWellFormed("Expected type name")
    reader.advance()
    parameters: tuple[Node, ...] = ()
    if reader.take("(") is not None:
        parameters = reader.list(reader.expression)
        reader.expect(")")
    if len(parameters) > grammar.TYPES[name]:
        written, most = name.replace(" ", "_"), grammar.TYPES[name]
        raise NotWellFormed(f"{asking.replace(' ', '_')} type argument {written} must have arity of 0..{most}")
    for parameter in parameters:
        if not isinstance(parameter, Constant) or not parameter.text.isdigit():
            raise NotWellFormed("Type parameter must be an unsigned integer literal")
    return TypeName(token, name)


def _date(reader: TokenReader, keyword: Token) -> Node:
    token = reader.head
    if token.kind != statement_lexer.STRING:
        raise NotWellFormed(f"Expected date string followed by the keyword DATE, found {_ion_type(token)}")
    if not _DATE.fullmatch(token.text):
        raise NotWellFormed("Expected DATE string to be of the format yyyy-MM-dd")
    return Form(reader.advance(), "Date", "UNKNOWN")


def _time(reader: TokenReader, keyword: Token) -> Node:
    if reader.take("(") is not None:
        token = reader.advance()
        if token.kind != statement_lexer.NUMBER or not token.text.isdigit() or len(token.text) > 1:
            raise NotWellFormed("Expected integer value between 0 and 9 for precision")
        reader.expect(")")
    if reader.head.kind == statement_lexer.KEYWORD:
        for text in ("with", "time", "zone"):
            reader.expect_keyword(text)
    token = reader.head
    if token.kind != statement_lexer.STRING:
        found = _ion_type(token)
        raise NotWellFormed(f"Expected time string followed by the keyword TIME OR TIME WITH TIME ZONE, found {found}")
    if not _TIME.fullmatch(token.text.replace(" ", "")):
        raise NotWellFormed(
            'Invalid format for time string. Expected format is "TIME [(p)] [WITH TIME ZONE] '
            'HH:MM:SS[.ddddd...][+|-HH:MM]"'
        )
    return Form(reader.advance(), "LitTime", "UNKNOWN")


def _ion_type(token: Token) -> str:
    if token.kind == statement_lexer.NUMBER:
        return "INT" if token.text.isdigit() else "DECIMAL"
    if token.kind == statement_lexer.BOOLEAN:
        return "BOOL"
    return "NULL" if token.kind == statement_lexer.KEYWORD and token.text == "null" else "SYMBOL"


def _cast(reader: TokenReader, keyword: Token) -> Node:
    if reader.take("(") is None:
        raise NotWellFormed(f"Missing left parenthesis after {keyword.text}")
    reader.expression()
    if not reader.take_keyword("as"):
        raise NotWellFormed("Expected AS")
    type_name(reader, keyword.text)
    reader.expect(")")
    return Form(keyword, "Cast", keyword.text)


def _case(reader: TokenReader, keyword: Token) -> Node:
    kind = "SearchedCase"
    if not reader.is_keyword("when"):
        kind = "SimpleCase"
        reader.expression()
        if not reader.is_keyword("when"):
            raise NotWellFormed("Expected a WHEN clause in CASE")
    while reader.take_keyword("when"):
        reader.expression()
        reader.expect_keyword("then")
        reader.expression()
    if reader.take_keyword("else"):
        reader.expression()
    reader.expect_keyword("end")
    return Form(keyword, kind, "CASE")


def _arguments(reader: TokenReader, keyword: Token) -> Node:
    if reader.take("(") is None:
        raise NotWellFormed(f"Missing left parenthesis after {keyword.text}")
    arguments = reader.list(reader.expression)
    if keyword.text == "nullif" and len(arguments) == 1:
        raise NotWellFormed("Expected COMMA")
    reader.expect(")")
    return Call(keyword, keyword.text, arguments)


def _function(reader: TokenReader, keyword: Token) -> Node:
    """TRIM, SUBSTRING and those of dates, each with words between its arguments."""
    reader.expect("(")
    if keyword.text in ("extract", "date_add", "date_diff"):
        if reader.head.kind != statement_lexer.NAME or reader.head.text.lower() not in _PARTS:
            raise NotWellFormed(f"Expected one of: [{', '.join(_PARTS)}]")
        reader.advance()
        if keyword.text == "extract":
            reader.expect_keyword("from")
        elif reader.take(",") is None:
            raise NotWellFormed("Expected COMMA")
    arguments = [reader.expression()]
    if keyword.text == "substring" and reader.head.kind != "," and not reader.is_keyword("from"):
        raise NotWellFormed("Expected KEYWORD 'from' OR COMMA")
    while reader.take(",") is not None or any(map(reader.take_keyword, ("from", "for"))):
        arguments.append(reader.expression())
    reader.expect(")")
    return Call(keyword, keyword.text, tuple(arguments))


def _definition(reader: TokenReader, keyword: Token) -> Node:
    if not reader.take_keyword("table"):
        raise NotWellFormed(f"Unexpected token following {keyword.text.upper()}")
    if reader.head.kind not in _NAMES:
        raise NotWellFormed("Expected identifier!")
    reader.advance()
    return Form(keyword, "Ddl", keyword.text)


_FORMS: dict[str, Callable[[TokenReader, Token], Node]] = {
    "can_cast": _cast,
    "can_lossless_cast": _cast,
    "case": _case,
    "cast": _cast,
    "coalesce": _arguments,
    "create": _definition,
    "date": _date,
    "date_add": _function,
    "date_diff": _function,
    "drop": _definition,
    "extract": _function,
    "nullif": _arguments,
    "substring": _function,
    "time": _time,
    "trim": _function,
}
