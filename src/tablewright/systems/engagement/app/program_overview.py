"""A program at a glance: what it does and whether that works here, its latest run, its history, and trying it out."""

from __future__ import annotations

import json
from typing import Any

from tablewright.systems.engagement.app.engagement_parts import Body, configuration_of, number, place_of
from tablewright.systems.engagement.app.program_runs import draw_run
from tablewright.systems.engagement.app.trial_panel import TrialPanel
from tablewright.systems.engagement.model import Run
from tablewright.ui.components import box, card, icon, text, time
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["Overview"]

_PARTS = (
    ("sources", "dataConnectors"),
    ("models", "scoringModels"),
    ("filters", "filterChain"),
    ("channels", "channels"),
    ("schedule", "batchSchedule deliverySchedule timeZone"),
)
_HISTORY = 8


class Overview:
    """The first section of a program, in the element that is open when it is made."""

    def __init__(self, page: Page, program: Body) -> None:
        self._page = page
        self._drawn: dict[str, Any] = {}
        with box("tw-split"):
            with box():
                self._parts = box()
                self._latest = box()
                self._history = box()
            with box():
                if page.may("dry_run", "preview"):
                    TrialPanel(page, lambda: place_of(program), lambda: None)
                self._in_full = box()

    async def load(self, program: Body) -> None:
        """Read and draw what has changed."""
        page = self._page
        problems: list[Body] = []
        if self._drawn.get("version") != program["version"] and page.may("check_program"):
            answer = await page.api.call("check_program", body=configuration_of(program))
            problems = answer.body["problems"]
        versions = await page.api.call("versions", limit=_HISTORY, **place_of(program))
        if self._drawn.get("version") != program["version"]:
            self._drawn["version"] = program["version"]
            self._draw_parts(program, problems)
            self._draw_history(versions.body["versions"])
            self._draw_in_full(program)
        await self._load_run(program)

    async def changed(self, found: list[Any], program: Body) -> None:
        if any(isinstance(each, Run) for each in found):
            await self._load_run(program)

    async def _load_run(self, program: Body) -> None:
        page = self._page
        answer = await page.api.call("runs", limit=1, **place_of(program))
        runs = answer.body["runs"]
        if self._drawn.get("run") == runs:
            return
        self._drawn["run"] = runs
        self._latest.clear()
        with self._latest, card(page.t("engagement.latest_run")):
            if runs:
                draw_run(page, runs[0])
            else:
                text(page.t("engagement.no_runs"), "tw-mute", "p")

    def _draw_parts(self, program: Body, problems: list[Body]) -> None:
        page, t = self._page, self._page.t
        self._parts.clear()
        with self._parts, card(t("engagement.what_it_does")), box("tw-checks"):
            for name, fields in _PARTS:
                wrong = [each["message"] for each in problems if each["field"].partition(".")[0] in fields.split()]
                tone = "bad" if wrong else "good"
                with box("tw-check"):
                    label = t("engagement.works_not" if wrong else "engagement.works")
                    with box(f"tw-check-mark tw-tone-{tone}", "span", title=label):
                        icon("alert" if wrong else "check")
                        text(label, "tw-hidden")
                    text(t(f"engagement.{name}"), "tw-strong")
                    text(wrong[0] if wrong else _summary(page, name, program), "" if wrong else "tw-mute")
            with box("tw-check"):
                with box("tw-check-mark tw-tone-info", "span", aria_hidden="true"):
                    icon("bolt")
                text(t("engagement.events"), "tw-strong")
                text(t("engagement.reacts" if program["reactiveEnabled"] else "engagement.reacts_not"), "tw-mute")

    def _draw_in_full(self, program: Body) -> None:
        """What an approver has to review: queries, rules, texts, and addresses of receivers."""
        t = self._page.t
        self._in_full.clear()
        with self._in_full, card(t("engagement.in_full")), box("tw-stack"):
            for each in program["dataConnectors"]:
                _letter(t("engagement.query"), each["query"], code=True)
            for each in program["scoringModels"]:
                if each.get("endpoint"):
                    _letter(each["modelId"], each["endpoint"], code=True)
            for name, settings in program["filterChain"]["settings"].items():
                if settings:
                    _letter(name, json.dumps(settings, ensure_ascii=False, indent=1), code=True)
            for each in program["channels"]:
                config = each["config"]
                content = "\n".join(str(value) for value in config.values()) or t("engagement.none")
                limit = (
                    "" if each["limitPerDay"] is None else f" · {t('engagement.limit_per_day')} {each['limitPerDay']}"
                )
                _letter(f"{each['channelId']}{limit}", content)

    def _draw_history(self, versions: list[Body]) -> None:
        page, t = self._page, self._page.t
        self._history.clear()
        with self._history, card(t("engagement.history")), box("tw-stack", "ol"):
            for each in versions:
                with box("tw-row-between", "li"):
                    text(t(f"engagement.step_{each['step']}", who=each["changedBy"]))
                    with box("tw-row"):
                        text(t("engagement.version", number=each["number"]), "tw-mute tw-small")
                        time(page.t, parsed_time(each["at"]))


def _letter(title: str, content: str, *, code: bool = False) -> None:
    with box("tw-letter"):
        text(title, "tw-strong tw-small")
        text(content, f"tw-pre {'tw-mono' if code else ''}", "p")


def _summary(page: Page, name: str, program: Body) -> str:
    """A part of a program as one line."""
    t = page.t
    if name == "sources":
        found = [
            ", ".join(each.get("tables", {}).values()) or each.get("database") or each["type"]
            for each in program["dataConnectors"]
        ]
    elif name == "models":
        found = [f"{each['modelId']} {number(t, each['weight'])}" for each in program["scoringModels"]]
    elif name == "filters":
        return " → ".join(program["filterChain"]["filters"]) or t("engagement.none")
    elif name == "channels":
        ordered = sorted(program["channels"], key=lambda each: (each["priority"], each["channelId"]))
        found = [f"{each['channelId']} {each['priority']}" for each in ordered]
    else:
        crons = [each for each in (program["batchSchedule"], program["deliverySchedule"]) if each]
        return f"{' / '.join(crons)} {program['timeZone']}" if crons else t("engagement.by_hand")
    return " · ".join(found) or t("engagement.none")
