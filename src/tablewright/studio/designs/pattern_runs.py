"""Access patterns, run with typed values: their parameters with types, the requests that they made, the units.

    parameters_of(design, "Call.upcoming")           name, type, whether it is needed, choices
    await run_pattern(database, design, name, texts)  PatternRun: entities, requests, units, cursor, Python call

A run goes through a store on the studio's own backend, so it sends the same requests as a program; they are recorded.
"""

from __future__ import annotations

import re
import time
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from tablewright.design.cost import CapacityEstimate
from tablewright.model import Collection, CollectionQuery, Design, Get, ModelError, Query, Schema
from tablewright.model.patterns import BOUNDS
from tablewright.store import AsyncStore, Request, Response, ServiceError, StoreError
from tablewright.studio.items.attribute_text import exact_text
from tablewright.studio.items.python_text import Imports, python_text
from tablewright.studio.studio_database import READS, StudioDatabase, refusal
from tablewright.ui.api_calls import Refused

__all__ = [
    "Parameter",
    "PatternRun",
    "RecordedRequest",
    "choices_of",
    "consumed_units",
    "literal",
    "parameters_of",
    "plain_type",
    "planned_units",
    "run_pattern",
    "selection",
    "values_of",
]

_PAGE = 25
# So many requests of a run are said in full: one that is spread over shards has one for each.
_PLANS = 2
_MARK = re.compile(r"[#:]\w+")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a pattern: its name and type, and its choices, if these are known."""

    name: str
    annotation: Any
    is_required: bool
    takes_several: bool = False
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """A short name of the type, for people."""
        kind = plain_type(self.annotation)
        return getattr(kind, "__name__", "text")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it was sent, and the units that it took."""

    operation: str
    body: Mapping[str, Any]
    units: float


def _said(condition: str, body: Mapping[str, Any]) -> str:
    """A condition with its names and values, instead of what stands for them."""
    marks = dict(body.get("ExpressionAttributeNames", {}))
    marks |= {mark: exact_text(value) for mark, value in body.get("ExpressionAttributeValues", {}).items()}
    return _MARK.sub(lambda found: marks.get(found[0], found[0]), condition)


@dataclass(slots=True)
class PatternRun:
    """The result of a pattern."""

    name: str
    entities: list[BaseModel]
    requests: list[RecordedRequest]
    milliseconds: float
    call: str
    cursor: str | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def units(self) -> float:
        return sum(each.units for each in self.requests)

    @property
    def plan(self) -> str:
        """Which index was read with which condition, as a sentence."""
        parts = []
        for each in self.requests:
            place = (
                each.body.get("IndexName") or each.body.get("TableName") or ", ".join(each.body.get("RequestItems", ()))
            )
            condition = each.body.get("KeyConditionExpression", "")
            condition = _said(condition, each.body)
            parts.append(f"{each.operation} on {place}" + (f" where {condition}" if condition else ""))
        distinct = list(dict.fromkeys(parts))
        more = len(distinct) - _PLANS
        return "; ".join(distinct[:_PLANS]) + (f"; and {more} more" if more > 0 else "")


def planned_units(design: Design, name: str) -> float:
    """The read units that the design plans for one call."""
    return float(sum(each.read for each in CapacityEstimate(design).of(name)))


def parameters_of(design: Design, name: str) -> list[Parameter]:
    """The parameters of a pattern, in order."""
    owner, pattern = design.patterns[name]
    signature = pattern.signature
    assert signature is not None, "a pattern of a design is declared"
    hints = _hints(signature.declaration)
    schema = owner if isinstance(owner, Schema) else owner.members_[0].schemas[0]
    found = []
    for each in signature.names:
        annotation = hints.get(each)
        if annotation is None:
            annotation = _of_field(schema, pattern, each)
        found.append(
            Parameter(each, annotation, each in signature.required, each in signature.several, choices_of(annotation))
        )
    return found


def _hints(declaration: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(declaration, include_extras=True)
    except (NameError, TypeError):
        # Types that are imported for type checkers only.
        return {}


def _of_field(schema: Schema, pattern: Get | Query | CollectionQuery, name: str) -> Any:
    """The type of a parameter that is called as a field is, or that bounds one."""
    if name in BOUNDS and isinstance(pattern, Query) and pattern.range is not None:
        name = pattern.range
    info = schema.entity.model_fields.get(name)
    return str if info is None else info.annotation


def plain_type(annotation: Any) -> Any:
    """A type without None, lists and annotations."""
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return plain_type(get_args(annotation)[0])
    arguments = [each for each in get_args(annotation) if each is not type(None)]
    if origin is Literal or not arguments:
        return annotation
    if origin is Union or str(origin) == "<class 'types.UnionType'>" or isinstance(origin, type):
        return plain_type(arguments[0])
    return annotation


def choices_of(annotation: Any) -> tuple[str, ...]:
    kind = plain_type(annotation)
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(each.value) for each in kind)
    return ("true", "false") if kind is bool else ()


