"""Values by an OpenAPI document: an example of a schema, the places in it, and what is wrong at a place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

# One value of each JSON type, and such as are easily taken for another.
_SAMPLES: dict[str, list[Any]] = {
    "null": [None],
    "boolean": [True, False],
    "integer": [0, 1],
    "number": [1.5],
    "string": ["0", "true", "x"],
    "array": [[], [1]],
    "object": [{}, {"a": 1}],
}
_BLANKS = [" ", "\t\n", "\u3000"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a request, and the schema of what is there."""

    steps: tuple[str | int, ...]
    schema: Schema

    @property
    def name(self) -> str:
        return ".".join(map(str, self.steps))

    def is_at(self, field: str) -> bool:
        """Whether an error is about this place, or what is in it, or has it in it.

        The location of an error has the alternatives of a union as well.
        """
        steps = iter(field.split("."))
        if all(str(step) in steps for step in self.steps):
            return True
        return self.name.startswith(f"{field}.") and field.count(".") > 0

    def replaced(self, whole: Any, value: Any) -> Any:
        """A body with another value here."""
        made = {"body": copy.deepcopy(whole)}
        at: Any = made
        for step in self.steps[:-1]:
            at = at[step]
        at[self.steps[-1]] = value
        return made["body"]


def choices(api: Schema, schema: Schema) -> list[Schema]:
    """What a schema may be, without references and alternatives."""
    if "$ref" in schema:
        found: Any = api
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        return choices(api, {**found, **rest})
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            return [choice for member in schema[name] for choice in choices(api, member)]
    return [schema]


def example(api: Schema, schema: Schema) -> Any:
    """A value that a schema should accept, with every property that has an example or is required."""
    if schema.get("examples"):
        return schema["examples"][0]
    found = choices(api, schema)[0]
    if found.get("examples"):
        return found["examples"][0]
    if "default" in schema:
        return schema["default"]
    for name in ("default", "const"):
        if name in found:
            return found[name]
    if "enum" in found:
        return found["enum"][0]
    kind = found.get("type")
    if kind == "object":
        required = found.get("required", ())
        return {
            name: example(api, member)
            for name, member in found.get("properties", {}).items()
            if name in required or any(choice.get("examples") for choice in [member, *choices(api, member)])
        }
    if kind == "array":
        return [example(api, found["items"])] * found.get("minItems", 0)
    return {"string": "x" * max(1, found.get("minLength", 1)), "integer": 1, "number": 1, "boolean": True}.get(
        str(kind)
    )


def places(api: Schema, schema: Schema, value: Any, steps: tuple[str | int, ...] = ("body",)) -> Iterator[Place]:
    """Every place of a value, and of what it might have beside."""
    for choice in choices(api, schema):
        if choice.get("type") == "object" and isinstance(value, dict):
            for name, member in choice.get("properties", {}).items():
                inner = (*steps, name)
                yield Place(inner, member)
                if name in value:
                    yield from places(api, member, value[name], inner)
        if choice.get("type") == "array" and isinstance(value, list):
            for number, each in enumerate(value):
                inner = (*steps, number)
                yield Place(inner, choice["items"])
                yield from places(api, choice["items"], each, inner)


def violations(api: Schema, place: Place, *, as_text: bool = False) -> list[Any]:
    """Values that the schema of a place does not allow."""
    options = choices(api, place.schema)
    if any(not {"type", "enum", "const"} & set(option) for option in options):
        # Anything goes.
        return []
    kinds = {option.get("type", "string") for option in options}
    if "number" in kinds:
        kinds.add("integer")
    wrong: list[Any] = []
    if as_text:
        if "string" not in kinds:
            wrong += ["x", "", " ", "1.5", "1_0", "yes"]
            wrong += ["true"] if "boolean" not in kinds else ["0", "1", "on"]
    else:
        wrong += [value for kind, values in _SAMPLES.items() if kind not in kinds for value in values]
    for option in (option for option in options if len(kinds - {"null"}) == 1):
        found = _beyond(option)
        wrong += [str(value) for value in found] if as_text else found
    return wrong


def is_bounded(api: Schema, place: Place) -> bool:
    """Whether what a schema allows is of a bounded size."""
    for option in choices(api, place.schema):
        kind = option.get("type")
        bounded = {
            "string": {"maxLength", "enum", "const", "pattern", "format"} & set(option),
            "integer": {"minimum", "maximum"} <= set(option),
            "number": {"maximum", "exclusiveMaximum"} & set(option) and {"minimum", "exclusiveMinimum"} & set(option),
            "array": "maxItems" in option,
        }.get(str(kind), True)
        if not bounded:
            return False
    return True


def _beyond(option: Schema) -> list[Any]:
    """Values of the right type that break a bound."""
    found: list[Any] = []
    if "enum" in option or "const" in option:
        found += ["nothing-of-this"]
    for name, step in (("minimum", -1), ("exclusiveMinimum", 0), ("maximum", 1), ("exclusiveMaximum", 0)):
        if name in option:
            found.append(option[name] + step)
    if "maxLength" in option:
        found.append("x" * (option["maxLength"] + 1))
    if option.get("minLength", 0) > 0:
        found += ["", *_BLANKS]
    if option.get("format") in ("date", "date-time", "email", "uuid"):
        found += ["0", "yesterday", ""]
    if option.get("type") == "array":
        if option.get("minItems", 0) > 0:
            found.append([])
        if option.get("uniqueItems") and option["items"].get("type") == "string":
            found.append(["same", "same"])
    if option.get("type") == "object" and option.get("minProperties", 0) > 0:
        found.append({})
    return found
