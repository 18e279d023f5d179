"""The calendar: calls of users and providers by day, week and month, or as an agenda.

    /calendar                                   this week; an agenda on a phone
    /week/2026-11-16?who=user:ada,provider:p-1  some people's week, side by side
    /week/2026-11-16/call-9                     the same, with a call beside it
    /call/call-9                                a call, in its week

The address determines what is shown: span, day, people, time zone, call. Customers see their own calls, staff those of
everyone. A calendar is read by an index for the days that are shown, and again when the stream reports a change of a
call of one of these people.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote, unquote
from weakref import WeakKeyDictionary
from zlib import crc32

from nicegui import Client, ui
from nicegui.events import GenericEventArguments

from tablewright.store import AnyChange, Change
from tablewright.systems.calls.app.calendar_days import (
    FIRST_DAY,
    LAST_DAY,
    Axis,
    Span,
    day_start,
    days_of,
    step,
)
from tablewright.systems.calls.app.calendar_grid import Agenda, DayGrid, Grid, Look, MonthGrid
from tablewright.systems.calls.app.calendar_side import MOST_CALENDARS, TONES, CalendarSide
from tablewright.systems.calls.app.call_detail import CallDetail
from tablewright.systems.calls.app.call_parts import (
    CallBody,
    Times,
    Whose,
    as_whose,
    begins,
    ends,
    move_call,
    new_call,
    people_in,
)
from tablewright.systems.calls.model import MAX_MINUTES, Call, Side, calls
from tablewright.systems.key_times import millis
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import banner, box, button, empty, icon, set_attribute, text
from tablewright.ui.feedback import guarded
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import zone_of

__all__ = ["calendar"]

_PAGE = 100
# Maximum calls of one calendar that are read; if there are more, the view says so.
_MOST_CALLS = 1_000
# In addresses: no people, instead of those who were shown last.
_NOBODY = "-"
_MILLISECOND = timedelta(milliseconds=1)
_REMEMBERED = "tablewright_calendars"
_KEYS = {Span.DAY: "d", Span.WEEK: "w", Span.MONTH: "m", Span.AGENDA: "a"}

# The calendars that were shown last in an open tab.
_last: WeakKeyDictionary[Client, str] = WeakKeyDictionary()


async def calendar(page: Page, span: str = "", day: str = "", call_id: str = "") -> None:
    """Draw the calendar, and the call that is open beside it."""
    drawn = _Calendar(page)
    await page.live(calls, drawn.changed)
    page.on_navigate(drawn.open)
    page.on_search(drawn.filter, typed=drawn.filter)
    with page.actions:
        button(page.t("calls.new"), drawn.new, kind="primary", icon_name="plus", key="n")
    await drawn.open(span, day, call_id)


class _Calendar:
    """The days and people that are shown, and the call that is open beside them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._is_staff = page.may("calls_of_provider")
        self._me = Whose(Side.USER, page.user_id)
        self._span = Span.WEEK
        self._times = Times(page.t, page.t.zone)
        self._day = self._times.today()
        self._who: list[Whose] = []
        self._call_id = ""
        self._calls: dict[str, CallBody] = {}
        self._looked_for = ""
        self._shown: object = None
        self._grid: Grid | None = None
        self._detail: CallDetail | None = None
        self._reads = 0
        self._root = box("tw-cal", data_taken=page.t("calls.taken_short"))
        self._root.on("tw-calendar", self._did, js_handler="(event) => emit(event.detail)")
        with self._root:
            self._side = box("tw-cal-side", "aside", aria_label=page.t("calls.calendars"))
            self._main = box("tw-cal-main")
            self._beside = box("tw-cal-detail", "aside", aria_label=page.t("calls.title"))
        self._beside.set_visibility(False)
        with self._root:
            ui.timer(30, self._tick)

    # -- addresses ------------------------------------------------------------------------------------------------

    async def open(self, span: str = "", day: str = "", call_id: str = "") -> None:
        """Show what an address says; parts that it omits stay as they are, or as the user had them last."""
        query = self._page.query
        self._times = Times(self._page.t, zone_of(query["zone"]) if query.get("zone") else self._page.t.zone)
        self._who = self._whose(query.get("who"))
        if call_id and not day:
            await self._find(call_id)
        else:
            self._span = Span(span) if span in tuple(Span) else self._usual()
            self._day = _parsed(day) or self._times.today()
        self._call_id = call_id
        shown = (self._span, days_of(self._span, self._day), tuple(self._who), self._times.zone, self._times.today())
        if shown != self._shown:
            self._shown = shown
            self._remember()
            self._draw()
            await self._load()
        else:
            self._draw_bar()
            self._show()
        await self._open_call(call_id)

    def _whose(self, chosen: str | None) -> list[Whose]:
        """Whose calendars are shown: customers their own, staff those that they choose."""
        if not self._is_staff:
            return [self._me]
        client = self._page.client
        if chosen is None:
            chosen = _last.get(client)
        if chosen is None:
            chosen = unquote(client.request.cookies.get(_REMEMBERED, ""))
        found = [as_whose(each) for each in (chosen or "").split(",")[:MOST_CALENDARS]]
        return list(dict.fromkeys(each for each in found if each is not None))

    def _remember(self) -> None:
        if self._is_staff:
            client, chosen = self._page.client, ",".join(map(str, self._who))
            _last[client] = chosen
            cookie = f"{_REMEMBERED}={quote(chosen, safe='')}; path=/; max-age=31536000; samesite=lax"
            client.run_javascript(f"document.cookie = {json.dumps(cookie)}")

    def _usual(self) -> Span:
        is_narrow = self._page.client.request.cookies.get("tablewright_narrow") == "1"
        return Span.AGENDA if is_narrow else Span.WEEK

    async def _find(self, call_id: str) -> None:
        """Show the days of a call, and the calendar of its user if none is chosen."""
        call = (await self._page.api.call("get_call", callId=call_id)).body
        self._span, self._day = self._usual(), self._times.day(begins(call))
        if not any(each.has(call) for each in self._who):
            self._who = [people_in(call)[0]]

    def _path(
        self,
        span: Span | None = None,
        day: date | None = None,
        call_id: str | None = None,
        who: Sequence[Whose] | None = None,
        zone: str | None = None,
    ) -> str:
        people = self._who if who is None else who
        key = self._times.zone.key if zone is None else zone
        path = f"/{span or self._span}/{(day or self._day).isoformat()}"
        return self._page.path(
            path + (f"/{quote(call_id, safe='')}" if call_id else ""),
            who=(",".join(map(str, people)) or _NOBODY) if self._is_staff else None,
            zone=key if key != self._page.t.zone.key else None,
        )

    # -- reading --------------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        """Read the calls of the days that are shown, and draw them."""
        self._reads += 1
        number = self._reads
        days = days_of(self._span, self._day)
        zone = self._times.zone
        begin, end = day_start(days[0], zone), day_start(days[-1] + timedelta(days=1), zone)
        # A call that began the day before may go on.
        since, until = millis(begin - timedelta(minutes=MAX_MINUTES)), millis(end - _MILLISECOND)
        found = await asyncio.gather(*(self._read(each, since, until) for each in self._who))
        if number != self._reads:
            # Another read has begun since.
            return
        self._calls = {call["callId"]: call for each, _ in found for call in each if ends(call) > begin}
        self._cut_off.set_visibility(any(is_cut_off for _, is_cut_off in found))
        self._show()

    async def _read(self, whose: Whose, since: int, until: int) -> tuple[list[CallBody], bool]:
        """The calls of a person, and whether there are more than are read."""
        of: dict[str, Any] = {"since": since, "until": until, "limit": _PAGE}
        if whose.side is Side.USER:
            name, of["userId"] = "calls_of_user", whose.person_id
        else:
            name, of["providerId"] = "calls_of_provider", whose.person_id
        found: list[CallBody] = []
        cursor: str | None = None
        while True:
            answer = await self._page.api.call(name, cursor=cursor, **of)
            found += answer.body["calls"]
            cursor = answer.body.get("cursor")
            if cursor is None or len(found) >= _MOST_CALLS:
                return found, cursor is not None

    async def changed(self, changes: Sequence[AnyChange] | None) -> None:
        """Read again if a call of a shown person has changed."""
        concerned = None if changes is None else _concerned(changes)
        if concerned is None or any(
            Whose(side, person) in self._who
            for call in concerned
            for side, person in ((Side.USER, call.user_id), (Side.PROVIDER, call.provider_id))
        ):
            await self._load()
        if self._detail is not None and (
            concerned is None or any(call.call_id == self._detail.call_id for call in concerned)
        ):
            await self._load_detail(self._detail)

    def filter(self, looked_for: str) -> None:
        """Show only calls that contain a text."""
        self._looked_for = looked_for.casefold()
        self._show()

    def _known(self) -> list[Whose]:
        """People to offer: those of the calls that are shown."""
        return list(dict.fromkeys([*self._who, *(each for call in self._calls.values() for each in people_in(call))]))

    # -- drawing --------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        page, t = self._page, self._page.t
        self._side.clear()
        with self._side:
            side = CalendarSide(page, self._times, self._span, self._day, self._who, self._path, self._known)
        self._main.clear()
        with self._main:
            self._bar = box("tw-cal-bar")
            self._draw_bar()
            self._cut_off = banner(t("calls.cut_off"), "warn")
            self._cut_off.set_visibility(False)
            if not self._who:
                self._grid = None
                empty(
                    t("calls.whose"),
                    t("calls.whose_about"),
                    "calendar",
                    lambda: button(t("calls.add_calendar"), side.add_dialog, kind="primary", icon_name="plus"),
                )
                return
            look = Look(
                t,
                self._times,
                may_move=page.may("reschedule"),
                call_path=lambda call: self._path(call_id=call["callId"]),
                day_path=lambda day: self._path(Span.DAY, day),
                title=self._title,
                tone=self._tone,
            )
            days = days_of(self._span, self._day)
            if self._span is Span.MONTH:
                self._grid = MonthGrid(look, self._day)
            elif self._span is Span.AGENDA:
                self._grid = Agenda(look, days)
            else:
                name = datetime.combine(days[0], datetime.min.time(), self._times.zone).tzname() or ""
                self._grid = DayGrid(look, days, name, bookable=page.may("create_call"))

    def _draw_bar(self) -> None:
        t = self._page.t
        self._bar.clear()
        with self._bar:
            button(
                t("calls.show_calendars"),
                self._toggle_side,
                icon_name="calendar",
                only_icon=True,
                classes="tw-cal-only-narrow",
            )
            today = self._path(day=self._times.today())
            with box("tw-btn", "a", href=today, data_go=True, data_key="t", title="t"):
                text(t("calls.today"))
            for by, name, symbol, key in ((-1, "earlier", "back", "ArrowLeft"), (1, "later", "forward", "ArrowRight")):
                with box(
                    "tw-btn tw-btn-icon tw-btn-quiet",
                    "a",
                    href=self._path(day=step(self._span, self._day, by)),
                    data_go=True,
                    data_key=key,
                    aria_label=t(f"calls.{name}"),
                    title=t(f"calls.{name}"),
                ):
                    icon(symbol)
            text(self._heading(), "", "h2")
            with box("tw-segments tw-push", "nav", aria_label=t("calls.view")):
                for span in Span:
                    with box(
                        "tw-segment",
                        "a",
                        href=self._path(span),
                        data_go=True,
                        data_key=_KEYS[span],
                        title=_KEYS[span],
                        aria_current="page" if span is self._span else None,
                    ):
                        text(t(f"calls.{span}"))

    def _heading(self) -> str:
        t, days = self._page.t, days_of(self._span, self._day)
        if self._span is Span.DAY:
            return self._times.long_day(self._day)
        if self._span is Span.MONTH:
            month = t.month(self._day)
            return f"{month[:1].upper()}{month[1:]} {self._day.year}"
        first, last = days[0], days[-1]
        begin = f"{first.day}"
        if first.month != last.month:
            begin += f" {t.month(first)}"
        if first.year != last.year:
            begin += f" {first.year}"
        return f"{begin} \u2013 {last.day} {t.month(last)} {last.year}"

    def _toggle_side(self) -> None:
        set_attribute(self._root, "data-side", None if self._root.props.get("data-side") else True)

    def _show(self) -> None:
        if self._grid is not None:
            words = self._looked_for.split()
            shown = [
                call
                for call in self._calls.values()
                if all(word in f"{call['userId']} {call['providerId']} {call['callId']}".casefold() for word in words)
            ]
            self._grid.show(shown, self._call_id)

    def _tick(self) -> None:
        if self._grid is not None:
            self._grid.tick()

    def _title(self, call: CallBody) -> str:
        """Whom a call is with, from the point of view of the calendar's owner."""
        if len(self._who) == 1:
            user, provider = people_in(call)
            return provider.person_id if self._who[0] == user else user.person_id
        return f"{call['userId']} · {call['providerId']}"

    def _tone(self, call: CallBody) -> int:
        if len(self._who) == 1:
            return crc32(self._title(call).encode()) % (TONES - 1)
        return next((number for number, each in enumerate(self._who) if each.has(call)), 0) % TONES

    # -- actions of the user ----------------------------------------------------------------------------------------

    def new(self) -> None:
        """Schedule a call, in the next hour or on the day that is shown."""
        moment = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        if self._times.today() not in days_of(self._span, self._day):
            moment = Axis([self._day], self._times.zone).moment(self._day, 9 * 60)
        self._new_at(moment, None)

    def _new_at(self, moment: datetime, minutes: int | None) -> None:
        people = self._who if len(self._who) <= 2 else []
        new_call(self._page, self._times, moment, minutes, people, self._known(), self._load)

    async def _did(self, event: GenericEventArguments) -> None:
        """An action with the mouse: selecting a free time, or moving or resizing a call."""
        args = event.args
        if isinstance(args, Mapping):
            await guarded(lambda: self._do(args))()

    async def _do(self, args: Mapping[str, Any]) -> None:
        kind, day = args.get("kind"), _parsed(str(args.get("day", "")))
        minute, minutes = _number(args.get("minute")), _number(args.get("minutes"))
        axis = Axis(days_of(self._span, self._day), self._times.zone)
        if kind == "new" and day is not None and minute is not None:
            self._new_at(axis.moment(day, minute), minutes)
            return
        is_done = False
        try:
            call = self._calls.get(str(args.get("call")))
            if call is None:
                return
            # The version that the user saw when dragging began.
            seen = {**call, "version": _number(args.get("version"))}
            changes = self._change_of(kind, call, day, minute, minutes, axis)
            if changes:
                is_done = await move_call(self._page, self._times, seen, changes, self._load)
        finally:
            self._page.client.run_javascript(f"tw.settle({json.dumps(is_done)})")

    def _change_of(
        self, kind: object, call: CallBody, day: date | None, minute: int | None, minutes: int | None, axis: Axis
    ) -> dict[str, int]:
        begin = begins(call)
        if kind == "size" and minutes is not None:
            changes = {"durationMinutes": min(max(minutes, 1), MAX_MINUTES)}
        elif kind == "move" and day is not None and minute is not None:
            changes = {"scheduledFor": millis(axis.moment(day, minute))}
        elif kind == "day" and day is not None:
            here = self._times.day(begin)
            changes = {"scheduledFor": millis(axis.moment(day, Axis([here], self._times.zone).position(here, begin)))}
        else:
            changes = {}
        return {name: value for name, value in changes.items() if value != call[name]}

    # -- the call beside the calendar -------------------------------------------------------------------------------

    async def _open_call(self, call_id: str) -> None:
        if self._detail is not None and self._detail.call_id == call_id and self._detail.zone is self._times.zone:
            return
        self._beside.clear()
        self._beside.set_visibility(bool(call_id))
        self._detail = None
        if call_id:
            detail = CallDetail(
                self._page,
                self._times,
                call_id,
                self._beside,
                close=self._draw_close,
                calendar_of=lambda whose: self._path(who=[whose]),
                known=self._known,
                after=self._load,
            )
            self._detail = detail
            await self._load_detail(detail)

    async def _load_detail(self, detail: CallDetail) -> None:
        try:
            await detail.load()
        except Refused as error:
            if error.status not in (400, 404, 422):
                raise
            detail.clear()
            with self._beside:
                with box("tw-thing-head"):
                    box("tw-grow")
                    self._draw_close()
                empty(self._page.t("shell.not_found"), self._page.t("shell.not_found_about"))

    def _draw_close(self) -> None:
        with box(
            "tw-btn tw-btn-icon tw-btn-small",
            "a",
            href=self._path(),
            data_go=True,
            data_back=True,
            aria_label=self._page.t("shell.close"),
        ):
            icon("close")


def _parsed(text: str) -> date | None:
    """The day in an address, within the range of times of calls."""
    try:
        return min(max(date.fromisoformat(text), FIRST_DAY), LAST_DAY)
    except ValueError:
        return None


def _number(value: object) -> int | None:
    """A number that the browser sent, as a number or as text."""
    try:
        found = int(str(value))
    except ValueError:
        return None
    return found if 0 <= found < 10**15 else None


def _concerned(changes: Sequence[AnyChange]) -> list[Call]:
    found = [each for change in changes if isinstance(change, Change) for each in (change.before, change.after)]
    return [each for each in found if isinstance(each, Call)]
