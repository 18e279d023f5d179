"""The editor of a program: one form, checked by the service during typing, and tried out before it is saved.

Input changes a copy of the program's body; fields that the form does not have are not changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tablewright.systems.engagement.app.editor_fields import (
    EditorFields,
    as_json,
    as_names,
    as_number,
    as_tables,
)
from tablewright.systems.engagement.app.engagement_parts import Body, configuration_of
from tablewright.systems.engagement.app.trial_panel import TrialPanel
from tablewright.ui.api_calls import ApiResponse, Refused
from tablewright.ui.components import banner, box, button, card, link_button, set_attribute, text
from tablewright.ui.feedback import toast
from tablewright.ui.screen_page import Page

__all__ = ["edit_program", "new_program"]

_NEW: Body = {
    "programName": "",
    "dataConnectors": [
        {"type": "files", "tables": {"customers": "customers.csv"}, "query": "SELECT * FROM customers"},
    ],
    "scoringModels": [{"modelId": "propensity-v1", "weight": 1}],
    "filterChain": {"filters": ["frequency", "eligibility"], "settings": {"frequency": {"most": 3, "days": 7}}},
    "channels": [
        {
            "channelId": "email",
            "priority": 1,
            "config": {"subject": "$program", "text": "There is something for you: $subject_id\n"},
        }
    ],
    "timeZone": "UTC",
    "reactiveEnabled": False,
    "candidateTTLDays": 30,
}
_ADAPTERS = ("", "email", "webhook")


async def new_program(page: Page) -> None:
    """A new program."""
    await _Editor(page, None).begin()


async def edit_program(page: Page, marketplace_id: str, program_id: str) -> None:
    """An existing program."""
    answer = await page.api.call("get_program", consistent=True, program_id=program_id, marketplace_id=marketplace_id)
    await _Editor(page, answer).begin()


class _Editor:
    def __init__(self, page: Page, seen: ApiResponse | None) -> None:
        self._page = page
        self._seen = seen
        self._body: Body = deepcopy(_NEW) if seen is None else configuration_of(deepcopy(seen.body))
        # Whether a program is enabled is not part of the form.
        self._body["enabled"] = True
        self._place: Body = {"programId": "", "marketplaceId": ""}
        if seen is not None:
            self._place = {name: seen.body[name] for name in self._place}
        self._checks = 0
        t = page.t
        with box("tw-editor", data_form=True):
            with box("tw-editor-main"):
                with box("tw-editor-bar"):
                    text(t("engagement.new") if seen is None else str(self._body["programName"]), "tw-h2 tw-clip", "h2")
                    self._state = text("", "tw-pill", role="status")
                    with box("tw-row tw-push"):
                        back = page.path("/programs") if seen is None else self._program_path()
                        link_button(t("shell.cancel"), back, data_back=True)
                        button(t("engagement.save"), self._save, kind="primary", data_submit=True)
                with box("tw-body"):
                    if seen is not None and seen.body["enabled"]:
                        banner(t("engagement.was_enabled"), "warn")
                    top = box("tw-stack", role="alert")
                    self._fields = EditorFields(t, self._edited, top)
                    self._form = box("tw-stack")
            with box("tw-editor-side", "aside", aria_label=t("engagement.trial")):
                TrialPanel(page, self._named, lambda: self._body)

    async def begin(self) -> None:
        self._draw()
        await self._check()

    def _program_path(self) -> str:
        return self._page.path(f"/programs/{self._place['marketplaceId']}/{self._place['programId']}")

    def _named(self) -> dict[str, Any]:
        # A program without a name is tried out under a placeholder.
        return {
            "program_id": self._place["programId"] or "new",
            "marketplace_id": self._place["marketplaceId"] or "new",
        }

    # -- checking and saving --------------------------------------------------------------------------------------

    def _edited(self) -> Any:
        return self._check()

    async def _check(self) -> None:
        """Have the service check the program; a response for an older state is ignored."""
        self._checks += 1
        turn, t = self._checks, self._page.t
        answer = await self._page.api.call("check_program", body=self._body)
        if turn != self._checks:
            return
        self._show(answer.body["problems"])
        names = answer.body["attributes"]
        if names is not None:
            self._hint.set_text(t("engagement.names_hint", names=", ".join(f"${name}" for name in names)))

    def _show(self, problems: list[Body]) -> None:
        t, count = self._page.t, self._fields.show(problems)
        self._state.set_text(t.count("engagement.problems", count) if count else t("engagement.is_valid"))
        self._state.classes(remove="tw-tone-good tw-tone-bad").classes("tw-tone-bad" if count else "tw-tone-good")
        set_attribute(self._state, "data-checked", str(self._checks))

    async def _save(self) -> None:
        t, page, seen = self._page.t, self._page, self._seen
        if self._fields.unreadable:
            self._show([])
            return
        body = self._body if seen is not None else {**self._body, "version": 0}
        if not all(self._place.values()):
            missing = [name for name, value in self._place.items() if not value]
            self._show([{"field": name, "message": t("shell.required")} for name in missing])
            return
        try:
            answer = await page.api.call(
                "put_program", body=body, seen=None if seen is None else seen.etag, **self._named()
            )
        except Refused as error:
            if not error.fields:
                raise
            await self._check()
            self._show_ids(error)
            return
        was_approved = answer.body["approval"]["state"] == "approved"
        toast(t("engagement.saved_same" if was_approved else "engagement.saved"))
        await page.go(self._program_path())

    def _show_ids(self, error: Refused) -> None:
        """Problems of the id and the marketplace, which the check does not include."""
        known = {"program_id": "programId", "marketplace_id": "marketplaceId"}
        found = [{"field": known[name], "message": said} for name, said in error.fields.items() if name in known]
        if found:
            self._show(found)

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        self._fields.clear()
        self._form.clear()
        with self._form:
            self._draw_general()
            self._draw_list("sources", "source", "dataConnectors", self._draw_source, "add_source", _source)
            self._draw_list("models", "model", "scoringModels", self._draw_model, "add_model", _model)
            self._draw_filters()
            self._draw_list("channels", "channel_number", "channels", self._draw_channel, "add_channel", _channel)
            self._hint = text("", "tw-mute tw-small", "p")
            self._draw_schedule()

    def _again(self) -> Any:
        """Draw the form again, after its parts have changed."""
        self._draw()
        return self._check()

    def _draw_general(self) -> None:
        t, fields = self._page.t, self._fields
        with card(t("engagement.general")), box("tw-fields"):
            if self._seen is None:
                fields.text(self._place, ("programId",), t("engagement.program_id"), most=64)
                fields.text(self._place, ("marketplaceId",), t("engagement.marketplace_id"), most=64)
            fields.text(self._body, ("programName",), t("engagement.name"), most=200)

    def _draw_list(
        self,
        title: str,
        one: str,
        name: str,
        draw: Callable[[int, Body], None],
        add: str,
        made: Callable[[int], Body],
    ) -> None:
        """A list of parts, each with a button that removes it."""
        t, parts = self._page.t, self._body.setdefault(name, [])

        def append() -> Any:
            parts.append(made(len(parts) + 1))
            return self._again()

        def remove(number: int) -> Callable[[], Any]:
            def removed() -> Any:
                del parts[number]
                return self._again()

            return removed

        with card(t(f"engagement.{title}")), box("tw-stack"):
            self._fields.part((name,))
            for number, part in enumerate(parts):
                with box("tw-part", "fieldset"):
                    with box("tw-row-between"):
                        text(t(f"engagement.{one}", number=number + 1), "tw-strong tw-small")
                        button(
                            t("engagement.remove"),
                            remove(number),
                            icon_name="trash",
                            only_icon=True,
                            small=True,
                            kind="quiet",
                        )
                    self._fields.part((name, number))
                    with box("tw-fields"):
                        draw(number, part)
            with box("tw-row"):
                button(t(f"engagement.{add}"), append, icon_name="plus", small=True)

    def _draw_source(self, number: int, part: Body) -> None:
        t, fields = self._page.t, self._fields
        at = ("dataConnectors", number)

        def change(kind: str) -> Any:
            kept: Body = {name: part[name] for name in ("query", "customerColumn") if name in part}
            part.clear()
            part.update(kept, type=kind, **({"tables": {"customers": "customers.csv"}} if kind == "files" else {}))
            return self._again()

        kinds = {kind: t(f"engagement.{kind}") for kind in ("files", "athena")}
        fields.choice(part, (*at, "type"), t("engagement.kind"), kinds, change)
        if part.get("type") == "files":
            tables = "\n".join(f"{name} = {file}" for name, file in part.get("tables", {}).items())
            hint = t("engagement.tables_hint")
            label = t("engagement.tables")
            fields.text(part, (*at, "tables"), label, value=tables, read=as_tables, lines=True, code=True, hint=hint)
        else:
            for name, key in (
                ("database", "database"),
                ("workgroup", "workgroup"),
                ("outputLocation", "output_location"),
            ):
                fields.text(part, (*at, name), t(f"engagement.{key}"), optional=True)
        fields.text(part, (*at, "query"), t("engagement.query"), lines=True, code=True, most=10_000)
        for name, key in (
            ("customerColumn", "customer_column"),
            ("subjectTypeColumn", "subject_type_column"),
            ("subjectIdColumn", "subject_id_column"),
        ):
            fields.text(part, (*at, name), t(f"engagement.{key}"), optional=True, most=64)

    def _draw_model(self, number: int, part: Body) -> None:
        t, fields, at = self._page.t, self._fields, ("scoringModels", number)
        fields.text(part, (*at, "modelId"), t("engagement.model_id"), most=64)
        fields.text(part, (*at, "weight"), t("engagement.model_weight"), read=as_number)
        fields.text(part, (*at, "endpoint"), t("engagement.endpoint"), optional=True, wide=True, most=2_000)

    def _draw_filters(self) -> None:
        t, fields = self._page.t, self._fields
        chain = self._body.setdefault("filterChain", {"filters": [], "settings": {}})
        settings = chain.setdefault("settings", {})

        def read(given: str) -> list[str]:
            names = as_names(given)
            # Settings belong to a filter that is listed.
            for gone in [name for name in settings if name not in names]:
                del settings[gone]
            return names

        with card(t("engagement.filters")), box("tw-stack"):
            fields.part(("filterChain",))
            with box("tw-fields"):
                listed = ", ".join(chain.get("filters", []))
                hint = t("engagement.filter_hint")
                label = t("engagement.filter_order")
                fields.text(chain, ("filterChain", "filters"), label, value=listed, read=read, wide=True, hint=hint)
                self._draw_settings(settings)

    def _draw_settings(self, settings: Body) -> None:
        t, fields = self._page.t, self._fields
        at = "filterChain", "settings"
        chosen = self._body["filterChain"].get("filters", [])

        def into(name: str, key: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
            """Write input into the settings of a filter, which are created if needed."""

            def read(given: str) -> Any:
                value = make(given) if given.strip() else None
                own = settings.setdefault(name, {}) if value is not None else settings.get(name, {})
                if value is None:
                    own.pop(key, None)
                else:
                    own[key] = value
                return None

            return read

        unused: Body = {}
        if "frequency" in chosen:
            own = settings.get("frequency", {})
            for key in ("most", "days"):
                value = "" if own.get(key) is None else f"{own[key]}"
                read = into("frequency", key, as_number)
                fields.text(unused, (*at, "frequency", key), t(f"engagement.{key}"), value=value, read=read)
            fields.part((*at, "frequency"))
        if "eligibility" in chosen:
            rule = settings.get("eligibility", {}).get("rule")
            value = "" if rule is None else json.dumps(rule, ensure_ascii=False)
            read = into("eligibility", "rule", as_json)
            place = (*at, "eligibility")
            fields.text(unused, place, t("engagement.rule"), value=value, read=read, lines=True, code=True)

    def _draw_channel(self, number: int, part: Body) -> None:
        t, fields, at = self._page.t, self._fields, ("channels", number)
        config = part.setdefault("config", {})

        def change(adapter: str) -> Any:
            part["adapter"] = adapter or None
            config.clear()
            return self._again()

        fields.text(part, (*at, "channelId"), t("engagement.channel_id"), most=64)
        fields.text(part, (*at, "priority"), t("engagement.priority"), read=as_number)
        fields.text(part, (*at, "limitPerDay"), t("engagement.limit_per_day"), read=as_number, optional=True)
        adapters = {name: t(f"engagement.adapter_{name}") for name in _ADAPTERS}
        fields.choice(part, (*at, "adapter"), t("engagement.adapter"), adapters, change)
        carried = part.get("adapter") or part.get("channelId")
        if carried == "email":
            fields.text(
                config, (*at, "config", "subject"), t("engagement.mail_subject"), wide=True, optional=True, most=200
            )
            fields.text(
                config, (*at, "config", "text"), t("engagement.mail_text"), lines=True, optional=True, most=20_000
            )
        elif carried == "webhook":
            fields.text(config, (*at, "config", "url"), t("engagement.url"), wide=True, most=2_000)

    def _draw_schedule(self) -> None:
        t, fields, body = self._page.t, self._fields, self._body
        with card(t("engagement.schedule")), box("tw-fields"):
            fields.text(body, ("batchSchedule",), t("engagement.batch_schedule"), optional=True, most=100)
            fields.text(body, ("deliverySchedule",), t("engagement.delivery_schedule"), optional=True, most=100)
            fields.text(body, ("timeZone",), t("engagement.zone"), most=64)
            fields.text(body, ("candidateTTLDays",), t("engagement.ttl_days"), read=as_number)
            fields.text(body, ("maxFailedShare",), t("engagement.failed_share"), read=as_number, optional=True)
            attributes = ", ".join(body.get("eventAttributes", []))
            label, hint = t("engagement.event_attributes"), t("engagement.separated")
            fields.text(body, ("eventAttributes",), label, value=attributes, read=as_names, wide=True, hint=hint)

            def change(reacts: str) -> Any:
                body["reactiveEnabled"] = reacts == "True"
                return self._check()

            options = {"True": t("engagement.yes"), "False": t("engagement.no")}
            fields.choice(
                {"reactiveEnabled": str(bool(body.get("reactiveEnabled")))},
                ("reactiveEnabled",),
                t("engagement.reactive"),
                options,
                change,
            )


def _source(number: int) -> Body:
    return {"type": "files", "tables": {"customers": "customers.csv"}, "query": "SELECT * FROM customers"}


def _model(number: int) -> Body:
    return {"modelId": "", "weight": 1}


def _channel(number: int) -> Body:
    return {"channelId": "push" if number > 1 else "email", "priority": number, "config": {}}
