"""Table names: plain, or as the ARN of the table, which every operation accepts instead."""

from __future__ import annotations

import re
from functools import lru_cache

from tablewright.dynamo.limits import MAX_TABLE_NAME_LENGTH, MIN_TABLE_NAME_LENGTH
from tablewright.engine.requests.input_shapes import Check, Path, String, Violations, broken_limits

NAME_PATTERN = "[a-zA-Z0-9_.-]+"

_TABLE_ARN = re.compile(rf"arn:[a-z-]+:dynamodb:[^:/]+:\d+:table/({NAME_PATTERN})")
_MAX_LENGTH = 1024
_PLAIN_NAME = String(min=MIN_TABLE_NAME_LENGTH, max=MAX_TABLE_NAME_LENGTH, pattern=NAME_PATTERN)


def table_name_of(value: str) -> str:
    """The plain name in a table name or table ARN."""
    arn = _TABLE_ARN.fullmatch(value)
    return arn[1] if arn else value


class TableName(String):
    """A name or an ARN. The parts of an empty or overlong text are not checked as well."""

    def __init__(self, *, terse: bool = False) -> None:
        super().__init__(min=1, max=_MAX_LENGTH)
        self._terse = terse

    def check(self) -> Check:
        # The same few names come with every request. A text that is too long to be one is not cached.
        @lru_cache(maxsize=1024)
        def valid(name: str) -> bool:
            return not self.broken(name)

        return lambda value: type(value) is str and len(value) <= _MAX_LENGTH and valid(value)

    def broken(self, value: str) -> list[str]:
        if not value or _TABLE_ARN.fullmatch(value):
            return broken_limits(len(value), self.min, self.max)
        return _PLAIN_NAME.broken(value)

    def violations(self, value: str, path: Path, found: Violations) -> None:
        if self._terse and not value:
            for message in self.broken(value):
                found.add_terse(path, message)
        else:
            super().violations(value, path, found)

    def constraint_list(self) -> str:
        return _PLAIN_NAME.constraint_list()
