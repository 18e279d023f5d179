"""A write of the design as a form: typed fields, item by item; requests are shown and have to be confirmed.

/patterns/{design}/{write}?0.key.task_id=t-1    the values are filled in, and nothing is sent
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tablewright.model import Design, Write
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
from tablewright.studio.designs.write_runs import (
    Declined,
    WriteField,
    WriteRun,
    fields_of,
    key_parameters,
    planned_write_units,
    run_write,
)
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import counted_units, units_text
from tablewright.ui.components import banner, box, card, fact, facts, pill, text
from tablewright.ui.forms import Form

__all__ = ["WriteForm"]

_LONG = ("description", "body", "text", "content", "note")


class WriteForm:
    """One write in one browser tab."""

    def __init__(self, page: StudioPage, design: Design, write: Write) -> None:
        self._page = page
        self._design = design
        self._write = write
        self._planned = planned_write_units(design, write)

    def draw(self) -> None:
        page, t, write = self._page, self._page.t, self._write
        with box("tw-thing-head"):
            back_to_list(page)
            text(write.name, "tw-mono-title", "h2")
            pill(t("designs.write"), "violet")
            text(t("designs.planned", units=counted_units(t, self._planned)), "tw-mute tw-small")
        with box("tw-thing-body"):
            if not page.may_write:
                banner(t("studio.read_only_about"), "info")
            if write.about:
                text(write.about, "tw-mute", "p")
            if write.checks:
                names = ", ".join(entity.__name__ for entity in write.checks)
                text(t("designs.checks", names=names), "tw-mute tw-small", "p")
            with card(classes="st-parameters"):
                form = Form(t, submit=self._submit, action=t("studio.review"))
                self._draw_fields(form)
                form.end()
            self._result = box("tw-stack", aria_live="polite")

    def _draw_fields(self, form: Form) -> None:
        t = self._page.t
        fields = fields_of(self._design, self._write)
        for place, item_write in enumerate(self._write.item_writes):
            with form.part(f"{item_write.action} {item_write.entity.__name__}"):
                if item_write.action in ("update", "delete") and not key_parameters(self._design, item_write):
                    text(t("designs.no_key_pattern", name=item_write.entity.__name__), "tw-mute tw-small")
                if item_write.count > 1:
                    text(t("designs.one_of_several", number=item_write.count), "tw-mute tw-small")
                for each in fields:
                    if each.place == place:
                        self._draw_field(form, each)

    def _draw_field(self, form: Form, each: WriteField) -> None:
        t, parameter = self._page.t, each.parameter
        value = self._page.query.get(each.key, "")
        hint = Shape(parameter.annotation).name if each.has_members else parameter.kind
        if each.role in ("add", "append"):
            hint += f" · {t(f'designs.{each.role}')}"
        if not parameter.is_required:
            hint += f" · {t('designs.optional')}"
        if each.has_members:
            shape = Shape(parameter.annotation, parameter.is_required)
            with form.control(each.key, parameter.name, hint=hint) as control:
                control.read = TypedValueEditor(t, each.key, parameter.name, shape, value).read
        elif parameter.choices:
            options = {} if parameter.is_required else {"": "·"}
            options |= {choice: choice for choice in parameter.choices}
            form.choice(each.key, parameter.name, options, value=value or None, hint=hint)
        else:
            lines = parameter.name in _LONG
            form.text(each.key, parameter.name, value=value, hint=hint, most=100_000, lines=lines)

    async def _submit(self, values: dict[str, Any], _: str) -> None:
        page = self._page
        texts = {name: str(value) for name, value in values.items() if value}
        made = run_write(page.database, self._design, self._write, texts, self._ask, page.user_id)
        try:
            run = await outcome(made, self._result)
        except Declined:
            return
        if run is None:
            return
        # Short ones only: an address that is too long for a server would lead nowhere.
        kept = {name: value for name, value in texts.items() if len(value) <= 200}
        address = run_address(page, self._design, self._write.name, **kept)
        remember(page, run, address)
        page.client.run_javascript(f"tw.push({orjson.dumps(address).decode()})")
        self._result.clear()
        with self._result:
            self._draw_run(run)
        # It is below the form, which may be long.
        page.client.run_javascript(f"getHtmlElement({self._result.id}).scrollIntoView({{block: 'start'}})")

    async def _ask(self, operation: str, body: Mapping[str, Any]) -> bool:
        t = self._page.t
        is_deletion = all(each.action == "delete" for each in self._write.item_writes)
        return await self._page.confirm_request(
            operation, body, title=self._write.name, action=t("studio.send"), danger=is_deletion
        )

    def _draw_run(self, run: WriteRun) -> None:
        t = self._page.t
        with card(), facts():
            fact(t("studio.outcome"), lambda: pill(t("studio.done"), "good"))
            draw_units(t, run.units, self._planned)
            if run.read_units:
                fact(t("designs.read_first"), units_text(run.read_units))
            fact(t("designs.took"), f"{run.milliseconds:.1f} ms")
        draw_requests(self._page, run)
        draw_history(self._page)
