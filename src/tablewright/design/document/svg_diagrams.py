"""The diagrams of a design as SVG, for a self-contained HTML page.

Boxes in columns, and lines between them: just enough for entities, item collections and flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tablewright.design.document.design_outline import item_collections, relations
from tablewright.design.document.mermaid import type_text
from tablewright.model import Design, Write

__all__ = ["collection_drawing", "entity_drawing", "flow_drawing"]

_ROW = 20
_GAP = 24
_CHARACTER = 7.8
_TEXT = 'font-family="ui-monospace, monospace" font-size="12" fill="currentColor"'
_WIDEST = 1100


@dataclass(slots=True)
class _Box:
    """A title over some rows."""

    title: str
    rows: Sequence[str] = ()
    x: float = 0
    y: float = 0
    least: float = 0

    @property
    def width(self) -> float:
        return max(self.least, max(len(line) for line in (self.title, *self.rows)) * _CHARACTER + 20)

    @property
    def height(self) -> float:
        return _ROW * (1 + len(self.rows)) + 10

    def draw(self) -> str:
        parts = [
            f'<rect x="{self.x:.0f}" y="{self.y:.0f}" width="{self.width:.0f}" height="{self.height:.0f}" rx="4" '
            'fill="none" stroke="currentColor"/>',
            f'<text x="{self.x + 10:.0f}" y="{self.y + 18:.0f}" {_TEXT} font-weight="bold">{escape(self.title)}</text>',
        ]
        if self.rows:
            y = self.y + _ROW + 4
            parts.append(
                f'<line x1="{self.x:.0f}" y1="{y:.0f}" x2="{self.x + self.width:.0f}" y2="{y:.0f}" '
                'stroke="currentColor" stroke-opacity="0.4"/>'
            )
        for number, row in enumerate(self.rows, 1):
            y = self.y + _ROW * number + 18
            parts.append(f'<text x="{self.x + 10:.0f}" y="{y:.0f}" {_TEXT}>{escape(row)}</text>')
        return "\n".join(parts)


def entity_drawing(design: Design) -> str:
    """Entities with their attributes and relations."""
    boxes = []
    belonging: dict[str, list[str]] = {}
    for each in relations(design):
        row = f"{'1:n' if each.many else '1:1'} {each.other.entity.__name__}, by {each.by}"
        belonging.setdefault(each.one.entity.__name__, []).append(row)
    for schema in design.schemas:
        derived = [f"{name}: string (key)" for name in schema.table.key if name not in schema.by_attribute]
        fields = [f"{spec.attribute}: {type_text(schema, name)}" for name, spec in schema.fields.items()]
        name = schema.entity.__name__
        boxes.append(_Box(name, [*derived, *fields, *belonging.get(name, ())]))
    return _flowed("Entities", boxes)


def collection_drawing(design: Design) -> str:
    """Item collections: a box for each partition key, a row for each kind of item in it."""
    boxes = []
    for collection in item_collections(design):
        rows = [f"{collection.partition_name} = {collection.partition}"]
        for member in collection.members:
            state = f" if {member.state}" if member.state else ""
            rows.append(f"  {member.sort or '(no sort key)'}  {member.schema.entity.__name__}{state}")
        boxes.append(_Box(collection.place, rows))
    return _flowed("Item collections", boxes)


def flow_drawing(design: Design) -> str:
    """Writes, the entities that they write, and reactions."""
    touched = [entity for write in design.writes.values() for entity in _concerned(write)]
    entities = {entity: _Box(entity.__name__) for entity in dict.fromkeys([*touched, *_reacting(design)])}
    writes = {write.name: _Box(write.name) for write in design.writes.values()}
    reactions = {reaction.name: _Box(f"{reaction.name} ({reaction.effect})") for reaction in design.reactions}
    columns = [list(writes.values()), list(entities.values()), list(reactions.values())]
    x = 0.0
    for column in columns:
        y, widest = 0.0, max((box.width for box in column), default=0)
        for box in column:
            box.x, box.y, box.least = x, y, widest
            y += box.height + 12
        x += widest + 90
    lines = [
        _line(writes[write.name], entities[entity], dashed=False)
        for write in design.writes.values()
        for entity in _concerned(write)
    ]
    lines += [_line(entities[each.entity], reactions[each.name], dashed=True) for each in design.reactions]
    return _svg("Writes and reactions", [box for column in columns for box in column], list(dict.fromkeys(lines)))


def _concerned(write: Write) -> list[type]:
    return [*(item_write.entity for item_write in write.item_writes), *write.checks]


def _reacting(design: Design) -> list[type]:
    return [reaction.entity for reaction in design.reactions]


def _line(start: _Box, end: _Box, *, dashed: bool) -> str:
    style = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<line x1="{start.x + start.width:.0f}" y1="{start.y + start.height / 2:.0f}" x2="{end.x:.0f}" '
        f'y2="{end.y + end.height / 2:.0f}" stroke="currentColor" stroke-opacity="0.6"{style}/>'
    )


def _flowed(title: str, boxes: Sequence[_Box]) -> str:
    """Boxes from left to right, in as many rows as necessary."""
    x = y = tallest = 0.0
    for box in boxes:
        if x and x + box.width > _WIDEST:
            x, y, tallest = 0.0, y + tallest + _GAP, 0.0
        box.x, box.y = x, y
        x += box.width + _GAP
        tallest = max(tallest, box.height)
    return _svg(title, boxes, [])


def _svg(title: str, boxes: Sequence[_Box], lines: Sequence[str]) -> str:
    width = max((box.x + box.width for box in boxes), default=0) + 3
    height = max((box.y + box.height for box in boxes), default=0) + 3
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'role="img"><title>{escape(title)}</title>'
    )
    return "\n".join([head, *lines, *(box.draw() for box in boxes), "</svg>"])
