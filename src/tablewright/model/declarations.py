"""What a declaration says beyond names and types: markers on fields, and upgrades.

Markers on fields, in ``Annotated``:

    call_id:  Annotated[str, Unique()]                                 no two items have the same
    user_id:  Annotated[str, AttributeName("uid")]                              the attribute it is stored in
    number:   Annotated[int, Numbered()] = 0                           1, 2, 3, ..., without gaps
    shop_id:  Annotated[str, KeyOnly()]                                in keys, and not in an attribute of its own
    body:     Annotated[str, Large()] = ""                             in a blob once the item is large
    email:    Annotated[str, Personal()]                               exported, erased, replaced in copies
    version:  Version = 0                                              optimistic lock
    created_at: CreatedAt = None      updated_at: UpdatedAt = None     set by the store
    ttl:      Annotated[ExpiresAt, Expiry(timedelta(hours=24))] = None when the item expires; by default, in a day

Rules for the items of a group, by a function:

    @Unique()
    def one_number(self) -> FieldGroup[int]:
        return attr(self.number).per(self.tenant)                      no two items of a tenant have the same number

Schema versions: ``upgrades = Upgrades(one_to_two, two_to_three)``; each step takes the values of a stored item, by
attribute, and returns those of the next version. Items carry their schema version; one that does not has the first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, overload

from pydantic import Field

from tablewright.dynamo.limits import MAX_ITEM_SIZE
from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import FieldGroup
from tablewright.model.values.attribute_codec import EpochSeconds

# What other packages use.
__all__ = [
    "BLOB_REFERENCES",
    "VersionMarker",
]

T = TypeVar("T")

# -- markers on fields ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttributeName:
    """The attribute that a field is stored in, instead of the one that follows from the naming rule.

        user_id: Annotated[str, AttributeName("GSI1-uid")]

    All other places (keys, patterns, updates) use the name of the field.
    """

    name: str


@dataclass(frozen=True, slots=True)
class KeyOnly:
    """A field that is in key attributes and in no attribute of its own: it is read back from a key.

        customer_id: Annotated[str, KeyOnly()]        keys = Keys(PK="CUSTOMER#{customer_id}", SK="PROFILE")

    It is for tables that exist already. Conditions and filters cannot be on such a field; patterns take it.
    """


# How the attributes of fields begin that are not stored, so that they are not those of other writers.
UNSTORED = "~key~"


def unstored_attribute(name: str) -> str:
    """The attribute that stands for a field that is not stored."""
    return UNSTORED + name


class Computed(Generic[T]):
    """A value that keys are made of, computed of fields and not stored; ``computed`` declares it."""

    def __init__(self, function: Callable[..., T]) -> None:
        declared = list(inspect.signature(function).parameters.values())
        kinds = {each.kind for each in declared}
        if len(declared) < 2 or not kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}:
            raise ModelError(
                f"{function.__qualname__}: declare it as `def {function.__name__}(self, field, ...)`, with the "
                "fields that it is computed from"
            )
        self.function = function
        self.name = function.__name__
        self.attribute = unstored_attribute(self.name)
        self.parameters = tuple(each.name for each in declared[1:])
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        return self.function(owner, *(getattr(instance, name) for name in self.parameters))


def computed(function: Callable[..., T]) -> Computed[T]:
    """A value that keys are made of, computed of fields and not stored.

        @computed
        def initials(self, first: str, last: str) -> str:
            return first[0] + last[0]

    The parameters are fields of the entity; an item without one of them has no such value, and no key of it. It must
    depend on them alone.
    """
    return Computed(function)


class GroupRule:
    """What a marker says of a field within groups of items, as a function of the class declares it."""

    def __init__(self, marker: Unique | Numbered, declaration: Callable[[Any], FieldGroup[Any]]) -> None:
        self.marker = marker
        self.declaration = declaration
        self.__doc__ = declaration.__doc__

    def of(self, fields: Any, place: str) -> tuple[FieldGroup[Any], Unique | Numbered]:
        """The field and its group, and the marker that the field has because of it."""
        group = self.declaration(fields)
        if not isinstance(group, FieldGroup):
            raise ModelError(
                f"{place} returns {group!r}; return a field and what it is grouped by, such as "
                "attr(self.number).per(self.tenant)"
            )
        marker = copy(self.marker)
        object.__setattr__(marker, "per", group.per)
        return group, marker


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """No two items of the entity may have the same value.

    Each value has a guard item, which is written in the same transaction and names the item that has the value.

        email: Annotated[str, Unique()]
        handle: Annotated[str, Unique(scope="handles")]            among all entities of the table with this scope
        login: Annotated[str, Unique(ignore_case=True)]            Ada and ada are the same

    Together with other fields it is declared by a function:

        @Unique()
        def one_number(self) -> FieldGroup[int]:
            return attr(self.number).per(self.tenant)              no two items of a tenant have the same number

    An item that lacks one of the fields has no such value.
    """

    scope: str | None = None
    ignore_case: bool = False
    # The fields that it is unique together with; set by a function.
    per: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if self.scope == "":
            raise ModelError("Unique(scope=''): name what the entities share")

    def __call__(self, declaration: Callable[[Any], FieldGroup[Any]]) -> GroupRule:
        """Declare it for a field together with others: the function returns ``attr(self.number).per(self.tenant)``."""
        return GroupRule(self, declaration)


@dataclass(frozen=True, slots=True)
class VersionMarker:
    """The optimistic lock: every write checks and increments it."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time that the store sets: when the item was ``created``, or last ``updated``."""

    event: str

    def __post_init__(self) -> None:
        if self.event not in ("created", "updated"):
            raise ModelError(f"Stamp({self.event!r}): use 'created' or 'updated'")


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time to live; ``after`` is its default, counted from the write."""

    after: timedelta | None = None

    def __post_init__(self) -> None:
        if self.after is not None and self.after < timedelta(seconds=1):
            raise ModelError(f"Expiry({self.after!r}): the item would expire at once; use at least one second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A number that the store assigns at creation: 1, 2, 3, ...

    The sequence is an item of its own, updated in the same transaction, so there are neither gaps nor duplicates.
    Fields of several entities of a table share one by its name.

        number: Annotated[int, Numbered()] = 0
        number: Annotated[int, Numbered(sequence="papers")] = 0       of invoices and receipts

    Each group of items has a sequence of its own where a function says so:

        @Numbered(sequence="tickets")
        def number_in_repository(self) -> FieldGroup[int]:
            return attr(self.number).per(self.owner, self.repository)
    """

    sequence: str | None = None
    # The fields that it is numbered per; set by a function.
    per: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if self.sequence == "":
            raise ModelError("Numbered(sequence=''): name what the entities share")

    def __call__(self, declaration: Callable[[Any], FieldGroup[int]]) -> GroupRule:
        """Declare it for the items of each group: the function returns ``attr(self.number).per(self.ticket_id)``."""
        return GroupRule(self, declaration)


