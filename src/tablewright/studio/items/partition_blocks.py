"""Partitions as blocks, in HTML: items in the order of their sort key, entity by colour. Every value is escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from tablewright.design.document import LaidItem, Partition, other_attributes
from tablewright.dynamo import Item, item_size
from tablewright.studio.items.attribute_text import short_text
from tablewright.studio.studio_parts import entity_tone, size_text

__all__ = ["blocks_html"]

_SUMMARY = 4


def blocks_html(
    partitions: Sequence[Partition],
    sort: Sequence[str],
    *,
    keys: Sequence[str],
    entities: Sequence[str],
    counted: Callable[[int], str],
    address: Callable[[Item], str] | None,
) -> str:
    """The blocks of some partitions.

    ``keys`` are all key attributes, which summaries omit; ``entities`` maps each entity to its colour; ``counted``
    returns the text for a number of items; ``address`` returns that of an item, if it has one.
    """
    blocks = []
    for partition in partitions:
        size = sum(item_size(laid.item) for laid in partition.items)
        title = " · ".join(short_text(value, 120) for value in partition.key)
        rows = "".join(_row(laid, sort, keys, entities, address) for laid in partition.items)
        blocks.append(
            f'<section class="st-block"><h2><span class="tw-mono">{escape(title)}</span>'
            f'<span class="tw-mute tw-small">{escape(counted(len(partition.items)))} · {escape(size_text(size))}</span>'
            f"</h2>{rows}</section>"
        )
    return "".join(blocks)


def _row(
    laid: LaidItem,
    sort: Sequence[str],
    keys: Sequence[str],
    entities: Sequence[str],
    address: Callable[[Item], str] | None,
) -> str:
    item = laid.item
    tone = entity_tone(laid.entity, entities)
    pill = f'<span class="tw-pill tw-tone-{tone}">{escape(laid.entity)}</span>' if laid.entity else ""
    place = " · ".join(short_text(item[name], 120) for name in sort)
    others = other_attributes(item, keys)[:_SUMMARY]
    summary = " · ".join(short_text(item[name], 48) for name in others)
    content = (
        f'{pill}<span class="tw-mono st-block-sort">{escape(place)}</span>'
        f'<span class="tw-mute tw-clip">{escape(summary)}</span>'
    )
    if address is None:
        return f'<div class="st-block-item st-edge-{tone}">{content}</div>'
    return f'<a class="st-block-item st-edge-{tone}" href="{escape(address(item))}" data-go data-row>{content}</a>'
