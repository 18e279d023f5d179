"""The screens of Engagement: programs with their runs, candidates and deliveries, the editor, consent (``app``)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tablewright.model import Entity
from tablewright.systems.engagement.app.consent_view import consent
from tablewright.systems.engagement.app.engagement_texts import texts
from tablewright.systems.engagement.app.program_editor import edit_program, new_program
from tablewright.systems.engagement.app.program_list_view import program_list
from tablewright.systems.engagement.model import Program
from tablewright.ui.applications import Application, Thing, Waiting
from tablewright.ui.components import Tone
from tablewright.ui.screen_page import Page

__all__ = ["app"]

# How many programs of a state are counted for the start page.
_MOST = 100

app = Application("engagement", title="engagement.title", icon="target", texts=texts)
_PROGRAM = "/programs/{marketplace_id}/{program_id}"
app.view(
    "/programs",
    _PROGRAM,
    _PROGRAM + "/{section}",
    _PROGRAM + "/candidates/{customer_id}/{subject_type}/{subject_id}",
    title="engagement.programs",
    tab=True,
    needs=["programs_by_approval", "get_program"],
)(program_list)
app.view("/new", title="engagement.new", needs=["put_program"])(new_program)
app.view("/edit/{marketplace_id}/{program_id}", title="engagement.editor", needs=["put_program"])(edit_program)
app.view("/customers", "/customers/{customer_id}", title="engagement.customers", tab=True, needs=["preferences"])(
    consent
)


async def waiting(page: Page) -> Sequence[Waiting]:
    """Programs that a user is asked to approve; and for their editors, those that were sent back, and drafts."""
    t, api = page.t, page.api_of("engagement")
    found: list[Waiting] = []

    async def listed(key: str, state: str, tone: Tone, *, of_others: bool = False) -> None:
        answer = await api.call("programs_by_approval", approval=state, limit=_MOST)
        programs = answer.body["programs"]
        if of_others:
            programs = [
                each
                for each in programs
                if page.user_id not in (*each["approval"]["editors"], each["approval"]["requestedBy"])
            ]
        things = [
            Thing(
                each["programName"][:80],
                _path(page, each["marketplaceId"], each["programId"]),
                f"{state} {each['version']}",
            )
            for each in programs
        ]
        path = page.path_in("engagement", "/programs", list=state)
        found.append(Waiting(t(key), len(programs), path, tone, things, state != "draft"))

    if api.may("approve"):
        await listed("engagement.waiting_approval", "requested", "warn", of_others=True)
    if api.may("request_approval"):
        await listed("engagement.waiting_declined", "declined", "bad")
        await listed("engagement.waiting_drafts", "draft", "neutral")
    return found


def _path(page: Page, marketplace_id: str, program_id: str) -> str:
    return page.path_in("engagement", f"/programs/{marketplace_id}/{program_id}")


def concerns(page: Page, watched: Collection[str], before: Entity | None, after: Entity | None) -> bool:
    """Whether a change is of a program or its approval, and not one of the thousands of writes of a run."""
    return isinstance(before, Program) or isinstance(after, Program)


app.waiting = waiting
app.concerns = concerns
app.search = {"program": _PROGRAM}