# The attribute with the references to an item's large values that are in blobs.
BLOB_REFERENCES = "~outside"


@dataclass(frozen=True, slots=True)
class Large:
    """A value that is stored as a blob when the item would otherwise be larger than ``threshold`` bytes."""

    threshold: int = 350 * 1024

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= MAX_ITEM_SIZE:
            raise ModelError(
                f"Large({self.threshold}): the threshold must be from 1 byte to "
                f"{MAX_ITEM_SIZE // 1024} KB, the largest item"
            )


@dataclass(frozen=True, slots=True)
class Personal:
    """A value about a person: ``tablewright copy --pseudonymize`` replaces it, ``tablewright privacy`` finds it.

        user_id: Annotated[str, Personal("subject")]       whom the item is about: it is deleted when they are erased
        user_id: Annotated[str, Personal("subject", keep="accounts are kept for ten years")]      or kept without them
        email: Annotated[str, Personal()]                  a value about them
        created_by: Annotated[str, Personal("author")]     who wrote the item: its personal values are erased
        assigned_by: Annotated[str, Personal("reference")] a person who is referred to
        text: Annotated[str, Personal("mention")]          a text that may mention people by id
        ticket_id: Annotated[str, Personal("part")]        the item belongs to the one with this value in this field

    It may be on a field of an entity, or of a model inside of one.
    """

    kind: Literal["value", "subject", "author", "reference", "mention", "part"] = "value"
    # Why an item about a person is kept, without saying who it is about.
    keep: str = ""

    def __post_init__(self) -> None:
        kinds = ("value", "subject", "author", "reference", "mention", "part")
        if self.kind not in kinds:
            raise ModelError(f"Personal({self.kind!r}): use one of {', '.join(kinds)}")
        if self.keep and self.kind != "subject":
            raise ModelError("Personal(keep=...) is for the subject of an item: Personal('subject', keep='...')")


@dataclass(frozen=True, slots=True, init=False)
class Retain(Expiry):
    """How long an item is kept: the time to live of a retention period, in days from its last write.

        ttl: Annotated[ExpiresAt, Retain(days=365)] = None

    It is an ``Expiry`` that every write sets anew, as it does ``UpdatedAt``, whatever the entity has; documents and
    lint name it as retention.
    """

    def __init__(self, days: float) -> None:
        if days <= 0:
            raise ModelError(f"Retain(days={days}): keep the item for some time, such as Retain(days=365)")
        object.__setattr__(self, "after", timedelta(days=days))
        self.__post_init__()


Version = Annotated[int, VersionMarker(), Field(default=0)]
"""``version: Version = 0``: of two concurrent writes, the second gets a conflict instead of overwriting the first."""

CreatedAt = Annotated[datetime | None, Stamp("created"), Field(default=None)]
"""``created_at: CreatedAt = None``: set by the store when the item is created."""

UpdatedAt = Annotated[datetime | None, Stamp("updated"), Field(default=None)]
"""``updated_at: UpdatedAt = None``: set by the store at every write."""


ExpiresAt = Annotated[EpochSeconds | None, Expiry(), Field(default=None)]
"""``ttl: ExpiresAt = None``: when the item expires; it is never returned once it has."""


# -- schema versions ------------------------------------------------------------------------------------------------

Values = dict[str, Any]
Step = Callable[[Values], Values]


class Upgrades:
    """The steps from the first schema version of an entity's items to the newest.

    Each step is a function that gets plain Python values by attribute name and returns those of the next version. Items
    carry their version in ``attribute``. With ``write_back`` a store stores the items that its reads had to upgrade.

        upgrades = Upgrades(split_name, cents_to_decimal, write_back=True)
    """

    def __init__(self, *steps: Step, attribute: str = "shape", write_back: bool = False) -> None:
        if not steps:
            raise ModelError(
                "Upgrades() needs at least one step: a function from the values of one schema version to "
                "those of the next"
            )
        self.steps = steps
        self.attribute = attribute
        self.write_back = write_back

    @property
    def schema_version(self) -> int:
        """The newest schema version; the first is 1."""
        return len(self.steps) + 1
