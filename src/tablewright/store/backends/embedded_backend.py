"""A store's requests to an engine in the same process: a function call each, with DynamoDB's JSON on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablewright.dynamo import DynamoError
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request, Response

if TYPE_CHECKING:
    from tablewright.engine import Engine


class EmbeddedBackend:
    """Sends requests to an engine in this process; an ``owned`` engine is closed together with the backend."""

    def __init__(self, engine: Engine, *, owned: bool) -> None:
        self.engine = engine
        self._owned = owned

    def call(self, request: Request) -> Response:
        try:
            return self.engine.call(request.operation, request.body, pattern=request.pattern)
        except DynamoError as error:
            raise ServiceError(error.code, error.message or "", error.extra) from None

    async def call_async(self, request: Request) -> Response:
        try:
            return await self.engine.call_async(request.operation, request.body, pattern=request.pattern)
        except DynamoError as error:
            raise ServiceError(error.code, error.message or "", error.extra) from None

    def close(self) -> None:
        if self._owned:
            self.engine.close()
