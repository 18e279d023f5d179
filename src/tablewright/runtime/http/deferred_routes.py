"""Routes that FastAPI builds when they are first needed, instead of when their module is imported.

FastAPI builds validators for the parameters, the body and the responses of every route as it is declared: most of the
start of a process that has fifty of them, and answers two. ``DeferredRoute`` keeps the declaration and builds the rest
on first use: with the first request for it, or for the OpenAPI document.

    router = APIRouter(route_class=DeferredRoute)

This is FastAPI's own hook for route classes. Errors in a declaration are then found with the first OpenAPI document,
which tests make of every application.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import compile_path, get_name

__all__ = ["DeferredRoute"]

# What finds the route of a path; that takes no more.
_MATCHING = frozenset({"path_regex", "path_format", "param_convertors"})


class DeferredRoute(APIRoute):
    """A route whose path, methods, name, endpoint and dependencies are known at once, and the rest on demand."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.path = path
        self.endpoint = endpoint
        self.name = get_name(endpoint) if options.get("name") is None else options["name"]
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.dependencies = list(options.get("dependencies") or ())
        self._options = options

    def __getattr__(self, name: str) -> Any:
        """Create attributes that are still missing: those of the compiled path, or all others."""
        if name in _MATCHING:
            self.path_regex, self.path_format, self.param_convertors = compile_path(self.path)
        else:
            options = self.__dict__.pop("_options", None)
            if options is None:
                raise AttributeError(f"a route has no {name}")
            try:
                super().__init__(self.path, self.endpoint, **options)
            except BaseException:
                self._options = options
                raise
        return getattr(self, name)
