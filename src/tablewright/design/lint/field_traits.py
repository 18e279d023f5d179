"""What is known of the values of a field: by its type, and if that is only text, by its name.

Many designs store times and states as plain text, so names count: ``created_at`` is a time and ``status`` has few
values, whatever they are declared as.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from annotated_types import MaxLen
from pydantic import AfterValidator, BaseModel, BeforeValidator, PlainValidator, StringConstraints, WrapValidator
from pydantic.fields import FieldInfo

from tablewright.model import Expiry, Numbered, Schema, Stamp, Unique
from tablewright.model.declarations import VersionMarker
from tablewright.model.values.attribute_codec import Epoch, resolve_alias

_VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)

_DEEPEST = 4

# UTF-8 takes up to four bytes for a character.
WIDEST_CHARACTER = 4
_WIDEST_NUMBER, _TIME, _DAY, _UUID = 21, 27, 10, 36

_INSTANT = re.compile(r"(?:^|_)(?:at|time|timestamp|datetime|created|updated|now)$")
_DAYS = re.compile(r"(?:^|_)(?:date|day)$")
_COUNTERS = re.compile(
    r"(?:^|_)(?:seq|sequence|number|counter|count|ordinal|position|serial|num|nr|no|revision|rev|version)$"
)
_SHARDS = re.compile(r"(?:^|_)(?:shard|salt|suffix)(?:_|$)")
_FEW = re.compile(
    r"(?:^|_)(?:status|state|type|kind|priority|severity|role|gender|tier|stage|phase|country|language|currency)$"
)
# Names of numbers that a reader orders by; a plain "number" may as well be an id, such as a phone number.
_MEASURES = re.compile(
    r"(?:^|_)(?:amount|price|total|score|rank|ranking|rating|points|quantity|qty|count|balance|sequence|seq|ordinal|"
    r"position|size|weight|length|duration|age|revision|version|cost|votes|likes|views|"
    r"(?:sequence|version|line|page|revision|episode|chapter)_(?:number|no|num|nr))$"
)
# In English, and in the languages around it that designs are often written in.
_MONEY = re.compile(
    r"price|amount|balance|cost|fee|salary|revenue|subtotal|budget|payout|refund|wage|rent|deposit|tip|tax|vat|"
    r"bid|fare|"
    r"prezzo|importo|saldo|costo|canone|stipendio|ricavo|rimborso|tariffa|imposta|iva|fatturato|acconto|"
    r"affitto|compenso|"
    r"preis|betrag|kosten|gebuehr|gehalt|umsatz|miete|steuer|mwst|"
    r"prix|montant|solde|frais|salaire|loyer|tva|precio|importe|monto|salario|alquiler|tarifa|preco"
)
_MONEY_UNITS = re.compile(
    r"eur|usd|gbp|chf|cents|due|paid|net|gross|total|value|per|unit|each|hour|day|night|month|year|"
    r"centesimi|dovuto|pagato|netto|lordo|totale|unitario|ora|giorno|notte|mese|anno|mensile|annuo|"
    r"brutto|gesamt|ht|ttc|unitaire|mensual"
)
_CURRENCIES = frozenset(["currency", "valuta", "divisa", "devise", "moneda", "moeda", "waehrung"])
_TALLIES = re.compile(
    r"(?:^|_)(?:count|counter|counts|stock|balance|quantity|qty|views|likes|votes|points|hits|downloads|plays|remaining|"
    r"followers|version|revision|visitors|clicks|impressions|subscribers|participants|attendees|shares|sold|inventory|seats|visits|usage|credits)$|^(?:num|number_of|total)_"
)
# Digits, and no word of how many.
_DIGITS = re.compile(r"\^?(?:\\d|\[0-9\])(?:[+*]|\{[0-9]+,[0-9]*\})\$?")
_SORTABLE = re.compile(r"ulid|ksuid|uuid_?v?[167]|snowflake|object_?id|xid|timestamp|\btime\b|sortable", re.IGNORECASE)
_GENERIC = re.compile(r"(?:[gl]si)?[-_]?\d*[-_]?(?:pk|sk|partition_?key|sort_?key|hash_?key|range_?key)[-_]?\d*")


def words(name: str) -> list[str]:
    """The words in a name: the same for ``userStatus`` and ``user_status``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]


def is_generic_key(name: str) -> bool:
    """Whether a name is a generic key name: PK, sk, GSI1PK, gsi2_sk, partition_key."""
    return _GENERIC.fullmatch(name.lower()) is not None


