"""Rules about the fields that keys are made of: optional ones, floats, numbers as text, addresses in any case."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.lint.lint_context import EntityKey, KeyTemplate, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import field_code
from tablewright.model import Schema, Unique
from tablewright.model.keys.key_forms import Field

_LOWER = "StringConstraints(to_lower=True)"


def _required(template: KeyTemplate) -> list[str]:
    """The fields that a key cannot be made without."""
    end = len(template.parts) if template.optional_from is None else template.optional_from
    return [part.name for part in template.parts[:end] if isinstance(part, Field)]


def _templates(context: LintContext, schema: Schema) -> Iterator[tuple[EntityKey, str, KeyTemplate]]:
    """The keys of an entity, attribute by attribute."""
    for key in context.keys(schema):
        for attribute in (*key.partition, *key.sort):
            template = context.key_template(schema, attribute)
            if template is not None:
                yield key, attribute, template


@rule("number-as-text", "A number that is declared as text in a sort key", "error")
def number_as_text(context: LintContext) -> Iterator[Occurrence]:
    """As text, "10" sorts before "9"."""
    seen: set[tuple[Schema, str]] = set()
    for schema in context.schemas:
        for key, attribute, template in _templates(context, schema):
            if attribute not in key.sort:
                continue
            for name in template.fields:
                if context.traits(schema, name).is_numeric_text and (schema, name) not in seen:
                    seen.add((schema, name))
                    yield Occurrence(
                        f"{schema.entity.__name__}.{name}",
                        f"{name} is in the sort key {attribute}, and declared as text, so that 10 sorts before 9: the "
                        "order of items and every range are wrong.",
                        _as_number(schema, name, template) + " If it is text of one width, say so with a pattern.",
                        context.where(schema.entity),
                    )


def _as_number(schema: Schema, name: str, template: KeyTemplate) -> str:
    """How a key can have a number that sorts as one."""
    code = field_code(schema, name, "int")
    if code is None:
        return f"Declare {name} as int (or Decimal), in the form number in a key that is made of several fields."
    if template.is_raw:
        return f'Declare {code} (or Decimal), and `types={{"{template.attribute}": "N"}}` of the table.'
    return f"Declare {code} (or Decimal), and write `{{{name}:number}}` in the key."


@rule("optional-key-field", "An optional field in a key", "error")
def optional_key_field(context: LintContext) -> Iterator[Occurrence]:
    """Such an item cannot be written, or is not in the index."""
    seen: set[tuple[Schema, str, str | None]] = set()
    for schema in context.schemas:
        for key, attribute, template in _templates(context, schema):
            partition = [context.key_template(schema, name) for name in key.partition]
            # An index that only has some of the items on purpose.
            sparse = template.is_sparse or any(each is not None and each.is_sparse for each in partition)
            sparse = sparse or any(
                context.traits(schema, name).is_optional for each in partition if each for name in _required(each)
            )
            for name in _required(template):
                index = None if key.index is None else key.index.name
                if not context.traits(schema, name).is_optional or (schema, name, index) in seen:
                    continue
                if key.index is None:
                    message = (
                        f"{name} is optional, and part of the primary key {template}: without a value, there is no "
                        "key, and the item cannot be written."
                    )
                    repair = (
                        f"Make {name} required, or use fields in the key that every {schema.entity.__name__} has, and "
                        f"index {name}."
                    )
                elif attribute in key.sort and not sparse:
                    message = (
                        f"{name} is optional, and part of the sort key of index {key.index.name}: items without it "
                        "are not in the index, so queries silently miss them."
                    )
                    repair = (
                        f"Make {name} required, or give it a default that sorts where such items belong. If they are "
                        f"not to be in the index, say so with when(...) around the template of "
                        f"{key.partition[0]}, or with an optional field in it."
                    )
                else:
                    continue
                seen.add((schema, name, index))
                yield Occurrence(
                    f"{schema.entity.__name__}.{name}",
                    message,
                    repair,
                    context.where(schema.entity),
                    None if key.index is None else "warning",
                )


@rule("float-in-key", "A float in a key", "warning")
def float_in_key(context: LintContext) -> Iterator[Occurrence]:
    """A float that was computed is hardly ever equal to the one that was stored."""
    seen: set[tuple[Schema, str]] = set()
    for schema in context.schemas:
        for _, attribute, template in _templates(context, schema):
            for name in template.fields:
                if float in context.traits(schema, name).types and (schema, name) not in seen:
                    seen.add((schema, name))
                    yield Occurrence(
                        f"{schema.entity.__name__}.{name}",
                        f"{name} is a float and part of the key {attribute}. 0.1 + 0.2 is not 0.3: a recomputed "
                        "value may be another key, and the item is not found.",
                        f"Declare {field_code(schema, name, 'Decimal') or f'{name} as Decimal'}, or as an int of the "
                        "smallest unit.",
                        context.where(schema.entity),
                    )


@rule("case-sensitive-key", "A mail address in a key, in mixed case", "advice")
def case_sensitive_key(context: LintContext) -> Iterator[Occurrence]:
    """Ada@example.org and ada@example.org are two keys."""
    for schema in context.schemas:
        keyed = {
            part.name: attribute
            for _, attribute, template in _templates(context, schema)
            for part in template.parts
            if isinstance(part, Field) and part.form == "text"
        }
        unique = {spec.name: "its guard" for spec in schema.unique if not spec.marker(Unique).ignore_case}
        for name, where in {**unique, **keyed}.items():
            traits = context.traits(schema, name)
            if traits.is_email and str in traits.types and not traits.is_normalised:
                yield Occurrence(
                    f"{schema.entity.__name__}.{name}",
                    f"{name} is a key ({where}) as it was entered: Ada@example.org and ada@example.org are two "
                    "keys, so a person is not found, or is stored twice.",
                    "Store it in lower case"
                    + (f": {code}" if (code := field_code(schema, name, marker=_LOWER)) else f", with {_LOWER}")
                    + "; or use the form lower in a key, and ignore_case=True of a unique value.",
                    context.where(schema.entity),
                )
