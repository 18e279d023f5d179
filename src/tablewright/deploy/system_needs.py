"""What a system needs of an account, read from the system itself: nothing of it is declared a second time.

    needs = needs_of(system)
    needs.functions          the API, a function for each consumer and each schedule, and their permissions
    needs.mail, events, blobs

The consumers and the background work of a system are made by its own functions, so it is opened here on an engine in
memory. What each may do follows from the design: requests have its roles, except those of tenants and consumers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tablewright.design import DesignError, iam
from tablewright.design.iam import Grant
from tablewright.model import Design
from tablewright.runtime import ConsumerSpec, Periodic, Runtime, Settings, System
from tablewright.runtime.events.event_bridge import BRIDGE
from tablewright.runtime.http.application import services_of
from tablewright.runtime.identity import administration
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.mail.mail_records import MailRecord

__all__ = ["ConsumerNeeds", "FunctionNeeds", "ScheduleNeeds", "SystemNeeds", "needs_of"]

_FUNCTIONS = "tablewright.runtime.functions"


@dataclass(frozen=True, slots=True)
class FunctionNeeds:
    """A function: its handler, what it may do to tables, and what else it uses."""

    name: str
    about: str
    handler: str
    grants: Sequence[Grant]
    # The name of the consumer or the schedule.
    work: str | None = None
    sends_mail: bool = False
    # Actions of S3.
    blobs: Sequence[str] = ()
    puts_events: bool = False
    seconds: int = 30


@dataclass(frozen=True, slots=True)
class ConsumerNeeds:
    function: FunctionNeeds
    spec: ConsumerSpec


@dataclass(frozen=True, slots=True)
class ScheduleNeeds:
    function: FunctionNeeds
    minutes: int


@dataclass(frozen=True, slots=True)
class SystemNeeds:
    """What a system needs of an account."""

    system: System
    # Where it is imported from, as ``module:attribute``.
    place: str
    api: FunctionNeeds
    # Of administrators: they manage people, and retry dead letters with the permissions of the consumers.
    admin: FunctionNeeds
    consumers: Sequence[ConsumerNeeds]
    schedules: Sequence[ScheduleNeeds]
    bounces: FunctionNeeds | None
    sends_mail: bool
    publishes_events: bool
    uses_blobs: bool
    # Of a process that does all of it.
    all_grants: Sequence[Grant] = field(default=())
    all_blobs: Sequence[str] = ()

    @property
    def design(self) -> Design:
        return self.system.design

    @property
    def functions(self) -> list[FunctionNeeds]:
        found = [self.api, self.admin]
        found += [each.function for each in self.consumers]
        found += [each.function for each in self.schedules]
        return [*found, *([self.bounces] if self.bounces else [])]


def needs_of(system: System, place: str) -> SystemNeeds:
    """What a system needs; DesignError if its design does not say what its consumers may do."""
    design = system.design
    if internal_table not in design.internal_tables:
        raise DesignError(
            f"{design.name} runs on the runtime's table {internal_table.name}: add it to the design's internal_tables"
        )
    sends_mail = any(write.entity is MailRecord for each in design.writes.values() for write in each.item_writes)
    publishes = events_table in design.internal_tables
    blobs = any(schema.large for schema in design.schemas)
    runtime = _in_memory(system, blobs)
    try:
        services = services_of(runtime, [system])
        specs = [*system.consumers(runtime, services[system.name])]
        turns = [each for each in system.background_work(runtime, services[system.name]) if isinstance(each, Periodic)]
    finally:
        runtime.close()
    reading = iam.consumers(design)
    for each in specs:
        if each.role_name not in reading:
            known = ", ".join(reading) or "none"
            raise DesignError(
                f"{design.name} has no consumer {each.role_name!r}, whose policy {each.name} needs; it has {known}"
            )
    requests = _requests(design)
    blobs_of_requests = iam.blob_actions(design, _roles_of_requests(design))
    if publishes:
        specs.append(ConsumerSpec(BRIDGE, events_table, lambda changes, effects: None))
    consumers = [ConsumerNeeds(_consumer(design, each, sends_mail), each) for each in specs]
    everything = {grant: None for grants in [*_all(design).values(), _of_people()] for grant in grants}
    return SystemNeeds(
        system=system,
        place=place,
        api=FunctionNeeds(
            "Api",
            "Handles requests.",
            f"{_FUNCTIONS}.api_function.handler",
            requests,
            None,
            sends_mail,
            blobs_of_requests,
        ),
        admin=FunctionNeeds(
            "Admin",
            "Handles requests below /runtime: people, events, consumers, and dead letters, which can be retried.",
            f"{_FUNCTIONS}.api_function.handler",
            _of_administrators(design, requests),
            None,
            sends_mail,
            iam.blob_actions(design, [*_roles_of_requests(design), *reading]),
            # A dead letter of the bridge is put again.
            puts_events=publishes,
        ),
        consumers=consumers,
        schedules=[_schedule(design, each, requests, sends_mail) for each in turns],
        bounces=None
        if not sends_mail
        else FunctionNeeds(
            "Bounces",
            "Records bounced mail.",
            f"{_FUNCTIONS}.bounce_function.handler",
            _of_bounces(design),
        ),
        sends_mail=sends_mail,
        publishes_events=publishes,
        uses_blobs=blobs,
        all_grants=[*everything],
        all_blobs=iam.blob_actions(design, [*_all(design)]),
    )


def _in_memory(system: System, blobs: bool) -> Runtime:
    """A runtime to inspect the system with; without the settings of the current user."""
    settings: Any = Settings.model_construct(memory=True)
    runtime = Runtime.open(settings, [system])
    runtime.has_blobs = blobs
    return runtime


def _roles_of_requests(design: Design) -> list[str]:
    reading = iam.consumers(design)
    return [role for role in design.roles if role not in design.tenants and role not in reading]


def _requests(design: Design) -> list[Grant]:
    return [*dict.fromkeys(grant for role in _roles_of_requests(design) for grant in iam.grants(design, role))]


def _of_people() -> list[Grant]:
    return iam.grants(administration.design, administration.ADMINISTRATION)


def _of_administrators(design: Design, requests: Sequence[Grant]) -> list[Grant]:
    of_consumers = [grant for role in iam.consumers(design) for grant in _all(design)[role]]
    return [*dict.fromkeys([*requests, *_of_people(), *of_consumers])]


def _all(design: Design) -> dict[str, list[Grant]]:
    """What each role, consumer and maintenance need in a process; not tenants, who have credentials of their own."""
    found = {**iam.all_grants(design), **iam.all_grants(design, roles=[iam.MAINTENANCE])}
    return {role: grants for role, grants in found.items() if role not in design.tenants}


def _consumer(design: Design, spec: ConsumerSpec, sends_mail: bool) -> FunctionNeeds:
    role, reading = spec.role_name, iam.consumers(design)
    if spec.name == BRIDGE:
        grants = [*iam.delivery_grants(design, events_table, internal_table)]
    else:
        own = iam.grants(design, role) if role in design.roles else []
        grants = [*own, *iam.consumer_grants(design, reading[role], by_lambda=True)]
    return FunctionNeeds(
        f"{spec.name} consumer",
        f"Handles the changes of {spec.table.name} for {spec.name}.",
        f"{_FUNCTIONS}.consumer_function.handler",
        [*dict.fromkeys(grants)],
        spec.name,
        sends_mail and role in design.roles,
        () if spec.name == BRIDGE else iam.blob_actions(design, [role]),
        puts_events=spec.name == BRIDGE,
        seconds=60,
    )


def _schedule(design: Design, work: Periodic, requests: Sequence[Grant], sends_mail: bool) -> ScheduleNeeds:
    roles = [work.role]
    if work.role == iam.MAINTENANCE:
        grants: Sequence[Grant] = _all(design)[iam.MAINTENANCE]
    elif work.role in iam.consumers(design):
        grants = iam.grants(design, work.role)
    else:
        grants, roles = requests, _roles_of_requests(design)
    function = FunctionNeeds(
        f"{work.name} schedule",
        f"Does what is due for {work.name}.",
        f"{_FUNCTIONS}.schedule_function.handler",
        grants,
        work.name,
        sends_mail and work.role != iam.MAINTENANCE,
        iam.blob_actions(design, roles),
        seconds=900,
    )
    return ScheduleNeeds(function, max(1, round(work.every.total_seconds() / 60)))


def _of_bounces(design: Design) -> list[Grant]:
    """What it takes to say in the record of a message that it came back."""
    wanted = {("GetItem", internal_table.name), ("UpdateItem", internal_table.name)}
    return [
        grant
        for grants in _all(design).values()
        for grant in grants
        if (grant.action, grant.resource.table.name) in wanted
    ]
