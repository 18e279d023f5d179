"""A page of items as the rows of a table, as a single piece of HTML: separate elements would take ten times as long.

Every value is escaped: it is text, whatever it looks like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from html import escape

from tablewright.dynamo import Item
from tablewright.studio.items.attribute_text import short_text, type_of

__all__ = ["columns_of", "head_html", "rows_html"]

_MOST_COLUMNS = 14
_CELL = 60


def columns_of(items: Sequence[Item], key: Sequence[str], wanted: Sequence[str] = ()) -> list[str]:
    """The attributes to show: keys first, then those of an entity, then the most common ones."""
    counts = Counter(name for item in items for name in item)
    # Of what equally many items have, what comes first in them.
    others = sorted((name for name in counts if name not in key), key=lambda name: -counts[name])
    first = [name for name in wanted if name not in key and name in counts]
    return list(dict.fromkeys([*key, *first, *others]))[: max(_MOST_COLUMNS, len(key))]


def head_html(columns: Sequence[str], *, select: str, entity: str) -> str:
    """The row of headings; ``select`` and ``entity`` are the labels of the first two columns, if they are shown."""
    every = f'<input type="checkbox" data-pick="*" aria-label="{escape(select)}" title="{escape(select)}">'
    cells = [f'<th scope="col" class="st-pick">{every}</th>' if select else ""]
    cells.append(f'<th scope="col">{escape(entity)}</th>' if entity else "")
    cells += [f'<th scope="col">{escape(name)}</th>' for name in columns]
    return f"<tr>{''.join(cells)}</tr>"


def rows_html(
    items: Sequence[Item],
    columns: Sequence[str],
    *,
    address: Callable[[Item], str],
    token: Callable[[Item], str],
    entity: Callable[[Item], tuple[str, str]] | None,
    select: str,
    link: str,
    chosen: Collection[str] = (),
) -> str:
    """The rows of some items.

    ``address`` returns that of an item, ``token`` its name in the address; ``entity`` returns its name and colour.
    ``select`` is the label of the checkboxes, if there are any, and ``chosen`` the chosen items; ``link`` is the column
    that links to the item.
    """
    rows = []
    for item in items:
        name = token(item)
        cells = []
        if select:
            label = f"{select} {short_text(item[link], 40)}"
            cells.append(
                f'<td class="st-pick"><input type="checkbox" data-pick="{escape(name)}" aria-label="{escape(label)}"'
                f"{' checked' if name in chosen else ''}></td>"
            )
        if entity is not None:
            kind, tone = entity(item)
            cells.append(
                f'<td><span class="tw-pill tw-tone-{tone}">{escape(kind)}</span></td>' if kind else "<td></td>"
            )
        for column in columns:
            value = item.get(column)
            shown = "" if value is None else escape(short_text(value, _CELL))
            kind = "" if value is None else f' data-type="{type_of(value)}"'
            if column == link:
                href = escape(address(item))
                shown = f'<a class="st-row-link" href="{href}" data-go data-row>{shown or "·"}</a>'
            cells.append(f"<td{kind}>{shown}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return "".join(rows)
