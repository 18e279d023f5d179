"""Deliveries of a program on a day, with their outcomes; delivering and retrying, for users who may."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from typing import Any

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from tablewright.systems.engagement.app.candidates_panel import DELIVERY_TONES
from tablewright.systems.engagement.app.engagement_parts import Body, path_of, place_of, reason_text, subject_name
from tablewright.systems.engagement.model import Delivery
from tablewright.ui.components import box, button, empty, pill, text, time
from tablewright.ui.data_list import DataList
from tablewright.ui.feedback import guarded, toast
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import parsed_time

__all__ = ["DeliveryList"]

_PAGE = 25
_PAUSE = 0.7
_AT_ONCE = 100


class DeliveryList:
    """Deliveries of a day, in the element that is open when it is made."""

    def __init__(self, page: Page, program: Body) -> None:
        self._page = page
        self._program = program
        t = page.t
        self._day = _day(page.query.get("date"))
        with box("tw-row tw-wrap"):
            with box("tw-row"):
                text(t("engagement.day"), "tw-mute")
                chosen = ui.input(value=self._day.isoformat(), on_change=self._chosen).classes("tw-input")
                chosen.props(f'borderless dense type=date aria-label="{t("engagement.day")}" name="day"')
            if page.may("deliver") and program["enabled"]:
                button(
                    t("engagement.deliver_now"), lambda: self._deliver("deliver", {}), icon_name="mail", kind="primary"
                )
                button(
                    t("engagement.retry_refused"), lambda: self._deliver("retry_deliveries", {}), icon_name="refresh"
                )
        with box("tw-list-card"):
            self._list: DataList[Body] = DataList(
                t,
                read=self._read,
                key=lambda each: f"{each['deliveryId']}",
                row=self._draw,
                nothing=lambda: empty(t("engagement.no_deliveries"), icon_name="mail"),
                controls=True,
            )

    async def load(self, program: Body) -> None:
        self._program = program
        await self._list.refresh()

    async def changed(self, found: list[Any], program: Body) -> None:
        self._program = program
        if any(isinstance(each, Delivery) and each.program_id == program["programId"] for each in found):
            await self._list.refresh()
            await asyncio.sleep(_PAUSE)

    async def _chosen(self, event: ValueChangeEventArguments[Any]) -> None:
        self._day = _day(event.value)
        await guarded(self._list.load)()

    async def _read(self, cursor: str | None) -> tuple[list[Body], str | None]:
        answer = await self._page.api.call(
            "deliveries",
            program_id=self._program["programId"],
            date=self._day.isoformat(),
            limit=_PAGE,
            cursor=cursor,
        )
        return answer.body["deliveries"], answer.body.get("cursor")

    async def _deliver(self, call: str, only: Body) -> None:
        t = self._page.t
        answer = await self._page.api.call(call, body={"limit": _AT_ONCE, **only}, **place_of(self._program))
        found = answer.body
        counts = {name: t.number(found[name]) for name in ("sent", "refused", "waiting")}
        toast(t("engagement.delivered", **counts))
        for channel, held in found["heldUp"].items():
            toast(t("engagement.held_up", channel=channel, reason=held["reason"]), bad=True)
        await self._list.refresh()

    def _draw(self, each: Body) -> None:
        page, t = self._page, self._page.t
        place = each["customerId"], each["subject"]["type"], each["subject"]["id"]
        program = {"programId": each["programId"], "marketplaceId": each["marketplaceId"]}
        with box("tw-item"), box("tw-row-between"):
            with box("tw-row tw-wrap"):
                path = path_of(page, program, "candidates", *place)
                with box("tw-link tw-mono", "a", href=path, data_go=True, data_row=True):
                    text(each["customerId"])
                text(subject_name(each["programId"], each["subject"]), "tw-mute")
                pill(each["channelId"])
                pill(t(f"engagement.{each['state']}"), DELIVERY_TONES[each["state"]])
                if each["reason"]:
                    text(reason_text(t, each["reason"]), "tw-mute tw-small")
                if each["retries"]:
                    text(t("engagement.tries", number=each["retries"] + 1), "tw-mute tw-small")
            with box("tw-row"):
                is_own = each["marketplaceId"] == self._program["marketplaceId"]
                if each["state"] == "refused" and is_own and self._program["enabled"] and page.may("retry_deliveries"):
                    only = {"customerId": each["customerId"], "channelId": each["channelId"]}
                    button(t("engagement.retry"), lambda: self._deliver("retry_deliveries", only), small=True)
                time(t, parsed_time(each["at"]))


def _day(given: str | None) -> date:
    try:
        return date.fromisoformat(given or "")
    except ValueError:
        return datetime.now(UTC).date()
