"""A short way to run statements, for the tests of PartiQL."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import DynamoError
from tablewright.engine import Engine
from tests.clocks import Clock
from tests.engine.table_requests import attributes, index, key, on_demand

Response = dict[str, Any]


class Session:
    """An engine with two tables.

    ``music`` has the key (artist, song), a global index ``by_genre`` (genre, song) of the keys alone and
    a local index ``by_year`` (artist, year) of the keys and ``label``; ``plain`` has the key (id).
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.engine = Engine.open(clock=self.clock)
        for table in (_MUSIC, _PLAIN):
            self.engine.call("CreateTable", table)
        self.engine.sweep()

    def __call__(self, statement: str, *parameters: dict[str, Any], **request: Any) -> Response:
        """ExecuteStatement."""
        if parameters:
            request["Parameters"] = list(parameters)
        return self.engine.call("ExecuteStatement", {"Statement": statement, **request})

    def items(self, statement: str, *parameters: dict[str, Any], **request: Any) -> list[Any]:
        items: list[Any] = self(statement, *parameters, **request)["Items"]
        return items

    def column(self, statement: str, *parameters: dict[str, Any], **request: Any) -> list[str]:
        """The one attribute that is selected, of every item."""
        found = self.items(statement, *parameters, **request)
        return [next(iter(next(iter(item.values())).values())) for item in found]

    def refusal(self, statement: str, *parameters: dict[str, Any], **request: Any) -> str:
        """What is answered to a statement that is refused: ``Type: message``."""
        with pytest.raises(DynamoError) as caught:
            self(statement, *parameters, **request)
        return str(caught.value)

    def invalid(self, statement: str, *parameters: dict[str, Any], **request: Any) -> str:
        """The message of a ValidationException."""
        kind, _, message = self.refusal(statement, *parameters, **request).partition(": ")
        assert kind == "ValidationException"
        return message

    def batch(self, *statements: str, **request: Any) -> Response:
        members = [{"Statement": statement} for statement in statements]
        return self.engine.call("BatchExecuteStatement", {"Statements": members, **request})

    def transaction(self, *statements: str, **request: Any) -> Response:
        members = [{"Statement": statement} for statement in statements]
        return self.engine.call("ExecuteTransaction", {"TransactStatements": members, **request})


_LABEL = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["label"]}
_MUSIC = on_demand(
    AttributeDefinitions=attributes("artist", "song", "genre", "year:N"),
    KeySchema=key("artist", "song"),
    GlobalSecondaryIndexes=[index("by_genre", "genre", "song", Projection={"ProjectionType": "KEYS_ONLY"})],
    LocalSecondaryIndexes=[index("by_year", "artist", "year", Projection=_LABEL)],
)
_PLAIN = on_demand(TableName="plain", AttributeDefinitions=attributes("id"), KeySchema=key("id"))