def _is_numeric(kind: type) -> bool:
    return kind in (int, float, Decimal) or issubclass(kind, IntEnum)


@dataclass(frozen=True, slots=True)
class FieldTraits:
    """What is known of a field."""

    path: str
    types: frozenset[type]
    is_field: bool = True
    is_counted: bool = False
    # Of a time that is stored as a number since 1970: "seconds" or "milliseconds".
    unit: str | None = None
    is_numbered: bool = False
    is_unique: bool = False
    is_version: bool = False
    is_many: bool = False
    # The number of values, if known, and the texts that are stored for them, in the order of their declaration.
    choices: int | None = None
    words: tuple[str, ...] = ()
    # Whether its values are numbers of one width, so that they sort as text as they do as numbers.
    is_even: bool = False
    # The maximum number of bytes; None without a limit.
    most_bytes: int | None = None
    # The largest and the least value of a whole number, if they are declared.
    most: int | None = None
    least: int | None = None
    # Whether it is 0 to begin with; of a text, whether it begins as digits.
    begins_at_zero: bool = False
    begins_as_digits: bool = False
    # Whether it may be None when the item is written; not if the store sets it.
    is_optional: bool = False
    # Whether the text has one length, or a pattern: its writer has thought of its form.
    is_formatted: bool = False
    # Whether a pattern says that it is of digits, as many as there are.
    is_digits: bool = False
    # Whether a validator, or a constraint, changes values before they are stored.
    is_normalised: bool = False
    # What is said of where its values come from: names that its default is made with, and its description.
    origin: str = ""

    @property
    def name(self) -> str:
        return "_".join(words(self.path.rpartition(".")[2]))

    @property
    def is_plain_text(self) -> bool:
        return self.types == {str} and self.choices is None

    @property
    def _is_vague(self) -> bool:
        """Whether the type says too little, so that the name decides."""
        return self.is_plain_text or not self.is_field

    @property
    def is_instant(self) -> bool:
        """A timestamp, whatever it is stored as."""
        if datetime in self.types or self.is_counted:
            return True
        vague = self._is_vague or self.types <= {int, float, Decimal}
        return vague and _INSTANT.search(self.name) is not None

    @property
    def is_text_time(self) -> bool:
        """A time that is stored as plain text."""
        return self.is_plain_text and (_INSTANT.search(self.name) or _DAYS.search(self.name)) is not None

    @property
    def is_day(self) -> bool:
        return date in self.types or (self._is_vague and _DAYS.search(self.name) is not None)

    @property
    def is_number(self) -> bool:
        return bool(self.types) and (self.is_counted or all(_is_numeric(kind) for kind in self.types))

    @property
    def is_hand_counted(self) -> bool:
        plain = self.types == {int} and not (self.is_numbered or self.is_version or self.is_counted)
        return (plain or not self.is_field) and _COUNTERS.search(self.name) is not None

    @property
    def is_numeric_text(self) -> bool:
        """A number, by its name, that is declared as text."""
        named = self.is_money or _MEASURES.search(self.name) is not None
        known = self.is_digits or self.begins_as_digits
        return self.is_plain_text and (known or (named and not self.is_formatted))

    @property
    def is_measure(self) -> bool:
        """A number that several items may share: an amount, a score; not one that numbers them."""
        if self.is_numbered or self.is_unique or self.is_version:
            return False
        exact = self.types <= {float, Decimal} and bool(self.types)
        numbers = _COUNTERS.search(self.name) is not None or self.name.split("_")[-1] in ("revision", "version")
        named = self.types == {int} and _MEASURES.search(self.name) is not None and not numbers
        return exact or named

    @property
    def is_money(self) -> bool:
        found = self.name.split("_")
        named = [number for number, word in enumerate(found) if _MONEY.fullmatch(word)]
        return bool(named) and all(_MONEY_UNITS.fullmatch(word) for word in found[named[-1] + 1 :])

    @property
    def is_currency(self) -> bool:
        """What an amount is in: named so, or one of codes such as EUR and USD."""
        if self.words:
            return all(len(word) == 3 and word.isalpha() and word.isupper() for word in self.words)
        return self.is_plain_text and self.name.split("_")[-1] in _CURRENCIES

    @property
    def may_be_tally(self) -> bool:
        """A number that writers may count up or down, and no time, level or identifier."""
        counted = self.types <= {int, Decimal, float} and bool(self.types)
        is_other = self.is_numbered or self.is_counted or self.is_version or self.is_unique or self.is_instant
        return counted and self.choices is None and self.most is None and not is_other

    @property
    def is_tally(self) -> bool:
        """A number that writers count up or down, by its name."""
        counted = self.types <= {int, Decimal, float} and bool(self.types)
        return counted and not (self.is_numbered or self.is_counted) and _TALLIES.search(self.name) is not None

    @property
    def is_sortable_id(self) -> bool:
        """An id that sorts by time, by what is said of it."""
        return _SORTABLE.search(f"{self.origin} {self.name}") is not None

    @property
    def is_random_id(self) -> bool:
        """An id that says nothing of when it was made, as far as is known."""
        if self.is_sortable_id:
            return False
        if self.is_certainly_random:
            return True
        return (
            self.is_plain_text and not self.is_formatted and self.name.split("_")[-1] in ("id", "uuid", "guid", "token")
        )

    @property
    def is_certainly_random(self) -> bool:
        return not self.is_sortable_id and (UUID in self.types or "uuid4" in self.origin)

    @property
    def is_email(self) -> bool:
        return self.name.split("_")[-1] in ("email", "mail") or self.name.endswith(("email_address", "mail_address"))

    @property
    def is_shard(self) -> bool:
        return _SHARDS.search(self.name) is not None

    @property
    def few(self) -> int | None:
        """The number of values, if they are few; -1 if only the name indicates it."""
        if self.choices is not None:
            return self.choices
        return -1 if self._is_vague and _FEW.search(self.name) is not None else None

    @property
    def is_ordered(self) -> bool:
        """Whether a reader may want the newest, the largest or a range."""
        return self.is_instant or self.is_day or self.is_number


