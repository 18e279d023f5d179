"""What a write consists of: an operation, the plan of an attempt at it, its actions, and their preconditions.

    Operation ──plan(attempt)──▶ WritePlan: actions on items, changes of guards ──commit──▶ PutItem, … or a transaction
        ▲                                                                             │
        └─── plan again, with what was found, when an assumption is out of date ◀─────┘

An operation is a value: what the caller wants, and nothing that is learnt on the way. What an attempt learns (what is
stored, which large values have been uploaded) is in its ``Attempt``.

An action is made under preconditions. Each is a condition, and what it means when that does not hold: an error in the
words of the design, or nothing, because it was only assumed, so that the operation has to be planned again. The service
checks them all as one condition. When it refuses, it returns the item, and the same conditions are evaluated on it here
to find the one that failed; so planning again needs no further read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions, all_of, with_expressions
from tablewright.model import Entity, Lookup, ModelError, Schema, schema_of
from tablewright.model.items.item_decoding import partial_entity_error
from tablewright.store.argument_checks import A_TARGET, AN_ENTITY, WRITE_OPERATIONS, wrong_argument
from tablewright.store.blobs.offload import Offload, Placement
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, Request, Response, Sleep
from tablewright.store.write.planning.preconditions import Precondition
from tablewright.store.write.sequence import Draw
from tablewright.store.write.upkeep import Upkeep

E = TypeVar("E", bound=Entity)


# Not frozen, though no field is ever changed: every write makes some.
@dataclass(slots=True)
class Action:
    """One action on one item: ``Put``, ``Update``, ``Delete`` or ``ConditionCheck``."""

    kind: str
    # The request, with the preconditions as its condition.
    body: dict[str, Any]
    preconditions: Sequence[Precondition] = ()
    # The action is on an item that the store keeps for itself, which says nothing of the operation's own.
    internal: bool = False
    # Whether executing it twice is the same as once.
    repeatable: bool = True
    # What a single request returns of the item; None for what is usual for its kind.
    returns: str | None = None


def action(
    kind: str,
    body: dict[str, Any],
    preconditions: Sequence[Precondition],
    update: UpdateActions | None = None,
    *,
    repeatable: bool = True,
    returns: str | None = None,
) -> Action:
    """An action, with its expressions rendered."""
    condition = all_of([each.condition for each in preconditions])
    rendered = with_expressions(body, condition, update)
    return Action(kind, rendered, preconditions, repeatable=repeatable, returns=returns)


@dataclass(frozen=True, slots=True)
class Found:
    """What is stored under a key, as the service returned it; None: nothing."""

    item: Item | None


@dataclass(slots=True)
class Attempt:
    """What is known when an operation is planned: nothing of the item at first, what was found the next time."""

    context: Context
    # The large values of all items that are written together, through all attempts.
    offload: Offload
    found: Found | None = None


LoadResult = Callable[[Response, bool], Flow[Any]]


# Not frozen, though no field is ever changed: every write makes some.
@dataclass(slots=True)
class WritePlan:
    """What one attempt at an operation does to its table."""

    actions: Sequence[Action]
    guards: Sequence[Upkeep] = ()
    # The result, given the response of a single request, or an empty one after a transaction.
    result: Callable[[Response], Any] = lambda _: None
    # Where large values go. With them, a result may have to be loaded, given whether the caller wants it.
    placement: Placement | None = None
    load_result: LoadResult | None = None


@dataclass(frozen=True, slots=True)
class Draws:
    """The numbers that a plan needs; it is sent them by field."""

    draws: Sequence[Draw]


# A flow that may also ask for numbers, once.
Planning = Generator[Request | Sleep | Draws, Any, WritePlan]


class Operation(ABC):
    """A write of one entity, as a value: it can be executed any number of times."""

    __slots__ = ()

    name: str
    schema: Schema

    @abstractmethod
    def plan(self, attempt: Attempt) -> Planning:
        """Plan the write, given what the attempt knows."""

    def creates(self, fields: Mapping[str, Any]) -> bool:
        """Whether it creates the item that these fields identify."""
        return False

    def followers(self, numbers: Mapping[str, int]) -> Sequence[Operation]:
        """What is written with it, once its numbers are known."""
        return ()

    @property
    def pattern(self) -> str:
        return f"{self.schema.entity.__name__}.{self.name}"


@dataclass(frozen=True, slots=True, init=False, eq=False)
class EntityOperation(Operation):
    """A write of a whole entity, and perhaps of what refers to a number that it is given by that."""

    entity: Entity
    schema: Schema
    then: Callable[[Any], Iterable[Operation]] | None

    def __init__(self, entity: E, then: Callable[[E], Iterable[Operation]] | None = None) -> None:
        object.__setattr__(self, "entity", entity)
        object.__setattr__(self, "schema", schema_for(entity, self.name, AN_ENTITY))
        object.__setattr__(self, "then", then)
        if then is not None and not self.schema.numbered:
            raise ModelError(
                f"{self.schema.entity.__name__} is not numbered, so nothing has to wait for its number; omit "
                "then, and pass all operations to transact"
            )

    def followers(self, numbers: Mapping[str, int]) -> Sequence[Operation]:
        if self.then is None:
            return ()
        followers = [*self.then(self.entity.model_copy(update=dict(numbers)))]
        for each in followers:
            if not isinstance(each, Operation):
                raise wrong_argument(f"{self.name}, then", WRITE_OPERATIONS, each)
        return followers


@dataclass(frozen=True, slots=True, eq=False)
class Planned(Operation):
    """A write that is planned already, and is not planned again."""

    schema: Schema
    name: str
    prepared: WritePlan

    def plan(self, attempt: Attempt) -> Planning:
        yield from ()
        return self.prepared


def schema_for(target: Entity | Lookup[Any], call: str, takes: str = A_TARGET) -> Schema:
    """The schema of what a call is to write."""
    if isinstance(target, Entity):
        schema = schema_of(type(target))
        if schema.version is not None and schema.version.name not in target.__dict__:
            raise partial_entity_error(schema.entity, schema.version.name)
        return schema
    if takes is AN_ENTITY or not isinstance(target, Lookup):
        raise wrong_argument(call, takes, target)
    return schema_of(target.entity)
