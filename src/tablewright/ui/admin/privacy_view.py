"""Personal data: what each system stores about a person, exporting it as a file, and erasing it."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from tablewright.ui.admin.records_view import system_title
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import Column, Tone, banner, box, button, card, empty, pill, table, text
from tablewright.ui.feedback import confirm, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page

__all__ = ["personal_data"]

_EVERY = 0.7
_TONES: dict[str, Tone] = {
    "delete": "bad",
    "replace": "violet",
    "keep": "info",
    "expires": "neutral",
    "review": "warn",
    "remaining": "warn",
}
Body = dict[str, Any]


async def personal_data(page: Page) -> None:
    """Draw the form, and the latest report."""
    view = _PersonalData(page)
    await view.load()
    # Until the work is done; the tables are read from end to end, which no stream tells of.
    view.timer = ui.timer(_EVERY, view.load, active=view.is_running)


class _PersonalData:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._drawn: object = None
        self.is_running = False
        self.timer: ui.timer | None = None
        t = page.t
        with box("tw-body tw-body-narrow"):
            with card(t("admin.privacy_find")):
                text(t("admin.privacy_about"), "tw-mute", "p")
                form = Form(t, submit=self._find, action=t("admin.privacy_look"))
                form.text("person_id", t("admin.privacy_person"), most=200, hint=t("admin.privacy_hint"))
                form.end()
            self._slot = box()

    async def load(self) -> None:
        try:
            job: Body | None = (await self._page.api.call("privacy_job")).body
        except Refused as error:
            if error.status != 404:
                raise
            job = None
        self.is_running = job is not None and job["state"] == "running"
        if self.timer is not None:
            self.timer.active = self.is_running
        if job != self._drawn:
            self._drawn = job
            self._slot.clear()
            with self._slot:
                if job is not None:
                    self._draw(job)

    async def _find(self, values: dict[str, Any], _: str) -> None:
        person = str(values["person_id"]).strip()
        if not person:
            raise Refused(422, "invalid", self._page.t("shell.required"), {"person_id": self._page.t("shell.required")})
        await self._page.api.call("find_personal_data", person_id=person)
        await self.load()

    def _draw(self, job: Body) -> None:
        t = self._page.t
        with card():
            with box("tw-row-between tw-wrap"):
                with box("tw-row tw-wrap"):
                    text(job["person"], "tw-h2 tw-break", "h2")
                    label, tone = self._state(job)
                    pill(label, tone)
                if job["state"] == "done" and job["action"] == "find" and job["findings"]:
                    with box("tw-row"):
                        button(t("admin.privacy_export"), lambda: self._export(job), icon_name="download", small=True)
                        button(t("admin.privacy_erase"), lambda: self._erase(job), kind="danger", small=True)
            if job["state"] == "running":
                text(t("admin.privacy_read", number=t.number(job["items_read"])), "tw-mute", "p")
            elif job["failed"]:
                banner(job["failed"], "bad")
            elif not job["findings"]:
                empty(t("admin.privacy_nothing"), t("admin.privacy_nothing_about"), "check")
            else:
                if job["action"] == "erase":
                    text(t("admin.privacy_now", name=job["pseudonym"]), "tw-mute tw-break", "p")
                table(self._columns(), job["findings"], caption=t("admin.privacy"))
                with box("tw-stack-tight"):
                    text(t("admin.privacy_elsewhere"), "tw-section-title", "h3")
                    for key in ("streams", "recovery", "outside"):
                        text(t(f"admin.privacy_{key}"), "tw-mute tw-small", "p")

    def _state(self, job: Body) -> tuple[str, Tone]:
        t = self._page.t
        if job["state"] == "running":
            return t(f"admin.privacy_{job['action']}ing"), "info"
        if job["state"] == "failed":
            return t("admin.failing"), "bad"
        return t("admin.privacy_found" if job["action"] == "find" else "admin.privacy_erased"), "good"

    def _columns(self) -> list[Column[Body]]:
        t = self._page.t
        return [
            Column(t("admin.system"), lambda each: system_title(self._page, each["system"])),
            Column(t("admin.entity"), lambda each: each["entity"] or each["table"]),
            Column(t("admin.privacy_why"), lambda each: t(f"admin.why_{each['why']}")),
            Column(t("admin.privacy_items"), lambda each: t.number(each["items"]), end=True),
            Column(t("admin.privacy_action"), self._draw_action),
        ]

    def _draw_action(self, each: Body) -> object:
        with box("tw-row tw-wrap") as made:
            pill(self._page.t(f"admin.action_{each['action']}"), _TONES[each["action"]])
            if each["action"] == "keep":
                text(each["note"], "tw-mute tw-small")
        return made

    async def _export(self, job: Body) -> None:
        found = (await self._page.api.call("export_personal_data", person_id=job["person"])).body
        content = json.dumps(found, indent=2, ensure_ascii=False).encode()
        ui.download.content(content, "personal-data.json", "application/json")

    async def _erase(self, job: Body) -> None:
        t, person = self._page.t, job["person"]
        about = t("admin.privacy_sure_about", number=t.number(sum(each["items"] for each in job["findings"])))
        if await confirm(t("admin.privacy_sure", who=person), about, t("admin.privacy_erase")):
            await self._page.api.call("erase_personal_data", person_id=person)
            toast(t("admin.privacy_begun", who=person))
            await self.load()
