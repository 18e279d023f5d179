"""Filters: they leave customers out of a program, in the order that it lists them.

    preference    customers who opted out of everything, of the program, or of all its channels;
                  evaluated in every program, before models are called, wherever the program lists it
    frequency     customers who were reached too often     {"most": 3, "days": 7}
    eligibility   customers who do not meet a rule         {"rule": {...}}, see ``rule_conditions``

Filters are called for many customers at once, so that they need few requests. A filter returns why a customer is left
out, or None; it may remove channels. Others can be registered:

    @filter_("region")
    def region(settings):                                 called when a program is put: raises Invalid
        def left_out(prospects, context): return [None if ... else "not our region" for prospect in prospects]
        return left_out

Quiet hours do not leave out customers: they are checked at delivery, which waits until they are over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablewright.runtime import Invalid
from tablewright.runtime.parameter_texts import message_of
from tablewright.store import Store
from tablewright.systems.engagement.configuration import FilterChain, IsNumber
from tablewright.systems.engagement.model import CONTACT_DAYS, MAX_CONTACTS, Contacts, Preferences, QuietHours
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.registry import Registry
from tablewright.systems.engagement.scoring.rule_conditions import attributes_in, compiled

FREQUENCY = "frequency"
ELIGIBILITY = "eligibility"
PREFERENCE = "preference"
MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class FilterContext:
    """What filters may use beside the customers."""

    store: Store
    program_id: str
    marketplace_id: str
    now: datetime


Filter = Callable[[Sequence[Prospect], FilterContext], Sequence[str | None]]
Factory = Callable[[dict[str, Any]], Filter]

_factories: Registry[Factory] = Registry()


def filter_(name: str) -> Callable[[Factory], Factory]:
    """Register a filter under a name."""
    return _factories.register(name)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a customer is left out, and by which filter."""

    filter: str
    reason: str


class Chain:
    """The filters of a program, ready to use; Invalid if one does not exist, or has invalid settings."""

    def __init__(self, chain: FilterChain) -> None:
        self._filters: list[tuple[str, Filter]] = []
        # Customers who opted out never become candidates, and their data is not used.
        self._consent: list[tuple[str, Filter]] = []
        for name in dict.fromkeys([PREFERENCE, *chain.filters]):
            factory = _factories.get(name)
            if factory is None:
                raise Invalid(f"unknown filter {name}; the filters are {_factories.names()}", field="filters")
            filters = self._consent if name == PREFERENCE else self._filters
            filters.append((name, factory(chain.settings.get(name, {}))))

    def without_consent(self, prospects: Sequence[Prospect], context: FilterContext) -> list[LeftOut | None]:
        """For each prospect, why the program is not wanted, or None; those who opted out are not processed further."""
        return _left_out(self._consent, prospects, context)

    def apply(self, prospects: Sequence[Prospect], context: FilterContext) -> list[LeftOut | None]:
        """For each prospect, the first of the other filters that leaves it out, or None."""
        verdicts = _left_out(self._filters, prospects, context)
        for index, prospect in enumerate(prospects):
            if verdicts[index] is None and not prospect.channels:
                verdicts[index] = LeftOut(PREFERENCE, "no channel is left")
        return verdicts


def _left_out(
    filters: Sequence[tuple[str, Filter]], prospects: Sequence[Prospect], context: FilterContext
) -> list[LeftOut | None]:
    verdicts: list[LeftOut | None] = [None] * len(prospects)
    for name, each in filters:
        left = [index for index, verdict in enumerate(verdicts) if verdict is None]
        if not left:
            break
        reasons = each([prospects[index] for index in left], context)
        for index, reason in zip(left, reasons, strict=True):
            if reason is not None:
                verdicts[index] = LeftOut(name, reason)
    return verdicts


# -- frequency ----------------------------------------------------------------------------------------------------


class Frequency(BaseModel):
    model_config = ConfigDict(extra="forbid")

    most: Annotated[int, IsNumber, Field(ge=1, le=MAX_CONTACTS // 2)] = 3
    days: Annotated[float, IsNumber, Field(gt=0, le=CONTACT_DAYS)] = 7

    def is_reached(self, contacts: Contacts | None, now: datetime) -> bool:
        """Whether a customer was reached as often as allowed."""
        since = now - timedelta(days=self.days)
        return contacts is not None and sum(at > since for at in contacts.times) >= self.most


def attributes_of(chain: FilterChain) -> set[str]:
    """The attributes that the eligibility rule of a program uses."""
    rule = chain.settings.get(ELIGIBILITY, {}).get("rule") if ELIGIBILITY in chain.filters else None
    return set() if rule is None else attributes_in(rule)


def frequency_of(chain: FilterChain) -> Frequency | None:
    """How often a program's customers may be reached; None if unlimited."""
    return _settings(Frequency, FREQUENCY, chain.settings.get(FREQUENCY, {})) if FREQUENCY in chain.filters else None


@filter_(FREQUENCY)
def _frequency(settings: dict[str, Any]) -> Filter:
    frequency = _settings(Frequency, FREQUENCY, settings)

    def left_out(prospects: Sequence[Prospect], context: FilterContext) -> list[str | None]:
        lookups = [Contacts.of_customer(each.customer_id) for each in prospects]
        found = context.store.get_many(lookups)
        reason = f"reached {frequency.most} times in {frequency.days:g} days"
        return [reason if frequency.is_reached(each, context.now) else None for each in found]

    return left_out


# -- eligibility --------------------------------------------------------------------------------------------------


@filter_(ELIGIBILITY)
def _eligibility(settings: dict[str, Any]) -> Filter:
    if set(settings) - {"rule"}:
        raise Invalid("eligibility has one setting: rule")
    # Without a rule, everyone is eligible.
    rule = compiled(settings["rule"]) if "rule" in settings else lambda attributes: True

    def left_out(prospects: Sequence[Prospect], context: FilterContext) -> list[str | None]:
        return [None if rule(each.attributes) else "the rule is not met" for each in prospects]

    return left_out


# -- preference ---------------------------------------------------------------------------------------------------


@filter_(PREFERENCE)
def _preference(settings: dict[str, Any]) -> Filter:
    if settings:
        raise Invalid("preference has no settings")

    def left_out(prospects: Sequence[Prospect], context: FilterContext) -> list[str | None]:
        lookups = [Preferences.of_customer(each.customer_id) for each in prospects]
        found = context.store.get_many(lookups, consistent=True)
        return [unwanted(each, context.program_id, prospect) for each, prospect in zip(found, prospects, strict=True)]

    return left_out


def unwanted(preferences: Preferences | None, program_id: str, prospect: Prospect) -> str | None:
    """Why a customer does not want a program; unwanted channels are removed."""
    if preferences is None:
        return None
    if preferences.opted_out:
        return "opted out"
    if program_id in preferences.programs_off:
        return "opted out of the program"
    prospect.channels = [each for each in prospect.channels if each not in preferences.channels_off]
    return None if prospect.channels else "opted out of every channel"


def is_quiet(hours: QuietHours | None, now: datetime) -> bool:
    """Whether a customer has quiet hours now; from an hour to the same hour is the whole day."""
    if hours is None:
        return False
    start, end = time.fromisoformat(hours.start), time.fromisoformat(hours.end)
    local = now.astimezone(ZoneInfo(hours.time_zone)).time()
    return start <= local < end if start < end else local >= start or local < end


def _settings(kind: type[Frequency], name: str, given: dict[str, Any]) -> Frequency:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise Invalid(f"{name}: {'.'.join(map(str, first['loc']))}: {message_of(first)}") from None