def traits_of(schema: Schema, path: str) -> FieldTraits:
    """The traits of the field at a path; of a name that is not a field, what the name indicates."""
    first, *rest = path.split(".")
    info: FieldInfo | None = schema.entity.model_fields.get(first)
    around: list[FieldInfo] = []
    for step in rest:
        around += [] if info is None else [info]
        model = None if info is None else _inner_model(info.annotation)
        info = None if model is None else model.model_fields.get(step)
    if info is None:
        return FieldTraits(path, frozenset(), is_field=False)
    leaves = list(_leaves(info.annotation, tuple(info.metadata)))
    markers = [marker for _, found in leaves for marker in found]
    kinds = frozenset(kind for kind, _ in leaves)
    spec = schema.fields.get(path)
    return FieldTraits(
        path,
        kinds,
        is_counted=any(isinstance(marker, Epoch) for marker in markers),
        unit=next((_unit(marker) for marker in markers if isinstance(marker, Epoch)), None),
        is_numbered=any(isinstance(marker, Numbered) for marker in markers),
        is_unique=any(isinstance(marker, Unique) for marker in markers),
        is_version=any(isinstance(marker, VersionMarker) for marker in markers),
        is_many=spec is not None and bool(spec.types & {"L", "SET"}),
        choices=_choices(info.annotation),
        words=_words(info.annotation),
        is_even=_is_even(info.annotation),
        most_bytes=most_bytes(info.annotation, tuple(info.metadata)),
        most=_largest(markers),
        least=_smallest(markers),
        begins_at_zero=type(info.default) in (int, float, Decimal) and info.default == 0,
        begins_as_digits=isinstance(info.default, str) and info.default.isdecimal(),
        is_optional=_is_optional(info, markers) or any(_is_optional(each, []) for each in around),
        is_formatted=_is_formatted(markers),
        is_digits=any(_DIGITS.fullmatch(str(pattern)) for pattern in _patterns(markers)),
        is_normalised=_is_normalised(schema, first, [*markers, *info.metadata]),
        origin=_origin(info),
    )


def _largest(markers: list[Any]) -> int | None:
    """The upper bound that markers declare."""
    flat = [each for marker in markers for each in (marker.metadata if isinstance(marker, FieldInfo) else [marker])]
    bounds = [marker.le for marker in flat if isinstance(getattr(marker, "le", None), int)]
    bounds += [marker.lt - 1 for marker in flat if isinstance(getattr(marker, "lt", None), int)]
    return min(bounds, default=None)


def _smallest(markers: list[Any]) -> int | None:
    """The lower bound that markers declare."""
    flat = [each for marker in markers for each in (marker.metadata if isinstance(marker, FieldInfo) else [marker])]
    bounds = [marker.ge for marker in flat if isinstance(getattr(marker, "ge", None), int)]
    bounds += [marker.gt + 1 for marker in flat if isinstance(getattr(marker, "gt", None), int)]
    return max(bounds, default=None)


