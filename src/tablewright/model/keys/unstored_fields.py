"""Fields without an attribute of their own: those that are only in keys, and those that are computed.

    customer_id: Annotated[str, KeyOnly()]           keys = Keys(PK="CUSTOMER#{customer_id}", ...)

    @computed
    def initials(self, first: str, last: str) -> str:
        return first[0] + last[0]                    keys = Keys(GSI1PK="NAME#{initials}", ...)

Keys are made of attributes, so each such field has one by a name that is never stored. ``filled`` gives an item these
attributes, read back from a key or computed; ``without`` takes them away. A field that is only in keys has *homes*: the
key attributes that it is read from, each of which is there whenever the field has a value. The first one that can be
read counts: the others may have been made by an earlier version of the design, or by another program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import AttributeValue, Item
from tablewright.model.declarations import Computed, KeyOnly, Large
from tablewright.model.errors import ModelError
from tablewright.model.items.field_layout import FieldLayout
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.keys.key_rules import KeyRule
from tablewright.model.values.attribute_codec import decode, encode
from tablewright.model.values.coercion import coercion_for

__all__ = ["UnstoredFields"]

Typed = Callable[[AttributeValue], AttributeValue]


@dataclass(frozen=True, slots=True)
class _Source:
    """A field that a value is computed of."""

    attribute: str
    coerce: Callable[[object], object]


class UnstoredFields:
    """The unstored fields of an entity; false if it has none."""

    def __init__(self, layout: FieldLayout, key_rules: Mapping[str, KeyRule]) -> None:
        self._entity = layout.entity
        self._only = [spec for spec in layout.fields.values() if spec.marker(KeyOnly) is not None]
        self._computed = list(layout.computed.values())
        # By the attribute of a field that is only in keys: the key attributes that it is read from.
        self.homes: dict[str, list[str]] = {}
        self._read: dict[str, tuple[KeyRule, list[tuple[str, Typed]]]] = {}
        table = layout.table
        for spec in self._only:
            found = [
                name
                for name in table.key_attributes
                if self._is_home(layout, key_rules.get(name), spec, name in table.key)
            ]
            if found:
                # What is in the primary key is certain.
                homes = [name for name in found if name in table.key][:1] or found
                self.homes[spec.attribute] = homes
                for home in homes:
                    self._read.setdefault(home, (key_rules[home], []))[1].append((spec.attribute, _typed(spec)))
        self.home_attributes = frozenset(self._read)
        self.names = frozenset([*(spec.attribute for spec in self._only), *(each.attribute for each in self._computed)])
        self._sources = {each.attribute: _sources(layout, each) for each in self._computed}
        self._defaults = {name: value for name, value in layout.defaults.items() if name in self.names}

    def __bool__(self) -> bool:
        return bool(self.names)

    def _is_home(self, layout: FieldLayout, rule: KeyRule | None, spec: FieldSpec, is_primary: bool) -> bool:
        """Whether a key attribute exists, and contains all of a field, whenever the field has a value."""
        if rule is None or rule.others or rule.was is not None or rule.when:
            return False
        template = rule.template
        part = next((part for part in template.fields if part.name == spec.attribute and part.reversible), None)
        if part is None:
            return False
        if is_primary:
            # It is always there; its optional part has all of its values or none.
            return True
        others = template.required - {spec.attribute}
        if spec.attribute not in template.required:
            others |= {each.name for each in template.fields} - {spec.attribute}
        return all(_is_always_there(layout, name) for name in others)

    def sources(self, attribute: str) -> frozenset[str]:
        """The attributes that one follows from: itself, unless it is computed."""
        computed = self._sources.get(attribute)
        return frozenset([attribute]) if computed is None else frozenset(each.attribute for each in computed)

    # -- items --------------------------------------------------------------------------------------------------

    def from_keys(self, item: Mapping[str, AttributeValue]) -> Item:
        """An item with the fields that are only in its keys."""
        filled = dict(item)
        for home, (rule, wanted) in self._read.items():
            text = item.get(home, {}).get("S")
            values = None if text is None else rule.parse(text)
            if values is not None:
                for name, typed in wanted:
                    if name not in filled and name in values:
                        filled[name] = typed(values[name])
        return filled

    def filled(self, item: Mapping[str, AttributeValue]) -> Item:
        """An item with all fields that keys are made of."""
        filled = {**self._defaults, **self.from_keys(item)} if self._only else dict(item)
        for computed in self._computed:
            if computed.attribute not in filled:
                value = self._computed_value(computed, filled)
                if value is not None:
                    filled[computed.attribute] = value
        return filled

    def _computed_value(self, computed: Computed[Any], item: Item) -> AttributeValue | None:
        values = []
        for source in self._sources[computed.attribute]:
            stored = item.get(source.attribute)
            if stored is None or "NULL" in stored:
                return None
            values.append(source.coerce(decode(stored)))
        try:
            return encode(computed.function(self._entity, *values))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise ModelError(f"{self._entity.__name__}.{computed.name} cannot be computed: {reason}") from error

    def taken_out(self, item: Item) -> Item:
        """An item with the fields that are only in keys, and without these keys, so that they can be changed."""
        homes = self.home_attributes
        return {name: value for name, value in self.from_keys(item).items() if name not in homes} if homes else item

    def without(self, item: Item) -> Item:
        """An item as it is stored."""
        return {name: value for name, value in item.items() if name not in self.names}

    def stored(self, attributes: Iterable[str]) -> list[str]:
        """Attributes, with the homes of each field that is only in keys instead of its own."""
        return list(dict.fromkeys(home for name in attributes for home in self.homes.get(name, [name])))


def _is_always_there(layout: FieldLayout, path: str) -> bool:
    attribute = path.partition(".")[0]
    spec = layout.by_attribute.get(attribute)
    return "." not in path and spec is not None and "NULL" not in spec.types


def _sources(layout: FieldLayout, computed: Computed[Any]) -> list[_Source]:
    found = []
    for name in computed.parameters:
        spec = layout.fields.get(name)
        if spec is None or spec.marker(Large) is not None:
            known = ", ".join(each for each, spec in layout.fields.items() if spec.marker(Large) is None)
            raise ModelError(
                f"{layout.entity.__name__}.{computed.name} is computed from {name}, but can only "
                f"be computed from {known}"
            )
        found.append(_Source(spec.attribute, coercion_for(layout.entity, name, spec.encode).coerce))
    return found


def _typed(spec: FieldSpec) -> Typed:
    """A value as it was read from a key, as the field would store it: text in a key may stand for a number."""
    kinds = spec.types - {"NULL"}

    def number(value: AttributeValue) -> AttributeValue:
        return {"N": value["S"]} if "S" in value else value

    def boolean(value: AttributeValue) -> AttributeValue:
        return {"BOOL": value["S"] == "true"} if value.get("S") in ("true", "false") else value

    if kinds == {"N"}:
        return number
    return boolean if kinds == {"BOOL"} else lambda value: value
