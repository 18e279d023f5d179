"""Shared by the views of calls: a call as the API shows it, its times in a zone, and the dialogs that change calls."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tablewright.systems.calls.app.calendar_days import FIRST_DAY, LAST_DAY
from tablewright.systems.calls.model import DEFAULT_MINUTES, MAX_MINUTES, Side
from tablewright.systems.key_times import millis, moment_of
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import Tone, pill
from tablewright.ui.feedback import dialog, problem, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import Texts

__all__ = [
    "CallBody",
    "Times",
    "Whose",
    "as_whose",
    "begins",
    "change_person",
    "ends",
    "move_call",
    "new_call",
    "people_in",
    "refuse",
    "reschedule_call",
    "status_pill",
    "what_of",
]

CallBody = dict[str, Any]
"""A call as the API shows it."""

AfterChange = Callable[[], Awaitable[object]]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@|+~=-]{0,127}")
_STATUS_TONES: dict[str, Tone] = {"SCHEDULED": "info", "COMPLETED": "good", "CANCELLED": "neutral"}
_DURATIONS = (15, 30, 45, 60, 90, 120)
_FIELDS = {Side.USER: "userId", Side.PROVIDER: "providerId"}


@dataclass(frozen=True, slots=True)
class Whose:
    """A person who has a calendar."""

    side: Side
    person_id: str

    def __str__(self) -> str:
        return f"{self.side}:{self.person_id}"

    def has(self, call: CallBody) -> bool:
        return bool(call[_FIELDS[self.side]] == self.person_id)


def as_whose(text: str) -> Whose | None:
    """A person by the text in addresses: ``user:ada``."""
    side, _, person_id = text.partition(":")
    return Whose(Side(side), person_id) if side in tuple(Side) and _ID.fullmatch(person_id) else None


def people_in(call: CallBody) -> tuple[Whose, Whose]:
    return Whose(Side.USER, call["userId"]), Whose(Side.PROVIDER, call["providerId"])


def begins(call: CallBody) -> datetime:
    return moment_of(int(call["scheduledFor"]))


def ends(call: CallBody) -> datetime:
    return begins(call) + timedelta(minutes=int(call["durationMinutes"]))


def status_pill(t: Texts, call: CallBody) -> None:
    pill(t(f"calls.{call['status']}"), _STATUS_TONES[call["status"]])


class Times:
    """Times in the zone that was chosen for a calendar."""

    def __init__(self, t: Texts, zone: ZoneInfo) -> None:
        self._t = t
        self.zone = zone

    def today(self) -> date:
        return min(max(datetime.now(self.zone).date(), FIRST_DAY), LAST_DAY)

    def day(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()

    def clock(self, moment: datetime) -> str:
        here = moment.astimezone(self.zone)
        return f"{here.hour}:{here.minute:02}"

    def hours(self, call: CallBody) -> str:
        return self._t("calls.until", begin=self.clock(begins(call)), end=self.clock(ends(call)))

    def when(self, moment: datetime) -> str:
        """A time with its day: tomorrow 9:30."""
        return f"{self._t.day(self.day(moment), self.today())} {self.clock(moment)}"

    def long_day(self, day: date) -> str:
        return f"{self._t.weekday(day)} {day.day} {self._t.month(day)} {day.year}"

    def local(self, moment: datetime) -> str:
        """The value for the browser's own field for a date and a time."""
        return moment.astimezone(self.zone).strftime("%Y-%m-%dT%H:%M")

    def parsed(self, text: str, shown: datetime) -> datetime:
        """The value of such a field; the previous time if it was not changed (an hour can occur twice)."""
        if text == self.local(shown):
            return shown
        try:
            found = datetime.fromisoformat(text).replace(tzinfo=self.zone).astimezone(UTC)
            if FIRST_DAY <= found.date() <= LAST_DAY:
                return found
        except (ValueError, OverflowError):
            pass
        message = self._t("calls.no_such_time")
        raise Refused(400, "invalid-request", message, {"scheduledFor": message})


def what_of(t: Texts, times: Times, call: CallBody) -> str:
    """A call as text: tomorrow 9:30, ada with p-garcia."""
    return f"{times.when(begins(call))}, {t('calls.with', who=call['userId'], other=call['providerId'])}"


def refuse(t: Texts, error: Refused, call: Mapping[str, Any]) -> Refused:
    """A refusal in the language of the screens; ``call`` is the requested one."""
    for field in _FIELDS.values():
        if error.status == 409 and field in error.fields:
            message = t("calls.taken", who=call[field])
            return Refused(error.status, error.kind, message, {field: message})
    moment = call.get("scheduledFor")
    if "scheduledFor" in error.fields and moment is not None and moment < millis(datetime.now(UTC)):
        return Refused(error.status, error.kind, t("calls.past"), {"scheduledFor": t("calls.past")})
    return error


# -- changes --------------------------------------------------------------------------------------------------------


