"""Patterns: every access pattern of the design, and every write, as a form that runs it.

/patterns                                  all of them, by design
/patterns/{design}/{pattern}?status=open   one, with its values; run=1 runs a pattern at once, and never a write
"""

from __future__ import annotations

from html import escape
from json import dumps
from typing import Any

import orjson
from nicegui import ui
from pydantic import BaseModel

from tablewright.model import Design, Get, Query
from tablewright.studio.designs.pattern_runs import PatternRun, parameters_of, planned_units, run_pattern
from tablewright.studio.designs.run_parts import (
    back_to_list,
    draw_history,
    draw_requests,
    draw_units,
    outcome,
    remember,
    run_address,
)
from tablewright.studio.designs.typed_value import Shape
from tablewright.studio.designs.typed_value_editor import TypedValueEditor
from tablewright.studio.designs.write_form import WriteForm
from tablewright.studio.designs.write_runs import writes_of
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import counted_units, entity_pill
from tablewright.ui.components import box, button, card, empty, fact, facts, pill, text
from tablewright.ui.forms import Form

__all__ = ["patterns_view"]


async def patterns_view(page: StudioPage, design: str = "", pattern: str = "") -> None:
    t = page.t
    await page.look_at("")
    if not page.database.designs:
        empty(t("studio.no_design"), t("studio.no_design_about"), "bolt")
        return
    found = next((each for each in page.database.designs if each.name == design), None)
    write = None if found is None else writes_of(found).get(pattern)
    if pattern and (found is None or (write is None and pattern not in found.patterns)):
        empty(t("shell.not_found"), t("shell.not_found_about"))
        return
    with box("tw-columns"):
        with box("tw-col-list", "section", aria_label=t("designs.patterns")), box("tw-col-scroll"):
            # The one that is open first, so that its patterns are in sight.
            for each in sorted(page.database.designs, key=lambda each: each is not found):
                _draw_list(page, each, pattern if each is found else "")
        with box("tw-col-thing", "section") as thing:
            if found is None or not pattern:
                empty(t("designs.choose_pattern"), t("designs.choose_pattern_about"), "bolt")
            elif pattern in found.patterns:
                await _Pattern(page, found, pattern).draw()
            else:
                assert write is not None, "there is no such pattern, so it is a write"
                WriteForm(page, found, write).draw()
        if found is not None and pattern:
            thing.parent_slot.parent.props["data-open"] = "thing"  # type: ignore[union-attr]


def _draw_list(page: StudioPage, design: Design, current: str) -> None:
    t = page.t
    text(design.name, "tw-section-title st-list-title", "h2")
    for name, (_, pattern) in design.patterns.items():
        is_open = "true" if name == current else None
        with box(
            "tw-item", "a", href=run_address(page, design, name), data_go=True, data_row=True, aria_current=is_open
        ):
            with box("tw-row-between"):
                text(name, "tw-mono tw-strong tw-clip")
                kind = "Get" if isinstance(pattern, Get) else "Query" if isinstance(pattern, Query) else "Collection"
                pill(kind, "info" if kind == "Query" else "neutral")
            text(pattern.index or t("studio.the_table"), "tw-mute tw-small tw-clip")
    for name, write in writes_of(design).items():
        is_open = "true" if name == current else None
        href = run_address(page, design, name)
        with box("tw-item", "a", href=href, data_go=True, data_row=True, aria_current=is_open):
            with box("tw-row-between"):
                text(name, "tw-mono tw-strong tw-clip")
                pill(t("designs.write"), "violet")
            if name in design.writes:
                actions = ", ".join(f"{each.action} {each.entity.__name__}" for each in write.item_writes)
                text(actions, "tw-mute tw-small tw-clip")


