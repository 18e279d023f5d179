"""Mermaid diagrams of a design: entities, item collections, and writes with their reactions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablewright.design.document.design_outline import item_collections, relations
from tablewright.model import Design, Schema

__all__ = ["collection_diagram", "entity_diagram", "flow_diagram", "type_text"]

_TYPES = {"S": "string", "N": "number", "B": "binary", "BOOL": "boolean", "M": "map", "L": "list", "SET": "set"}


def type_text(schema: Schema, field: str) -> str:
    """The stored type of a field, as a word."""
    tags = schema.fields[field].types - {"NULL"}
    words = {"any" if tag is None else _TYPES.get(tag, tag) for tag in tags}
    return "_or_".join(sorted(words)) or "any"


def entity_diagram(design: Design) -> str:
    """Entities with their attributes, and their relations."""
    return "\n".join(["erDiagram", *_entities(design)])


def _entities(design: Design) -> Iterator[str]:
    for schema in design.schemas:
        yield f"    {schema.entity.__name__} {{"
        for name in schema.table.key:
            if name not in schema.by_attribute:
                yield f"        string {_name(name)} PK"
        for name, spec in schema.fields.items():
            mark = " PK" if spec.attribute in schema.table.key else " UK" if spec in schema.unique else ""
            yield f"        {type_text(schema, name)} {_name(spec.attribute)}{mark}"
        yield "    }"
    for relation in relations(design):
        line = "||--o{" if relation.many else "||--o|"
        yield f'    {relation.one.entity.__name__} {line} {relation.other.entity.__name__} : "{_label(relation.by)}"'


def collection_diagram(design: Design) -> str:
    """The item collections of tables and indexes."""
    lines = ["flowchart LR"]
    for number, collection in enumerate(item_collections(design)):
        title = f"{collection.place}: {collection.partition_name} = {collection.partition}"
        lines.append(f'    subgraph C{number}["{_label(title)}"]')
        for position, member in enumerate(collection.members):
            parts = [member.schema.entity.__name__, member.sort, f"if {member.state}" if member.state else ""]
            lines.append(f'        C{number}M{position}["{_label("<br/>".join(filter(None, parts)))}"]')
        lines.append("    end")
    return "\n".join(lines)


def flow_diagram(design: Design) -> str | None:
    """Writes, the entities that they write, and reactions; None if no writes are declared."""
    if not design.writes:
        return None
    lines = ["flowchart LR"]
    concerned = [item_write.entity for write in design.writes.values() for item_write in write.item_writes]
    concerned += [entity for write in design.writes.values() for entity in write.checks]
    concerned += [reaction.entity for reaction in design.reactions]
    # Its own, in the order of declaration, and those of internal tables.
    known = dict.fromkeys([*(schema.entity for schema in design.schemas), *concerned])
    entities = {entity: f"E{number}" for number, entity in enumerate(known)}
    for entity, node in entities.items():
        if entity in concerned:
            lines.append(f'    {node}[("{entity.__name__}")]')
    for number, write in enumerate(design.writes.values()):
        lines.append(f'    W{number}(["{_label(write.name)}"])')
        actions: dict[str, list[str]] = {}
        for item_write in write.item_writes:
            actions.setdefault(entities[item_write.entity], []).append(item_write.action)
        for entity in write.checks:
            actions.setdefault(entities[entity], []).append("check")
        lines += [f"    W{number} -->|{', '.join(dict.fromkeys(names))}| {node}" for node, names in actions.items()]
    for number, reaction in enumerate(design.reactions):
        kinds = ", ".join(kind for kind in ("INSERT", "MODIFY", "REMOVE") if kind in reaction.events)
        lines.append(f'    R{number}["{_label(f"{reaction.name}<br/>{reaction.effect}")}"]')
        lines.append(f"    {entities[reaction.entity]} -.->|{reaction.source}: {kinds}| R{number}")
    return "\n".join(lines)


def _name(attribute: str) -> str:
    """An attribute's name in a form that is valid in a diagram of entities.

    PK, FK and UK are marks there, unless a star is before them, and a name begins with a letter.
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "_", attribute)
    if re.match(r"(PK|FK|UK)\b", name, re.IGNORECASE):
        return f"*{name}"
    return name if name[:1].isalpha() else f"A{name}"


def _label(text: str) -> str:
    return text.replace('"', "'")