async def move_call(
    page: Page,
    times: Times,
    call: CallBody,
    changes: Mapping[str, Any],
    after: AfterChange,
    *,
    is_undo: bool = False,
) -> bool:
    """Move or resize the version of a call that was seen; returns whether that was done.

    A refusal is shown, and nothing is changed.
    """
    t = page.t
    wanted = {**call, **changes}
    try:
        answer = await page.api.call(
            "reschedule",
            callId=call["callId"],
            body={"scheduledFor": call["scheduledFor"], **changes, "version": call["version"]},
        )
    except Refused as error:
        problem(refuse(t, error, wanted))
        await after()
        return False
    before = {name: call[name] for name in changes}
    undo = (t("shell.undo"), lambda: move_call(page, times, answer.body, before, after, is_undo=True))
    if answer.body["scheduledFor"] == call["scheduledFor"]:
        message = t("calls.lasts", minutes=_minutes(t, answer.body["durationMinutes"]))
    else:
        message = t("calls.moved", when=times.when(begins(answer.body)))
    toast(message, undo=None if is_undo else undo)
    await after()
    return True


def new_call(
    page: Page,
    times: Times,
    moment: datetime,
    minutes: int | None,
    people: Sequence[Whose],
    known: Sequence[Whose],
    after: AfterChange,
) -> None:
    """The dialog that schedules a call; ``people`` are filled in, ``known`` are offered."""
    t = page.t
    is_staff = page.may("calls_of_provider")
    given = {each.side: each.person_id for each in reversed(people)}
    length = minutes or DEFAULT_MINUTES

    async def create(values: dict[str, Any], key: str) -> None:
        body = {
            "userId": (values["userId"] or "").strip() if is_staff else page.user_id,
            "providerId": (values["providerId"] or "").strip(),
            "scheduledFor": millis(times.parsed(values["scheduledFor"], moment)),
            "durationMinutes": int(values["durationMinutes"]),
        }
        try:
            answer = await page.api.call("create_call", body=body, key=key)
        except Refused as error:
            raise refuse(t, error, body) from None
        made.close()
        toast(t("calls.created", when=times.when(begins(answer.body)), who=answer.body["providerId"]))
        await after()

    with dialog(t("calls.new")) as made:
        form = Form(t, submit=create, action=t("calls.create"), cancel=made.close)
        if is_staff:
            user = form.text("userId", t("calls.user"), value=given.get(Side.USER, ""), most=128)
            user.set_autocomplete(_ids(known, Side.USER))
        provider = form.text("providerId", t("calls.provider"), value=given.get(Side.PROVIDER, ""), most=128)
        provider.set_autocomplete(_ids(known, Side.PROVIDER))
        _time_fields(form, t, times, moment, length)
        form.end()


def reschedule_call(page: Page, times: Times, call: CallBody, after: AfterChange) -> None:
    """The dialog that moves a call to another time."""
    t = page.t

    async def change(values: dict[str, Any], _: str) -> None:
        wanted = {
            "scheduledFor": millis(times.parsed(values["scheduledFor"], begins(call))),
            "durationMinutes": int(values["durationMinutes"]),
        }
        changes = {name: value for name, value in wanted.items() if value != call[name]}
        if not changes or await move_call(page, times, call, changes, after):
            made.close()

    with dialog(t("calls.reschedule")) as made:
        form = Form(t, submit=change, action=t("calls.reschedule"), cancel=made.close)
        _time_fields(form, t, times, begins(call), int(call["durationMinutes"]))
        form.end()


def change_person(page: Page, call: CallBody, side: Side, known: Sequence[Whose], after: AfterChange) -> None:
    """The dialog that assigns a call to another user or provider."""
    t, field = page.t, _FIELDS[side]
    name = "reassign" if side is Side.USER else "change_provider"

    async def give(now: CallBody, person_id: str, *, is_undo: bool = False) -> None:
        try:
            answer = await page.api.call(name, callId=now["callId"], body={field: person_id, "version": now["version"]})
        except Refused as error:
            raise refuse(t, error, {field: person_id}) from None
        undo = (t("shell.undo"), lambda: give(answer.body, now[field], is_undo=True))
        toast(t("calls.assigned", who=person_id), undo=None if is_undo else undo)
        await after()

    async def change(values: dict[str, Any], _: str) -> None:
        person_id = (values[field] or "").strip()
        if person_id != call[field]:
            await give(call, person_id)
        made.close()

    with dialog(t(f"calls.{name}")) as made:
        form = Form(t, submit=change, action=t("shell.save"), cancel=made.close)
        made_field = form.text(field, t(f"calls.{side}"), value=call[field], most=128)
        made_field.set_autocomplete(_ids(known, side))
        form.end()


def _time_fields(form: Form, t: Texts, times: Times, moment: datetime, length: int) -> None:
    hint = t("calls.when_hint", zone=times.zone.key)
    form.text("scheduledFor", t("calls.when"), value=times.local(moment), kind="datetime-local", hint=hint)
    lengths = sorted({*_DURATIONS, min(max(length, 1), MAX_MINUTES)})
    form.choice(
        "durationMinutes", t("calls.duration"), {str(each): _minutes(t, each) for each in lengths}, value=str(length)
    )


def _minutes(t: Texts, minutes: int) -> str:
    if minutes < 60:
        return t("calls.minutes", number=minutes)
    return t.span(timedelta(minutes=minutes)) if minutes % 60 else f"{minutes // 60} h"


def _ids(known: Sequence[Whose], side: Side) -> list[str]:
    return sorted({each.person_id for each in known if each.side is side})
