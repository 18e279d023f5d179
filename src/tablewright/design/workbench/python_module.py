"""A data model of NoSQL Workbench as a Python module: tables, entities, keys, patterns and the design of them."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Any

from tablewright.design.workbench import entity_inference
from tablewright.design.workbench.entity_inference import Attribute, EntityDraft
from tablewright.design.workbench.workbench_file import IndexFile, ModelFile, TableFile
from tablewright.model import Entity, camel_case, pascal_case, snake_case

__all__ = ["source"]

_STANDARD = {
    "date": "from datetime import date",
    "datetime": "from datetime import datetime",
    "Decimal": "from decimal import Decimal",
    "Annotated": "from typing import Annotated",
    "Any": "from typing import Any",
}
_OURS = ("AttributeName", "Design", "Entity", "Get", "GlobalIndex", "KeyOnly", "Keys", "LocalIndex", "Query", "Table")
_NAMINGS: tuple[Callable[[str], str], ...] = (snake_case, camel_case, pascal_case)
# Names that mean something in an entity, as a type in it, or in the module.
_TYPES = ("bool", "bytes", "dict", "int", "list", "set", "str", *_STANDARD)
_TAKEN = frozenset(
    [
        *dir(Entity),
        *dir(type(Entity)),
        *keyword.kwlist,
        *keyword.softkwlist,
        *_TYPES,
        "keys",
        "upgrades",
        "by_key",
        "of_partition",
    ]
)
_TAKEN_IN_MODULE = frozenset([*dir(builtins), *keyword.kwlist, *_OURS, *_STANDARD, "design"])
_WIDTH = 120
_LITERAL_WIDTH = 80
_NAMING_NAMES = ("camel_case", "pascal_case", "raw")


def source(model: ModelFile) -> str:
    """The module; what it declares can be imported and exported again."""
    names: set[str] = set(_TAKEN_IN_MODULE) | set(_NAMING_NAMES)
    variables = [_free(_snake(table.TableName), names) for table in model.DataModel]
    sections: list[str] = []
    if model.notes:
        sections.append("\n".join(f"# {_comment(note)}" for note in model.notes))
    for table, variable in zip(model.DataModel, variables, strict=True):
        drafts = entity_inference.entities(table)
        sections.append(_table(table, variable, entity_inference.type_attribute(table) if table.items else None))
        for draft in drafts:
            name = _free(_class_name(draft.name, table.TableName), names)
            sections.append(_entity(table, variable, draft, name))
    sections.append(_design(model, variables))
    body = "\n\n\n".join(sections)
    return f'"""{_docstring(model.ModelName)}"""\n\n{_imports(body)}\n\n{body}\n'


def _design(model: ModelFile, variables: Sequence[str]) -> str:
    """The design, with what the file says beside its tables: who made it, what it is about, and sample items."""
    tables = f"tables=[{', '.join(variables)}]"
    about = " ".join(model.ModelMetadata.Description.split())
    further = [f"about={_text(about)}"] if about else []
    further += [f"author={_text(model.ModelMetadata.Author)}"] if model.ModelMetadata.Author else []
    samples = [
        f"{variable}: {_literal([listed.item for listed in table.items], 2)}"
        for table, variable in zip(model.DataModel, variables, strict=True)
        if table.items
    ]
    if samples:
        further.append("sample_items={\n        " + ",\n        ".join(samples) + ",\n    }")
    line = f"design = Design({', '.join([_text(model.ModelName), tables])})"
    if not further and len(line) <= _WIDTH:
        return line
    members = "".join(f"    {member},\n" for member in (_text(model.ModelName), tables, *further))
    return f"design = Design(\n{members})"


def _literal(value: Any, depth: int) -> str:
    """A value of JSON as Python has it, over several lines where it is long."""
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, dict | list):
        return repr(value)
    if isinstance(value, dict):
        opening, closing = "{", "}"
        members = [f"{_text(name)}: {_literal(each, depth + 1)}" for name, each in value.items()]
    else:
        opening, closing = "[", "]"
        members = [_literal(each, depth + 1) for each in value]
    line = f"{opening}{', '.join(members)}{closing}"
    if len(line) <= _LITERAL_WIDTH and "\n" not in line:
        return line
    indent = "    " * (depth + 1)
    return f"{opening}\n" + "".join(f"{indent}{member},\n" for member in members) + "    " * depth + closing


def _imports(body: str) -> str:
    code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', body)
    used = set(re.findall(r"\w+", re.sub(r"(?m)^\s*#.*$", "", code)))
    if "raw(" not in code:
        used.discard("raw")
    lines: dict[str, list[str]] = {}
    for name, line in _STANDARD.items():
        if name in used:
            module = line.partition(" import ")[0]
            lines.setdefault(module, []).append(name)
    standard = [f"{module} import {', '.join(sorted(names))}" for module, names in lines.items()]
    ours = [name for name in (*_OURS, *_NAMING_NAMES) if name in used]
    own = f"from tablewright.model import {', '.join(sorted(ours, key=lambda name: (name[0].islower(), name)))}"
    return "\n".join([*standard, *([""] if standard else []), own])


# -- tables ---------------------------------------------------------------------------------------------------------


def _table(table: TableFile, variable: str, kind: str | None) -> str:
    lines = [f"{variable} = Table(", *(f"    {_text(each)}," for each in (table.TableName, *table.key))]
    if table.indexes:
        indexes = [_index(index, "GlobalIndex") for index in table.GlobalSecondaryIndexes]
        indexes += [_index(index, "LocalIndex") for index in table.LocalSecondaryIndexes]
        lines += ["    indexes=[", *(line for index in indexes for line in _wrapped(index)), "    ],"]
    types = {name: tag for name, tag in table.key_types.items() if tag != "S"}
    if types:
        lines.append(f"    types={{{', '.join(f'{_text(name)}: {_text(tag)}' for name, tag in types.items())}}},")
    if kind is not None:
        lines.append(f"    type_attribute={_text(kind)},")
    return "\n".join([*lines, ")"])


def _index(index: IndexFile, call: str) -> tuple[str, list[str]]:
    """The function to call, and its arguments."""
    key = index.KeyAttributes
    arguments = [index.IndexName] + ([key.PartitionKey.AttributeName] if call == "GlobalIndex" else [])
    arguments += [key.SortKey.AttributeName] if key.SortKey is not None else []
    shown = [_text(argument) for argument in arguments]
    if index.Projection.ProjectionType != "ALL":
        shown.append(f"include=[{', '.join(map(_text, index.Projection.NonKeyAttributes))}]")
    return call, shown


def _wrapped(index: tuple[str, list[str]]) -> list[str]:
    call, arguments = index
    line = f"        {call}({', '.join(arguments)}),"
    if len(line) <= _WIDTH:
        return [line]
    return [f"        {call}(", *(f"            {argument}," for argument in arguments), "        ),"]


# -- entities -------------------------------------------------------------------------------------------------------


def _entity(table: TableFile, variable: str, draft: EntityDraft, name: str) -> str:
    attributes = draft.attributes
    naming = _naming(attributes)
    fields = _field_names(attributes)
    arguments = [f"table={variable}"]
    if naming is not snake_case:
        arguments.append(f"naming={naming.__name__}")
    if draft.type_name is not None and draft.type_name != name:
        arguments.append(f"type_name={_text(draft.type_name)}")
    lines = [f"class {name}(Entity, {', '.join(arguments)}):"]
    for key, options in draft.unclear.items():
        made_of = " or ".join(options).replace(entity_inference.KEY_PART, "")
        shown = f"{_comment(key)} may be {_comment(made_of)}: the sample items do not show which."
        lines += wrap(shown, _WIDTH, initial_indent="    # ", subsequent_indent="    # ", break_long_words=False)
    for attribute in attributes:
        lines.append(f"    {_field(attribute, fields[attribute.name], naming)}")
    if draft.keys:
        lines += ["", *_keys(draft, fields)]
    lines += ["", *_patterns(table, draft, fields)]
    return "\n".join(lines)


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _naming(attributes: Iterable[Attribute]) -> Callable[[str], str]:
    """The rule that matches the names of the most attributes."""

    def matches(naming: Callable[[str], str]) -> int:
        return sum(naming(_snake(each.name)) == each.name for each in attributes if not each.key_only)

    return max(_NAMINGS, key=matches)


def _field_names(attributes: Iterable[Attribute]) -> dict[str, str]:
    taken: set[str] = set(_TAKEN)
    found = {}
    for attribute in attributes:
        name = _snake(attribute.name)
        found[attribute.name] = _free(f"{name}_value" if name in _TAKEN else name, taken)
    return found


def _field(attribute: Attribute, name: str, naming: Callable[[str], str]) -> str:
    annotation = attribute.annotation
    if not attribute.always and annotation != "Any":
        annotation += " | None"
    if attribute.key_only:
        annotation = f"Annotated[{annotation}, KeyOnly()]"
    elif naming(name) != attribute.name:
        annotation = f"Annotated[{annotation}, AttributeName({_text(attribute.name)})]"
    return f"{name}: {annotation}" + ("" if attribute.always else " = None")


def _keys(draft: EntityDraft, fields: dict[str, str]) -> Iterator[str]:
    def template(text: str) -> str:
        def renamed(match: re.Match[str]) -> str:
            path, colon, form = match[1].partition(":")
            attribute, dot, rest = path.partition(".")
            return f"{{{fields[attribute]}{dot}{rest}{colon}{form}}}"

        return _text(re.sub(r"\{([^}]*)\}", renamed, text))

    plain = all(name.isidentifier() and not keyword.iskeyword(name) for name in draft.keys)
    yield "    keys = Keys("
    if not plain:
        yield "        {"
    for attribute, text in draft.keys.items():
        shown, separator = template(text), draft.raw.get(attribute)
        if separator is not None:
            shown = f"raw({shown})" if separator == "#" else f"raw({shown}, {_text(separator)})"
        yield f"        {attribute}={shown}," if plain else f"            {_text(attribute)}: {shown},"
    if not plain:
        yield "        }"
    yield "    )"


def _patterns(table: TableFile, draft: EntityDraft, fields: dict[str, str]) -> Iterator[str]:
    yield from _pattern("Get()", "by_key", draft, fields, table.key)
    if len(table.key) > 1:
        yield ""
        yield from _pattern("Query()", "of_partition", draft, fields, table.key[:1])
    taken = {*_TAKEN, *fields.values()}
    for index in table.indexes:
        key = index.KeyAttributes
        names = [part.AttributeName for part in (key.PartitionKey, key.SortKey) if part is not None]
        if all(name in draft.keys or name in fields for name in names):
            name = _free(f"by_{_snake(index.IndexName).removeprefix('by_')}", taken)
            yield ""
            yield from _pattern(f"Query({_text(index.IndexName)})", name, draft, fields, names[:1])


def _pattern(kind: str, name: str, draft: EntityDraft, fields: dict[str, str], key: Sequence[str]) -> Iterator[str]:
    """An access pattern, with the fields of the key that it reads as its parameters."""
    annotations = {attribute.name: attribute.annotation for attribute in draft.attributes}
    templates = [draft.keys.get(attribute, f"{{{attribute}}}") for attribute in key]
    parameters: dict[str, str] = {}
    for path in (part.partition(":")[0] for text in templates for part in re.findall(r"\{([^}]*)\}", text)):
        first, *rest = path.split(".")
        if first in fields:
            parameters["__".join([fields[first], *rest])] = "str" if rest else annotations[first]
    shown = ", ".join(["self", *(f"{name}: {annotation}" for name, annotation in parameters.items())])
    yield f"    @{kind}"
    line = f"    def {name}({shown}) -> None: ..."
    if len(line) <= _WIDTH:
        yield line
    else:
        yield f"    def {name}("
        yield f"        {shown}"
        yield "    ) -> None: ..."


# -- names ----------------------------------------------------------------------------------------------------------


def _text(text: str) -> str:
    """A Python literal, always in double quotes."""
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else ascii(character)[1:-1]


def _docstring(name: str) -> str:
    plain = re.sub(r"[^ -~]|[\"\\]", " ", name).strip() or "A model"
    return f"{plain}, from NoSQL Workbench: a model to start from."


def _snake(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    plain = re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")
    return plain if plain and not plain[0].isdigit() else f"attribute_{plain}".rstrip("_")


def _class_name(label: str, table: str) -> str:
    if label == table:
        # Tables are often called after many of what one entity is.
        label = label.removesuffix("s") if len(label) > 4 and not label.endswith("ss") else label
    name = pascal_case(_snake(label))
    return name if name and name[0].isalpha() else f"Item{name}"


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken yet, which is taken from now on."""
    free, number = name, 2
    while free in taken or free.startswith("model_"):
        free, number = f"{name}_{number}" if name[0].islower() else f"{name}{number}", number + 1
        if name.startswith("model_"):
            name = f"the_{name}"
    taken.add(free)
    return free