def _origin(info: FieldInfo) -> str:
    made = info.default_factory
    names = [getattr(made, "__qualname__", ""), *getattr(getattr(made, "__code__", None), "co_names", ())]
    return " ".join([*names, info.description or ""])


def _unit(marker: Epoch) -> str:
    return "seconds" if marker.unit.total_seconds() == 1 else "milliseconds"


def _is_optional(info: FieldInfo, markers: list[Any]) -> bool:
    """Whether an entity may be written with None in a field."""
    if any(isinstance(marker, Stamp) or (isinstance(marker, Expiry) and marker.after) for marker in markers):
        return False
    return type(None) in _kinds(info.annotation)


def _kinds(annotation: Any) -> set[Any]:
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kinds(arguments[0])
    if origin in (Union, UnionType):
        return {kind for argument in arguments for kind in _kinds(argument)}
    return {annotation}


def _patterns(markers: list[Any]) -> list[Any]:
    """The patterns that a text has to match."""
    flat = [each for marker in markers for each in (marker.metadata if isinstance(marker, FieldInfo) else [marker])]
    return [marker.pattern for marker in flat if getattr(marker, "pattern", None) is not None]


def _is_formatted(markers: list[Any]) -> bool:
    """Whether a text has a pattern, or one length."""
    flat = [each for marker in markers for each in (marker.metadata if isinstance(marker, FieldInfo) else [marker])]
    if any(not _DIGITS.fullmatch(str(pattern)) for pattern in _patterns(markers)):
        return True
    least = max((marker.min_length for marker in flat if getattr(marker, "min_length", None) is not None), default=None)
    most = min((marker.max_length for marker in flat if getattr(marker, "max_length", None) is not None), default=None)
    return least is not None and least == most


def _is_normalised(schema: Schema, name: str, markers: list[Any]) -> bool:
    """Whether values are changed when an entity is made: lower case, or whatever a validator does."""
    decorators = schema.entity.__pydantic_decorators__
    validated = [each for found in decorators.field_validators.values() for each in found.info.fields]
    if name in validated or "*" in validated or decorators.model_validators:
        return True
    if schema.entity.model_config.get("str_to_lower") or schema.entity.model_config.get("str_to_upper"):
        return True
    flat = [each for marker in markers for each in (marker.metadata if isinstance(marker, FieldInfo) else [marker])]
    return any(
        getattr(marker, "to_lower", None) or getattr(marker, "to_upper", None) or isinstance(marker, _VALIDATORS)
        for marker in flat
    )