def values_of(parameters: Sequence[Parameter], texts: Mapping[str, str]) -> dict[str, Any]:
    """The typed texts as values; Refused names each invalid field."""
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for each in parameters:
        text = texts.get(each.name, "").strip()
        if not text:
            if each.is_required:
                wrong[each.name] = "Field required"
            continue
        try:
            if each.takes_several and text.startswith("["):
                # Typed one by one, so that each may have a comma in it.
                values[each.name] = TypeAdapter(each.annotation).validate_json(text)
                continue
            given: Any = [part.strip() for part in text.split(",") if part.strip()] if each.takes_several else text
            values[each.name] = TypeAdapter(each.annotation).validate_strings(given)
        except ValidationError as error:
            wrong[each.name] = error.errors()[0]["msg"]
    if wrong:
        raise Refused(400, "invalid", "; ".join(wrong.values()), wrong)
    return values


def call_text(name: str, pattern: Get | Query | CollectionQuery, values: Mapping[str, Any]) -> str:
    """The call of the store in Python."""
    arguments = ", ".join(f"{each}={literal(value)}" for each, value in values.items())
    if isinstance(pattern, Get):
        return f"found = store.get({name}({arguments}))"
    if isinstance(pattern, CollectionQuery):
        return f"found = store.collect({name}({arguments}))"
    return f"page = store.query({name}({arguments}), limit={_PAGE})"


def literal(value: Any) -> str:
    """The Python text of a value; the names in it must be imported."""
    return python_text(value, Imports())


async def run_pattern(
    database: StudioDatabase, design: Design, name: str, texts: Mapping[str, str], cursor: str | None = None
) -> PatternRun:
    """Run a pattern with typed values; Refused if one is not valid, or the service refuses the request."""
    owner, pattern = design.patterns[name]
    values = values_of(parameters_of(design, name), texts)
    backend = _Recording(database)
    # Cursors are good in this studio, whichever run made them.
    store = AsyncStore(backend, table_names=database.table_names, cursor_secret=b"studio of one process, reads only")
    began = time.perf_counter()
    entities: list[BaseModel]
    try:
        made = selection(owner, name, values)
        after = None
        if isinstance(pattern, Get):
            found = await store.get(made)
            entities = [] if found is None else [found]
        elif isinstance(pattern, CollectionQuery):
            collection = await store.collect(made)
            entities = [] if collection is None else _members(collection)
        else:
            page = await store.query(made, limit=_PAGE, cursor=cursor)
            entities, after = list(page.items), page.cursor
    except ServiceError as error:
        raise refusal(error, database.name) from None
    except (StoreError, ModelError, ValueError, TypeError) as error:
        raise Refused(400, "pattern", str(error), {}) from None
    took = (time.perf_counter() - began) * 1000
    return PatternRun(name, entities, backend.requests, took, call_text(name, pattern, values), after)


def selection(owner: Schema | type[Collection], name: str, values: Mapping[str, Any]) -> Any:
    declared: Any = owner
    if isinstance(owner, Schema):
        pattern = owner.patterns.get(name)
        declared = owner.entity if not isinstance(pattern, Query) else pattern.projection
    return getattr(declared, name.partition(".")[2])(**values)


def _members(collection: Collection) -> list[BaseModel]:
    """The entities of a collection, in the order of its members."""
    found: list[BaseModel] = []
    for member in type(collection).model_fields:
        value = getattr(collection, member)
        found += value if isinstance(value, list) else [value] if value is not None else []
    return found


def consumed_units(response: Response) -> float:
    """The units that a response says its request took."""
    consumed = response.get("ConsumedCapacity") or []
    parts = consumed if isinstance(consumed, list) else [consumed]
    return sum(float(part.get("CapacityUnits", 0)) for part in parts)


class _Recording:
    """A backend that keeps what it sends; it sends reads only."""

    def __init__(self, database: StudioDatabase) -> None:
        self._database = database
        self.requests: list[RecordedRequest] = []

    def call(self, request: Request) -> Response:
        raise ServiceError("ReadOnly", "the studio reads in a thread of its own")

    async def call_async(self, request: Request) -> Response:
        if request.operation not in READS:
            raise ServiceError("ReadOnly", f"{request.operation} is a write, and patterns only read")
        request.body = {**request.body, "ReturnConsumedCapacity": "INDEXES"}
        response = await self._database.answer(request)
        self.requests.append(RecordedRequest(request.operation, request.body, consumed_units(response)))
        return response

    def close(self) -> None:
        """The backend is the studio's."""
