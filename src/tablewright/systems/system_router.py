"""Routes of a system, over HTTP: a request for an item that cannot be read is refused with a remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from types import MappingProxyType
from typing import Any

from fastapi import APIRouter
from pydantic import Field

from tablewright.runtime import StateConflict
from tablewright.runtime.http.deferred_routes import DeferredRoute
from tablewright.runtime.http.json_values import ApiModel
from tablewright.store import Unreadable
from tablewright.systems.unreadable_log import UnreadableLog

__all__ = ["SystemRouter", "UnreadableList"]

# The remedy for entities without one of their own.
_REPAIR = "repair it in the table; requests that do not need it still work"


class SystemRouter(APIRouter):
    """A router whose routes respond with a conflict and a remedy if their item is unreadable."""

    def __init__(self, service: str, remedies: Mapping[str, str] = MappingProxyType({}), **options: Any) -> None:
        """``service`` is the argument of every route that has ``unreadable_log``; ``remedies`` are by entity."""
        super().__init__(route_class=DeferredRoute, **options)
        self._service = service
        self._remedies = remedies

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().add_api_route(path, self._with_remedies(endpoint), **options)

    def _with_remedies(self, endpoint: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(endpoint)
        async def route(**arguments: Any) -> Any:
            try:
                return await endpoint(**arguments)
            except Unreadable as error:
                log: UnreadableLog = arguments[self._service].unreadable_log
                log.add(error)
                remedy = self._remedies.get(error.entity, _REPAIR)
                raise StateConflict(
                    f"{error.entity} {error.key} is stored in a form that cannot be read ({error.reason}): {remedy}",
                    entity=error.entity,
                ) from None

        return route


class UnreadableEntryView(ApiModel):
    entity: str = Field(examples=["Program"])
    key: str = Field(description="the item", examples=["program_id retail, marketplace_id US"])
    reason: str = Field(description="what is wrong with it", examples=["channels: Field required"])
    first: datetime = Field(description="when it was first read")
    latest: datetime = Field(description="when it was last read")
    times: int = Field(description="how often it was read")


class UnreadableList(ApiModel):
    unreadable: list[UnreadableEntryView]

    @classmethod
    def of(cls, log: UnreadableLog) -> UnreadableList:
        return cls(
            unreadable=[
                UnreadableEntryView(
                    entity=each.error.entity,
                    key=str(each.error.key),
                    reason=each.error.reason,
                    first=each.first,
                    latest=each.latest,
                    times=each.times,
                )
                for each in log.latest
            ]
        )