class _Pattern:
    """One pattern in one browser tab."""

    def __init__(self, page: StudioPage, design: Design, name: str) -> None:
        self._page = page
        self._design = design
        self._name = name
        self._pattern = design.patterns[name][1]

    async def draw(self) -> None:
        page, t = self._page, self._page.t
        with box("tw-thing-head"):
            back_to_list(page)
            text(self._name, "tw-mono-title", "h2")
            pill(self._pattern.index or t("studio.the_table"), "info")
            text(
                t("designs.planned", units=counted_units(t, planned_units(self._design, self._name))),
                "tw-mute tw-small",
            )
        with box("tw-thing-body"):
            with card(classes="st-parameters"):
                form = Form(t, submit=self._submit, action=t("studio.run"))
                for each in parameters_of(self._design, self._name):
                    value = page.query.get(each.name, "")
                    hint = each.kind + ("" if each.is_required else f" · {t('designs.optional')}")
                    shape = Shape(each.annotation, each.is_required)
                    if each.takes_several and shape.kind == "list":
                        with form.control(
                            each.name, each.name, hint=f"{shape.name} · {t('designs.several')}"
                        ) as control:
                            given = value if value.startswith("[") or not value else dumps(value.split(","))
                            control.read = TypedValueEditor(t, each.name, each.name, shape, given).read
                    elif each.choices and not each.takes_several:
                        options = {} if each.is_required else {"": "·"}
                        options |= {choice: choice for choice in each.choices}
                        form.choice(each.name, each.name, options, value=value or None, hint=hint)
                    else:
                        form.text(each.name, each.name, value=value, hint=hint, most=2000)
                form.end()
            self._result = box("tw-stack", aria_live="polite")
        if page.query.get("run"):
            values = {name: each for name, each in page.query.items() if name not in ("run", "after")}
            await self._run(values, page.query.get("after"))

    async def _submit(self, values: dict[str, Any], _: str) -> None:
        texts = {name: str(value) for name, value in values.items() if value}
        await self._run(texts)
        # The address is that of what is shown.
        address = run_address(self._page, self._design, self._name, run="1", **texts)
        self._page.client.run_javascript(f"tw.push({orjson.dumps(address).decode()})")

    async def _run(self, texts: dict[str, str], cursor: str | None = None) -> None:
        page, t = self._page, self._page.t
        run = await outcome(run_pattern(page.database, self._design, self._name, texts, cursor), self._result)
        if run is None:
            return
        remember(page, run, run_address(page, self._design, self._name, run="1", **texts))
        self._result.clear()
        with self._result:
            self._draw_run(run)
            if run.cursor is not None:
                after = run.cursor
                button(t("studio.next"), lambda: self._run(texts, after), icon_name="forward", small=True, key="]")
            draw_requests(page, run)
            draw_history(page)

    def _draw_run(self, run: PatternRun) -> None:
        t = self._page.t
        planned = planned_units(self._design, self._name)
        with card(), facts():
            fact(t("designs.plan"), run.plan)
            draw_units(t, run.units, planned)
            fact(t("designs.took"), f"{run.milliseconds:.1f} ms")
            fact(t("studio.items"), t.number(len(run.entities)))
        if not run.entities:
            empty(t("studio.no_items"), t("studio.no_items_here"))
            return
        by_entity: dict[str, list[BaseModel]] = {}
        for each in run.entities:
            by_entity.setdefault(type(each).__name__, []).append(each)
        names = [schema.entity.__name__ for schema in self._design.schemas]
        for name, entities in by_entity.items():
            with box("tw-row"):
                entity_pill(name, names)
            made = ui.html(entities_html(entities), sanitize=False).classes("st-grid tw-card")
            # It scrolls, so that keys have to get there.
            made.props["tabindex"] = "0"


def entities_html(entities: list[BaseModel]) -> str:
    """Entities as a table of their fields; every value is escaped."""
    # What none of them has may not be in the index that was read.
    names = [
        name
        for name in type(entities[0]).model_fields
        if any(getattr(each, name, None) is not None for each in entities)
    ]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = []
    for entity in entities:
        cells = (_cell(getattr(entity, name, None)) for name in names)
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f'<table class="st-table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _cell(value: object) -> str:
    shown = "" if value is None else str(getattr(value, "value", value))
    return escape(shown if len(shown) <= 80 else shown[:79] + "…")