def field_paths(model: type[BaseModel], prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The fields of a model, and those of models inside of them, also in lists and maps."""
    for name, info in model.model_fields.items():
        yield f"{prefix}{name}"
        inner = _inner_model(info.annotation)
        if inner is not None and inner is not model and depth < _DEEPEST:
            yield from field_paths(inner, f"{prefix}{name}.", depth + 1)


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation is, or has in a list or a map."""
    found = _model(annotation)
    if found is not None:
        return found
    annotation = resolve_alias(annotation)
    return next((inner for each in get_args(annotation) if (inner := _inner_model(each)) is not None), None)


def _leaves(annotation: Any, markers: tuple[Any, ...] = ()) -> Iterator[tuple[type, tuple[Any, ...]]]:
    """The types of a union, each with its annotations; without None."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _leaves(arguments[0], markers + arguments[1:])
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from _leaves(argument, markers)
    elif origin is Literal:
        for value in arguments:
            yield type(value), markers
    else:
        kind = origin if isinstance(origin, type) else annotation
        if isinstance(kind, type) and kind is not type(None):
            yield kind, markers


def _model(annotation: Any) -> type[BaseModel] | None:
    return next((kind for kind, _ in _leaves(annotation) if issubclass(kind, BaseModel)), None)


def _choices(annotation: Any) -> int | None:
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return len(arguments)
    if origin is Annotated:
        return _choices(arguments[0])
    if origin in (Union, UnionType):
        each = [_choices(argument) for argument in arguments if argument is not type(None)]
        return sum(count for count in each if count is not None) if each and None not in each else None
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return len(annotation)
    return 2 if annotation is bool else None


def _is_even(annotation: Any) -> bool:
    """Whether a literal or an enum has whole numbers that are not negative, all with the same number of digits."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_even(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        arguments = tuple(member.value for member in annotation)
    elif origin is not Literal:
        return False
    widths = {len(str(value)) if isinstance(value, int) and value >= 0 else None for value in arguments}
    return len(widths) == 1 and None not in widths


def _words(annotation: Any) -> tuple[str, ...]:
    """The texts that a literal or an enum is stored as."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return tuple(value for value in arguments if isinstance(value, str))
    if origin is Annotated:
        return _words(arguments[0])
    if origin in (Union, UnionType):
        return tuple(word for argument in arguments for word in _words(argument))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(member.value for member in annotation if isinstance(member.value, str))
    return ()


# -- sizes ----------------------------------------------------------------------------------------------------------


def most_bytes(annotation: Any, markers: tuple[Any, ...] = (), depth: int = 0) -> int | None:
    """The maximum number of bytes of a value in an item; None without a limit."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return most_bytes(arguments[0], (*arguments[1:], *markers), depth)
    if origin in (Union, UnionType):
        return _most(most_bytes(argument, markers, depth) for argument in arguments)
    if origin is Literal:
        return max(len(str(value).encode()) for value in arguments)
    length = _longest(markers)
    kind = origin if isinstance(origin, type) else annotation
    if not isinstance(kind, type) or depth > 8:
        return None
    if issubclass(kind, Enum):
        return max(len(str(member.value).encode()) for member in kind)
    if issubclass(kind, BaseModel):
        return _model_bytes(kind, depth)
    if issubclass(kind, Mapping | list | tuple | AbstractSet):
        member = most_bytes(arguments[-1], (), depth + 1) if arguments else None
        name = most_bytes(arguments[0], (), depth + 1) if issubclass(kind, Mapping) and arguments else 0
        return None if length is None or member is None or name is None else 3 + length * (1 + name + member)
    if issubclass(kind, str):
        return None if length is None else length * WIDEST_CHARACTER
    if issubclass(kind, bytes):
        return length
    fixed = {bool: 1, int: _WIDEST_NUMBER, float: _WIDEST_NUMBER, Decimal: _WIDEST_NUMBER}
    fixed |= {datetime: _TIME, date: _DAY, UUID: _UUID, type(None): 1}
    return next((size for known, size in fixed.items() if issubclass(kind, known)), None)


def _model_bytes(model: type[BaseModel], depth: int) -> int | None:
    total = 3
    for name, info in model.model_fields.items():
        size = most_bytes(info.annotation, tuple(info.metadata), depth + 1)
        if size is None:
            return None
        total += 1 + len((info.serialization_alias or info.alias or name).encode()) + size
    return total


def _most(sizes: Iterator[int | None]) -> int | None:
    found = list(sizes)
    known = [size for size in found if size is not None]
    return max(known) if len(known) == len(found) else None


def _longest(markers: tuple[Any, ...]) -> int | None:
    lengths = [marker.max_length for marker in markers if isinstance(marker, MaxLen)]
    lengths += [
        marker.max_length
        for marker in markers
        if isinstance(marker, StringConstraints) and marker.max_length is not None
    ]
    for marker in markers:
        if isinstance(marker, FieldInfo) and (inner := _longest(tuple(marker.metadata))) is not None:
            lengths.append(inner)
    return min(lengths) if lengths else None


def is_endless_map(annotation: Any, markers: tuple[Any, ...]) -> bool:
    """Whether a map may have any number of members."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return is_endless_map(arguments[0], (*arguments[1:], *markers))
    if origin in (Union, UnionType):
        return any(is_endless_map(argument, markers) for argument in arguments)
    kind = origin if isinstance(origin, type) else annotation
    is_map = isinstance(kind, type) and issubclass(kind, Mapping)
    limited = bool(arguments) and _choices(arguments[0]) is not None
    return is_map and not limited and _longest(markers) is None


def has_length(annotation: Any, markers: tuple[Any, ...]) -> bool:
    """Whether the length of a list, set or map is limited."""
    annotation = resolve_alias(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return has_length(arguments[0], (*arguments[1:], *markers))
    if origin in (Union, UnionType):
        return all(has_length(argument, markers) for argument in arguments if argument is not type(None))
    kind = origin if isinstance(origin, type) else annotation
    grows = isinstance(kind, type) and issubclass(kind, list | AbstractSet)
    if grows and issubclass(kind, AbstractSet) and arguments and _choices(arguments[0]) is not None:
        return True  # a set of an enum is limited by its members
    endless = kind is tuple and Ellipsis in arguments
    return not (grows or endless) or _longest(markers) is not None
