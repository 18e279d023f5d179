"""Common parts of responses: views of entities, and the end of a page."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field
from typing_extensions import TypedDict

from tablewright.runtime.http.json_values import ApiModel
from tablewright.store import TolerantPage
from tablewright.systems.unreadable_log import UnreadableItem, unreadable_items

__all__ = ["LEFT_OUT", "EntityView", "PageEnd", "page_end"]

LEFT_OUT: Any = Field(default_factory=list, description="items that cannot be read, and are left out of the list")


class EntityView(ApiModel):
    """A view that has the fields of an entity under the same names."""

    @classmethod
    def of(cls, entity: object) -> Self:
        return cls(**{name: getattr(entity, name) for name in cls.model_fields})


class PageEnd(TypedDict):
    """The fields of a page other than the list itself."""

    cursor: str | None
    unreadable: list[UnreadableItem]


def page_end(page: TolerantPage[Any]) -> PageEnd:
    return {"cursor": page.cursor, "unreadable": unreadable_items(page.unreadable)}
