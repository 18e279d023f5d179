"""A value of a declared type while it is being edited, member by member, by the fields and elements of the type.

    shape = Shape(list[Line])
    typed = TypedValue(shape)
    typed.add()                      a line, with a place for each of its fields
    typed.members[0].value.fields["quantity"].text = "2"
    typed.json_text()                '[{"quantity":"2"}]', which pydantic reads as a list[Line]

Scalars stay text until they are validated, so that no digit is lost and errors quote the input. Omitted values get
their defaults.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import orjson
from pydantic import BaseModel

from tablewright.dynamo import AttributeValue
from tablewright.studio.designs.pattern_runs import choices_of, plain_type
from tablewright.studio.items.edited_value import EditedValue, moved

__all__ = ["Shape", "TypedMember", "TypedValue", "has_members"]

# "any" is typed as an attribute of an item is, with a type of its own.
Kind = Literal["text", "choice", "model", "one of", "list", "map", "any"]
_WITH_MEMBERS = ("model", "one of", "list", "map")


@dataclass(frozen=True, slots=True)
class Shape:
    """How a value of a type is edited; types can be recursive, so this is evaluated lazily, as far as it is drawn."""

    annotation: Any
    is_required: bool = True

    @property
    def bare(self) -> Any:
        """The type without None and annotations; None if there is a choice of several types."""
        return _bare(self.annotation)

    @property
    def kind(self) -> Kind:
        bare = self.bare
        if bare is None and self.alternatives:
            return "one of"
        if bare is None or bare is Any or bare is object:
            return "any"
        origin = get_origin(bare) or bare
        if isinstance(origin, type):
            if issubclass(origin, BaseModel):
                return "model"
            if issubclass(origin, Mapping):
                return "map"
            if issubclass(origin, (str, bytes)):
                return "choice" if self.choices else "text"
            if issubclass(origin, (Sequence, AbstractSet)):
                # A tuple of several types has places rather than members.
                is_list = not issubclass(origin, tuple) or get_args(bare)[1:] == (...,)
                return "list" if is_list else "any"
        return "choice" if self.choices else "text"

    @property
    def choices(self) -> tuple[str, ...]:
        return choices_of(self.bare)

    def chosen(self, text: str) -> Any:
        """The value of a choice, which may be a number."""
        bare = self.bare
        values = [each.value for each in bare] if isinstance(bare, type) and issubclass(bare, Enum) else get_args(bare)
        return next((each for each in values if str(each) == text), text)

    @property
    def name(self) -> str:
        """The type in a word, for people."""
        if self.kind == "one of":
            return " | ".join(each.name for each in self.alternatives)
        if self.kind in ("list", "map"):
            is_set = issubclass(get_origin(self.bare) or self.bare, AbstractSet)
            return f"{'set' if is_set else self.kind} of {self.member.name}"
        return "any" if self.kind == "any" else getattr(plain_type(self.bare), "__name__", "any")

    @property
    def alternatives(self) -> tuple[Shape, ...]:
        """The models that it may be, if there are several."""
        annotation = _unwrapped(self.annotation)
        if get_origin(annotation) not in (Union, UnionType):
            return ()
        found = tuple(Shape(each) for each in get_args(annotation) if each is not type(None))
        return found if len(found) > 1 and all(each.kind == "model" for each in found) else ()

    @property
    def member(self) -> Shape:
        """The shape of the members of a list, a set or a map."""
        arguments = get_args(self.bare)
        if not arguments:
            return Shape(Any)
        return Shape(arguments[1] if self.kind == "map" else arguments[0])

    @property
    def fields(self) -> dict[str, Shape]:
        """The fields of a model, by the names used for validation."""
        found = {}
        for name, info in self.bare.model_fields.items():
            alias = info.validation_alias if isinstance(info.validation_alias, str) else info.alias
            found[alias or name] = Shape(info.annotation, info.is_required())
        return found


def has_members(annotation: Any) -> bool:
    """Whether values of a type have members: models, lists, sets, maps, or some of these."""
    shape = Shape(annotation)
    if shape.kind in _WITH_MEMBERS or get_origin(shape.bare) is tuple:
        return True
    return any(has_members(each) for each in get_args(_unwrapped(annotation)) if each is not type(None))


def _bare(annotation: Any) -> Any:
    annotation = _unwrapped(annotation)
    if get_origin(annotation) in (Union, UnionType):
        rest = [each for each in get_args(annotation) if each is not type(None)]
        return _bare(rest[0]) if len(rest) == 1 else None
    return annotation


def _unwrapped(annotation: Any) -> Any:
    """A type without what is annotated, and behind its alias."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        elif isinstance(annotation, typing.TypeVar):
            return Any
        else:
            return annotation


@dataclass(slots=True)
class TypedMember:
    """A member of a value; those of lists and sets have no name."""

    name: str
    value: TypedValue


