"""The tokens of a statement, one after the other: the base of all parts of the parser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from tablewright.engine.partiql.refusals import NotWellFormed
from tablewright.engine.partiql.syntax import grammar, statement_lexer
from tablewright.engine.partiql.syntax.statement_lexer import Token
from tablewright.engine.partiql.syntax.syntax_tree import Node

T = TypeVar("T")


class TokenReader(ABC):
    """``take`` and its relatives advance if the next token matches; ``expect`` and its relatives refuse otherwise."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0

    @abstractmethod
    def expression(self, precedence: int = -1) -> Node:
        """The expression that begins here."""

    @property
    def head(self) -> Token:
        return self._tokens[self._position]

    @property
    def at_end(self) -> bool:
        return self.head.kind == statement_lexer.END

    def behind_head(self) -> Token:
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def advance(self) -> Token:
        token = self._tokens[self._position]
        self._position += 1
        return token

    def take(self, kind: str) -> Token | None:
        return self.advance() if self.head.kind == kind else None

    def expect(self, symbol: str) -> None:
        if self.take(symbol) is None:
            raise NotWellFormed(f"Expected {grammar.SYMBOL_NAMES[symbol]}")

    def is_keyword(self, text: str) -> bool:
        head = self.head
        return head.kind == statement_lexer.KEYWORD and head.text == text

    def take_keyword(self, text: str) -> bool:
        if not self.is_keyword(text):
            return False
        self._position += 1
        return True

    def expect_keyword(self, text: str) -> None:
        if not self.take_keyword(text):
            raise NotWellFormed(f"Expected {text.upper()} keyword")

    def list(self, element: Callable[[], T]) -> tuple[T, ...]:
        """Elements with commas between them."""
        elements = [element()]
        while self.take(",") is not None:
            elements.append(element())
        return tuple(elements)
