"""Service Desk as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from tablewright.runtime import DemoUser, OnProgress, Runtime, System
from tablewright.systems.servicedesk.api import router
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.desk_search import SEARCH
from tablewright.systems.servicedesk.model import design
from tablewright.systems.servicedesk.roles import ADMINS, AGENTS, ROLES, VOICE_AGENTS
from tablewright.systems.servicedesk.service import ServiceDesk
from tablewright.systems.unreadable_log import UnreadableLog

__all__ = ["system"]


def _service(runtime: Runtime) -> ServiceDesk:
    unreadable_log = UnreadableLog("servicedesk", runtime.metrics, runtime.now)
    return ServiceDesk(runtime.store, _caller_ids(runtime), runtime.clock, unreadable_log)


def _caller_ids(runtime: Runtime) -> CallerIds:
    settings = runtime.settings
    return CallerIds(runtime.privacy_secret, country=settings.caller_country, emails=settings.hash_caller_emails)


def _identities(runtime: Runtime, person: str) -> list[str]:
    """A caller is identified by a hash of the phone number, or of the mail address."""
    return [_caller_ids(runtime).of(person)]


async def _demo(runtime: Runtime, desk: ServiceDesk, on_progress: OnProgress) -> None:
    from tablewright.systems.servicedesk import demo_issues

    def desk_at(time: float) -> ServiceDesk:
        return ServiceDesk(runtime.store, _caller_ids(runtime), lambda: time)

    await demo_issues.fill(desk_at, runtime.clock(), on_progress)


system = System(
    "servicedesk",
    "Service Desk",
    "Tickets of an AI voice service desk.",
    design,
    router,
    service=_service,
    roles=ROLES,
    demo=_demo,
    demo_users=(
        DemoUser("voice-agent", (VOICE_AGENTS,), "the voice agent that opens tickets"),
        DemoUser("sam", (AGENTS,), "an agent at the desk", "sam@example.org"),
        DemoUser("dora", (ADMINS,), "administers the desk", "dora@example.org"),
    ),
    identities=_identities,
    search=SEARCH,
    screens="tablewright.systems.servicedesk.app.desk_app",
)
