"""Admin routes for the search index: how complete it is, and rebuilding it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field

from tablewright.runtime.background.consumer_threads import ConsumerThreads
from tablewright.runtime.errors import ResourceNotFound
from tablewright.runtime.http.deferred_routes import DeferredRoute
from tablewright.runtime.http.dependencies import allow
from tablewright.runtime.http.json_values import ApiModel
from tablewright.runtime.http.problems import documented
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Caller
from tablewright.runtime.search.search_route import search_of

router = APIRouter(route_class=DeferredRoute)

Admin = Annotated[Caller, allow(RUNTIME_ADMINS)]


class SearchIndexState(ApiModel):
    system: str = Field(examples=["tasks"])
    documents: int = Field(description="number of documents", examples=[3])
    is_building: bool = Field(description="whether it is being rebuilt, so results may be missing", examples=[False])
    failing: str | None = Field(description="the error of the last rebuild, if it failed", examples=[None])
    behind_seconds: float = Field(description="how many seconds it is behind the tables; 0 for up to one", examples=[0])


@router.get("/runtime/search", tags=["search"], responses=documented(501))
async def search_indexes(request: Request, _: Admin) -> list[SearchIndexState]:
    """The search index of each system: how many documents it has, and how far it is behind."""
    threads: ConsumerThreads = request.app.state.consumer_threads
    behind = threads.behind()
    states = await asyncio.to_thread(search_of(request).states)
    return [
        SearchIndexState(
            system=each.system,
            documents=each.documents,
            is_building=each.is_building,
            failing=each.failing,
            behind_seconds=max(
                (lag for name, lag in behind.items() if name.startswith(f"{each.system}.search")), default=0.0
            ),
        )
        for each in states
    ]


@router.post("/runtime/search/{system}/rebuild", status_code=204, tags=["search"], responses=documented(404, 409, 501))
async def rebuild_search_index(
    system: Annotated[str, Path(max_length=100, description="the name of a system", examples=["tasks"])],
    request: Request,
    _: Admin,
) -> None:
    """Rebuild the search index of a system from its tables; searches continue meanwhile."""
    search = search_of(request)
    if system not in search.systems:
        raise ResourceNotFound(f"{system} has nothing to search; choose from {', '.join(search.systems)}")
    search.rebuild_soon(system)
