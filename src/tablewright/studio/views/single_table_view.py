"""The single-table view: partitions as blocks, items in the order of their sort key, entity by colour.

    /picture/{table}?index=...&of=samples&after=...

For stored items, it reads one page of a Scan of the table or the index; for samples it needs no table, and shows what
the design declares.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nicegui import ui

from tablewright.design.document import lay_out, sample_items
from tablewright.dynamo import Item
from tablewright.studio.items.attribute_text import key_token, token_key
from tablewright.studio.items.item_search import Place, equal_to, places_of, plan
from tablewright.studio.items.partition_blocks import blocks_html
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import counted_units, entity_pill
from tablewright.ui.components import box, empty, link_button, pill, text
from tablewright.ui.forms import select

__all__ = ["single_table_view"]

_ITEMS = 200


async def single_table_view(page: StudioPage, table: str = "") -> None:
    t, query = page.t, page.query
    await page.look_at(table)
    if not table:
        if page.tables:
            await page.go(page.path(f"/picture/{quote(page.table or page.tables[0], safe='')}"))
        else:
            empty(t("studio.no_tables"), t("studio.no_tables_about"), "database")
        return
    description = await page.describe(table)
    places = places_of(description)
    place = next((each for each in places if each.index == query.get("index")), places[0])
    is_sampled = query.get("of") == "samples" and page.database.design_of(table) is not None
    with box("tw-body"):
        _draw_bar(page, table, places, place, is_sampled)
        names = [schema.entity.__name__ for schema in page.database.schemas(table)]
        with box("tw-row tw-wrap").style("gap: 4px"):
            for name in names:
                entity_pill(name, names)
        if is_sampled:
            _draw_samples(page, table, places, place, names)
        else:
            await _draw_items(page, table, description, places, place, names)


def _address(page: StudioPage, table: str, **changes: str | None) -> str:
    return page.path(f"/picture/{quote(table, safe='')}", **{**page.query, "after": None, **changes})


def _draw_bar(page: StudioPage, table: str, places: list[Place], place: Place, is_sampled: bool) -> None:
    t = page.t
    with box("st-bar tw-card"):
        options = {
            each.index or "": f"{each.index or t('studio.the_table')} · {' · '.join(each.key)}" for each in places
        }
        select(
            options,
            place.index or "",
            lambda chosen: page.go(_address(page, table, index=chosen or None)),
            label=t("studio.index"),
        ).classes("st-bar-select st-bar-wide")
        if page.database.design_of(table) is not None:
            with box("tw-menu-group").style("padding: 0"):
                for of, label in ((None, "studio.real_items"), ("samples", "studio.samples")):
                    pressed = str((of == "samples") == is_sampled).lower()
                    href = _address(page, table, of=of)
                    with box("tw-choice", "a", href=href, data_go=True, role="button", aria_pressed=pressed):
                        text(t(label))


def _draw_samples(page: StudioPage, table: str, places: list[Place], place: Place, names: list[str]) -> None:
    found = page.database.design_of(table)
    assert found is not None
    _draw_blocks(page, table, sample_items(found[1]), places, place, names, has_addresses=False)


async def _draw_items(
    page: StudioPage, table: str, description: dict[str, Any], places: list[Place], place: Place, names: list[str]
) -> None:
    t = page.t
    after = page.query.get("after")
    conditions = [equal_to(place.key[0], page.query["pk"])] if page.query.get("pk") else []
    found = plan(
        description,
        conditions,
        index=place.index,
        after=None if after is None else token_key(after),
        limit=_ITEMS,
    )
    answer = await page.database.call(found.operation, **found.body)
    items = [(_entity(page, table, item), item) for item in answer["Items"]]
    if not items:
        empty(t("studio.no_items"), t("studio.no_items_here"))
        return
    _draw_blocks(page, table, items, places, place, names, has_addresses=True)
    with box("tw-row tw-wrap"):
        text(t.count("studio.shown", len(items)), "tw-mute tw-small")
        consumed = (answer.get("ConsumedCapacity") or {}).get("CapacityUnits")
        if consumed is not None:
            text(t("studio.consumed", units=counted_units(t, consumed)), "tw-mute tw-small")
        if "LastEvaluatedKey" in answer:
            pill(t("studio.cut"), "warn")
            link_button(
                t("studio.next"),
                _address(page, table, after=key_token(answer["LastEvaluatedKey"])),
                icon_name="forward",
                small=True,
                data_key="]",
            )


def _entity(page: StudioPage, table: str, item: Item) -> str:
    schema = page.database.schema_of_item(table, item)
    return "" if schema is None else schema.entity.__name__


def _draw_blocks(
    page: StudioPage,
    table: str,
    items: list[tuple[str, Item]],
    places: list[Place],
    place: Place,
    names: list[str],
    *,
    has_addresses: bool,
) -> None:
    t, key = page.t, places[0].key
    found = page.database.design_of(table)
    keys = [name for each in places for name in each.key]
    if found is not None and found[1].type_attribute is not None:
        keys.append(found[1].type_attribute)

    def address(item: Item) -> str:
        token = key_token({name: item[name] for name in key})
        return page.path(f"/items/{quote(table, safe='')}", index=place.index, item=token)

    # What is of no entity, such as what the store keeps for itself, comes last.
    blocks = sorted(
        lay_out(items, place.key[:1], place.key[1:]), key=lambda block: not any(each.entity for each in block.items)
    )
    if not blocks:
        empty(t("studio.no_items"), t("studio.no_items_here"))
        return
    ui.html(
        blocks_html(
            blocks,
            place.key[1:],
            keys=keys,
            entities=names,
            counted=lambda number: t.count("studio.shown", number),
            address=address if has_addresses else None,
        ),
        sanitize=False,
    ).classes("st-blocks tw-card")