@dataclass(slots=True)
class TypedValue:
    """One value: its text, or its fields or members."""

    shape: Shape
    text: str = ""
    # Whether there is one: an empty list is a value, and none is not.
    is_given: bool = False
    fields: dict[str, TypedValue] = field(default_factory=dict)
    members: list[TypedMember] = field(default_factory=list)
    # What it is where it may be anything, and which of several models.
    any: EditedValue = field(default_factory=lambda: EditedValue({"S": ""}))
    alternative: int = 0

    def __post_init__(self) -> None:
        if self.shape.is_required:
            self.give()

    # -- changes ----------------------------------------------------------------------------------------------------

    def give(self) -> None:
        """Start a value that was omitted."""
        self.is_given = True
        if not self.fields:
            self._begin_fields()

    def _begin_fields(self) -> None:
        model = self.model
        self.fields = {} if model is None else {name: TypedValue(shape) for name, shape in model.fields.items()}
        for each in self.fields.values():
            # What says which of several models it is.
            if get_origin(each.shape.bare) is Literal and len(each.shape.choices) == 1:
                each.text = each.shape.choices[0]

    @property
    def model(self) -> Shape | None:
        """The chosen model."""
        if self.shape.kind == "one of":
            return self.shape.alternatives[self.alternative]
        return self.shape if self.shape.kind == "model" else None

    def choose(self, alternative: int) -> None:
        """Choose another one of several models."""
        self.alternative = alternative
        self._begin_fields()

    def leave_out(self) -> None:
        self.is_given = False

    def add(self) -> TypedValue:
        made = TypedValue(self.shape.member)
        made.give()
        self.members.append(TypedMember("", made))
        return made

    def remove(self, place: int) -> None:
        del self.members[place]

    def move(self, place: int, by: int) -> int:
        """Move a member up or down; returns its new position."""
        return moved(self.members, place, by)

    # -- the value --------------------------------------------------------------------------------------------------

    def json_text(self) -> str:
        """The value as JSON, to be validated by its type; empty if it was omitted. ValueError says what is wrong."""
        return orjson.dumps(self._content(self.shape.name)).decode() if self._counts else ""

    @property
    def _counts(self) -> bool:
        """Whether it is a part of what it is in: no text is no value, unless one is needed."""
        if self.shape.kind in (*_WITH_MEMBERS, "any"):
            return self.is_given
        return bool(self.text.strip()) or self.shape.is_required

    def _content(self, label: str) -> Any:
        match self.shape.kind:
            case "model" | "one of":
                return {name: each._content(f"{label}.{name}") for name, each in self.fields.items() if each._counts}
            case "list":
                return [each.value._content(f"{label}[{place}]") for place, each in enumerate(self.members)]
            case "map":
                names = [each.name for each in self.members]
                if "" in names or len(set(names)) < len(names):
                    raise ValueError(f"{label}: every member needs a name, and names must be unique")
                return {each.name: each.value._content(f"{label}.{each.name}") for each in self.members}
            case "any":
                return _content_of(self.any.value(label))
            case "choice":
                return self.shape.chosen(self.text)
        return self.text

    def read(self, text: str) -> None:
        """Set a value from JSON; ValueError if it does not have the form of its type."""
        self._take(_loaded(text))

    def _choose_for(self, content: Any) -> None:
        """Of several models, the first that has these fields, and says of itself what they say."""
        if self.shape.kind != "one of" or not isinstance(content, dict):
            return
        for place, each in enumerate(self.shape.alternatives):
            fields = each.fields
            is_other = any(
                get_origin(fields[name].bare) is Literal and str(value) not in fields[name].choices
                for name, value in content.items()
                if name in fields
            )
            if content.keys() <= fields.keys() and not is_other:
                self.choose(place)
                return

    def _take(self, content: Any) -> None:
        self.fields, self.members, self.text = {}, [], ""
        if content is None and self.shape.kind != "any":
            self.leave_out()
            return
        self._choose_for(content)
        self.give()
        match self.shape.kind, content:
            case (("model" | "one of"), dict()):
                unknown = content.keys() - self.fields.keys()
                if unknown:
                    raise ValueError(f"{self.shape.name} has no {', '.join(sorted(unknown))}")
                for name, each in content.items():
                    self.fields[name]._take(each)
            case "list", list():
                for each in content:
                    self.add()._take(each)
            case "map", dict():
                for name, each in content.items():
                    self.add()._take(each)
                    self.members[-1].name = name
            case "any", _:
                self.any = EditedValue(_attribute_of(content))
            case (("text" | "choice"), bool()):
                self.text = str(content).lower()
            case (("text" | "choice"), str()):
                self.text = str(content)
            case _:
                raise ValueError(f"{content!r} is not a {self.shape.name}"[:200])


class _Number(str):
    """A number of a JSON text, with all of its digits."""

    __slots__ = ()


def _loaded(text: str) -> Any:
    """What a JSON text has; ValueError if it is none."""
    try:
        return json.loads(text, parse_int=_Number, parse_float=_Number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not valid JSON: {error}") from None


def _content_of(value: AttributeValue) -> Any:
    """A value of any type, as JSON has it."""
    ((kind, content),) = value.items()
    if kind == "M":
        return {name: _content_of(each) for name, each in content.items()}
    if kind == "L":
        return [_content_of(each) for each in content]
    if kind == "NULL":
        return None
    return orjson.Fragment(content) if kind == "N" else content


def _attribute_of(content: Any) -> AttributeValue:
    """What JSON has, as a value with a type."""
    match content:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": content}
        case _Number():
            return {"N": str(content)}
        case str():
            return {"S": content}
        case list():
            return {"L": [_attribute_of(each) for each in content]}
    return {"M": {name: _attribute_of(each) for name, each in content.items()}}
