"""Writes of a design, made with typed values: their fields with types, the requests, the units, the Python call.

    writes_of(design)                              the declared writes, and create, update and delete of each entity
    fields_of(design, write)                       the fields to fill in: the key of each item, its values or changes
    await run_write(database, design, write, texts, ask, who)

A write goes through a store on the studio's own backend, so it is planned like a program's: unique values, counters and
index keys stay correct. The reads that the store needs are sent at once; each request that changes something is passed
to ``ask`` first, and sent after confirmation. It is logged like every write of the studio.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tablewright.design.cost import CapacityEstimate
from tablewright.model import Design, Entity, Get, ItemWrite, ModelError, Schema, Write, attr, schema_of
from tablewright.store import (
    AsyncStore,
    Create,
    Delete,
    Operation,
    Put,
    Request,
    Response,
    ServiceError,
    StoreError,
    Update,
)
from tablewright.studio.designs.pattern_runs import (
    Parameter,
    RecordedRequest,
    choices_of,
    consumed_units,
    literal,
    parameters_of,
    selection,
    values_of,
)
from tablewright.studio.designs.typed_value import has_members
from tablewright.studio.studio_database import READS, StudioDatabase, refusal
from tablewright.ui.api_calls import Refused

__all__ = [
    "Ask",
    "Declined",
    "WriteField",
    "WriteRun",
    "fields_of",
    "key_parameters",
    "planned_write_units",
    "run_write",
    "writes_of",
]

# Shows a request, and says whether it is to be sent.
Ask = Callable[[str, Mapping[str, Any]], Awaitable[bool]]


class Declined(Exception):
    """The user declined a write."""


@dataclass(frozen=True, slots=True)
class WriteField:
    """A field of the form for one item of a write: a part of its key, or a field that is set or changed."""

    # Which of the items, by its place in the write.
    place: int
    entity: str
    # Whether it is a part of the key, is set, is added to a number or a set, or is appended to a list.
    role: str
    parameter: Parameter

    @property
    def key(self) -> str:
        """Its name in the form: items of one write may have fields of the same name."""
        return f"{self.place}.{self.role}.{self.parameter.name}"

    @property
    def has_members(self) -> bool:
        """Whether it is edited by its members; its text is then JSON."""
        return self.role == "append" or has_members(self.parameter.annotation)


@dataclass(slots=True)
class WriteRun:
    """The result of a write."""

    name: str
    requests: list[RecordedRequest]
    milliseconds: float
    call: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def units(self) -> float:
        """The write units."""
        return sum(each.units for each in self.requests if each.operation not in READS)

    @property
    def read_units(self) -> float:
        """The units of the reads that it needed."""
        return sum(each.units for each in self.requests if each.operation in READS)


def writes_of(design: Design) -> dict[str, Write]:
    """The writes of a design by name, and those of each entity alone, such as ``update Task``."""
    found = dict(design.writes)
    for schema in design.schemas:
        entity = schema.entity
        key = {each.name for each in _key_parameters(design, schema)}
        changed = [getattr(entity, name) for name in schema.fields if name not in key]
        for item_write in (
            ItemWrite(entity, "create"),
            ItemWrite(entity, "update", sets=changed),
            ItemWrite(entity, "delete"),
        ):
            if item_write.action == "create" or (key and (changed or item_write.action == "delete")):
                name = f"{item_write.action} {entity.__name__}"
                found.setdefault(name, Write(name, item_write))
    return found


def planned_write_units(design: Design, write: Write) -> float:
    """The write units that the design plans for it."""
    return float(sum(each.write for each in CapacityEstimate(design).of_write(write)))


def fields_of(design: Design, write: Write) -> list[WriteField]:
    """The fields of the form of a write, item by item."""
    found: list[WriteField] = []
    for place, item_write in enumerate(write.item_writes):
        schema = schema_of(item_write.entity)
        name = item_write.entity.__name__
        if item_write.action in ("create", "put"):
            for field_name in schema.fields:
                info = item_write.entity.model_fields[field_name]
                made = _parameter(item_write.entity, field_name, info.is_required())
                found.append(WriteField(place, name, "set", made))
            continue
        found += [WriteField(place, name, "key", each) for each in _key_parameters(design, schema)]
        if item_write.action == "update":
            for role, names in (("set", item_write.sets), ("add", item_write.adds), ("append", item_write.appends)):
                for each in names:
                    if "." not in each:
                        found.append(WriteField(place, name, role, _parameter(item_write.entity, each, False)))
    return found


def _parameter(entity: type[Entity], name: str, is_required: bool) -> Parameter:
    annotation: Any = entity.model_fields[name].annotation
    choices = () if has_members(annotation) else choices_of(annotation)
    return Parameter(name, annotation, is_required, False, choices)


def _key_pattern(design: Design, schema: Schema) -> str | None:
    """The access pattern that finds an item by its primary key."""
    for name, (owner, pattern) in design.patterns.items():
        if owner is schema and isinstance(pattern, Get) and pattern.index is None:
            return name
    return None


def _key_parameters(design: Design, schema: Schema) -> list[Parameter]:
    name = _key_pattern(design, schema)
    return [] if name is None else parameters_of(design, name)


def key_parameters(design: Design, item_write: ItemWrite) -> list[Parameter]:
    """The key fields of the item that is changed or deleted; empty if no access pattern finds it by its primary key."""
    return _key_parameters(design, schema_of(item_write.entity))


# -- what was typed --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Typed:
    """What was typed for one item of a write."""

    item_write: ItemWrite
    key: dict[str, Any] = field(default_factory=dict)
    changes: list[tuple[str, str, Any]] = field(default_factory=list)


def _typed(design: Design, write: Write, texts: Mapping[str, str]) -> list[_Typed]:
    found = [_Typed(each) for each in write.item_writes]
    wrong: dict[str, str] = {}
    for each in fields_of(design, write):
        given = texts.get(each.key, "").strip()
        try:
            if each.has_members and given:
                value = TypeAdapter(each.parameter.annotation).validate_json(given)
            else:
                value = values_of([each.parameter], {each.parameter.name: given}).get(each.parameter.name, _NOTHING)
        except Refused as error:
            wrong[each.key] = error.detail
            continue
        except ValidationError as error:
            wrong[each.key] = _problem(each.parameter.name, error)
            continue
        if value is _NOTHING:
            continue
        if each.role == "key":
            found[each.place].key[each.parameter.name] = value
        else:
            found[each.place].changes.append((each.role, each.parameter.name, value))
    if wrong:
        raise Refused(400, "invalid", "; ".join(wrong.values()), wrong)
    return found


def _problem(name: str, error: ValidationError) -> str:
    """What is wrong with a value, and where in it."""
    first = error.errors()[0]
    place = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"])
    return f"{name}{place}: {first['msg']}" if place else first["msg"]


_NOTHING: Any = object()


def _operation(design: Design, place: int, typed: _Typed) -> tuple[Operation, str]:
    """The operation of a store, and its text in Python."""
    entity, action = typed.item_write.entity, typed.item_write.action
    name = entity.__name__
    if action in ("create", "put"):
        values = {each: value for _, each, value in typed.changes}
        try:
            made = entity(**values)
        except ValidationError as error:
            wrong = {f"{place}.set.{each['loc'][0] if each['loc'] else ''}": each["msg"] for each in error.errors()}
            raise Refused(400, "invalid", "; ".join(wrong.values()), wrong) from None
        arguments = ", ".join(f"{each}={literal(value)}" for each, value in values.items())
        return (Create(made) if action == "create" else Put(made)), f"{action.title()}({name}({arguments}))"
    pattern = _key_pattern(design, schema_of(entity))
    if pattern is None:
        raise Refused(400, "no-key", f"{name} has no access pattern by its primary key: declare a Get for it", {})
    lookup = selection(schema_of(entity), pattern, typed.key)
    arguments = ", ".join(f"{each}={literal(value)}" for each, value in typed.key.items())
    target = f"{pattern}({arguments})"
    if action == "delete":
        return Delete(lookup), f"Delete({target})"
    if not typed.changes:
        raise Refused(400, "unchanged", f"enter what is to be changed in {name}", {})
    changes, words = [], []
    for role, each, value in typed.changes:
        expression = attr(getattr(entity, each))
        # A list that is appended to takes members.
        changes.append(expression.append(*value) if role == "append" else getattr(expression, role)(value))
        shown = ", ".join(map(literal, value)) if role == "append" else literal(value)
        words.append(f"attr({name}.{each}).{role}({shown})")
    return Update(lookup, *changes), f"Update({', '.join([target, *words])})"


async def run_write(
    database: StudioDatabase, design: Design, write: Write, texts: Mapping[str, str], ask: Ask, who: str
) -> WriteRun:
    """Make a write with typed values; raises Refused if it is invalid or not allowed, Declined if the user declines."""
    database.check_may_write()
    backend = _Asking(database, ask, who, write.name)
    store = AsyncStore(backend, table_names=database.table_names)
    began = time.perf_counter()
    try:
        made = [_operation(design, place, each) for place, each in enumerate(_typed(design, write, texts))]
        await store.transact(*(operation for operation, _ in made))
    except ServiceError as error:
        raise refusal(error, database.name) from None
    except (StoreError, ModelError, ValueError, TypeError) as error:
        raise Refused(400, "write", str(error), {}) from None
    took = (time.perf_counter() - began - backend.waited) * 1000
    calls = [text for _, text in made]
    call = f"store.transact({', '.join(calls)})" if len(calls) > 1 else f"store.{calls[0][0].lower()}{calls[0][1:]}"
    return WriteRun(write.name, backend.requests, took, call)


class _Asking:
    """A backend that sends reads, and asks before it sends anything else; it keeps what it has sent."""

    def __init__(self, database: StudioDatabase, ask: Ask, who: str, about: str) -> None:
        self._database = database
        self._ask = ask
        self._who = who
        self._about = about
        self._agreed: Mapping[str, Any] | None = None
        self.requests: list[RecordedRequest] = []
        # How long the user took to confirm.
        self.waited = 0.0

    def call(self, request: Request) -> Response:
        raise ServiceError("ReadOnly", "the studio writes only where it can ask for confirmation")

    async def call_async(self, request: Request) -> Response:
        request.body = {**request.body, "ReturnConsumedCapacity": "INDEXES"}
        if request.operation in READS:
            response = await self._database.answer(request)
        else:
            # What is sent again after a fault is not asked again.
            if request.body != self._agreed:
                began = time.perf_counter()
                is_agreed = await self._ask(request.operation, request.body)
                self.waited += time.perf_counter() - began
                if not is_agreed:
                    raise Declined
                self._agreed = request.body
            response = await self._database.write_of_store(request, self._who, self._about)
        self.requests.append(RecordedRequest(request.operation, request.body, consumed_units(response)))
        return response

    def close(self) -> None:
        """The backend is the studio's."""
