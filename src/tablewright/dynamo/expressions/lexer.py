"""Text to tokens.

The lexer never fails: a character that begins no token becomes a token of kind ``BAD``, and the parser reports it at
its position, because DynamoDB names the first token that does not fit, of any kind.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NAME = "name"
NAME_REF = "#name"
VALUE_REF = ":value"
INDEX = "index"
BAD = "bad"
END = "end"

KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})
COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<word>[A-Za-z][A-Za-z0-9_]*)
      | (?P<name_ref>\#[A-Za-z0-9_]+)
      | (?P<value_ref>:[A-Za-z0-9_]+)
      | (?P<index>0|[1-9][0-9]*)
      | (?P<symbol><>|<=|>=|[=<>()\[\],.+-])
      | (?P<bad>[^ \t\r\n])
    )""",
    re.VERBOSE | re.ASCII,
)
_KIND_OF_GROUP = {"name_ref": NAME_REF, "value_ref": VALUE_REF, "index": INDEX, "bad": BAD}


class Token(NamedTuple):
    """``kind`` is one of the constants above, the keyword in capitals, or the symbol itself."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """The tokens of the expression, closed by one of kind ``END``."""
    tokens: list[Token] = []
    position = 0
    while (match := _TOKEN.match(text, position)) is not None:
        group = match.lastgroup or "bad"
        start, position = match.span(group)
        lexeme = match[group]
        if group == "symbol":
            kind = lexeme
        elif group == "word":
            kind = lexeme.upper() if lexeme.upper() in KEYWORDS else NAME
        else:
            kind = _KIND_OF_GROUP[group]
        tokens.append(Token(kind, lexeme, start, position))
    tokens.append(Token(END, "<EOF>", len(text), len(text)))
    return tokens
