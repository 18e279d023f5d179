"""The call ``GET /search`` of a system: searches what the caller may read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field

from tablewright.runtime.errors import ServiceProblem
from tablewright.runtime.http.deferred_routes import DeferredRoute
from tablewright.runtime.http.dependencies import allow, runtime_of
from tablewright.runtime.http.json_values import ApiModel
from tablewright.runtime.http.problems import documented
from tablewright.runtime.identity.access import Caller, Grant, Role
from tablewright.runtime.parameter_texts import matching
from tablewright.runtime.search.searchable import Excerpt

if TYPE_CHECKING:
    from tablewright.runtime.background.consumer_threads import ConsumerThreads
    from tablewright.runtime.search.search import Search

# What other packages use.
__all__ = ["search_route"]

_MAX_QUERY = 200

SearchText = Annotated[
    str,
    Query(
        min_length=1,
        max_length=_MAX_QUERY,
        pattern=matching(r"\S", "give at least one word"),
        description="words or prefixes of words; case and accents are ignored, and no character is an operator",
        examples=["login"],
    ),
]
SearchLimit = Annotated[int, Query(ge=1, le=50, description="maximum number of results")]


class Passage(ApiModel):
    """A piece of text."""

    text: str = Field(examples=["Fix the login page"])
    matches: list[tuple[int, int]] = Field(
        description="where the words were found: start and end", examples=[[[8, 13]]]
    )

    @classmethod
    def of(cls, excerpt: Excerpt) -> Passage:
        return cls(text=excerpt.text, matches=list(excerpt.matches))


class SearchResult(ApiModel):
    kind: str = Field(description="the kind of thing", examples=["ticket"])
    ids: dict[str, str] = Field(description="its ids", examples=[{"ticket_id": "tkt_1"}])
    title: Passage
    excerpt: Passage


class SearchPage(ApiModel):
    results: list[SearchResult] = Field(description="best first; only what the caller may read")
    behind_seconds: float = Field(
        description="how many seconds the index is behind the tables; 0 for up to one", examples=[0]
    )
    is_building: bool = Field(
        description="whether the index is being rebuilt, so results may be missing", examples=[False]
    )


def search_of(request: Request) -> Search:
    """The search of this process. A function has none: the index is a file that the consumers of a process maintain."""
    runtime = runtime_of(request)
    if runtime.is_function:
        raise ServiceProblem(
            "functions have no search index; deploy the system with --container, or run `tablewright up` alongside the "
            "functions on the same tables",
            kind="not-offered",
        )
    return runtime.search


def search_route(system: str, *readers: Role | Grant) -> APIRouter:
    """A router with the call, for some roles; what each of them finds is declared with the system's search."""
    router = APIRouter(route_class=DeferredRoute)

    async def search(request: Request, caller: Caller, q: SearchText, limit: SearchLimit = 20) -> SearchPage:
        """What the caller may read that has words beginning as those given, the best first."""
        index = search_of(request)
        found = await index.find(system, caller, q, limit)
        threads: ConsumerThreads = request.app.state.consumer_threads
        behind = [lag for name, lag in threads.behind().items() if name.startswith(f"{system}.search")]
        return SearchPage(
            results=[
                SearchResult(
                    kind=each.kind, ids=each.ids, title=Passage.of(each.title), excerpt=Passage.of(each.excerpt)
                )
                for each in found
            ],
            behind_seconds=max(behind, default=0.0),
            is_building=index.is_building(system),
        )

    annotations: dict[str, Any] = search.__annotations__
    annotations["caller"] = Annotated[Caller, allow(*readers)]
    router.add_api_route("/search", search, methods=["GET"], tags=["search"], responses=documented(501))
    return router
