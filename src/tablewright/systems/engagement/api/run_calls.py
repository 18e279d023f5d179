"""Runs: started, monitored, stopped, resumed, deleted."""

from __future__ import annotations

import asyncio

from tablewright.runtime import (
    Changing,
    Cursor,
    IdempotencyKey,
    Limit,
    Reading,
    Responder,
    documented,
)
from tablewright.systems.engagement import views
from tablewright.systems.engagement.api.engagement_router import (
    PROGRAM,
    Admin,
    Editor,
    Here,
    Staff,
    system_router,
)
from tablewright.systems.engagement.configuration import Name
from tablewright.systems.engagement.model import Run
from tablewright.systems.response_views import page_end

router = system_router()


@router.post(PROGRAM + "/runs", status_code=202, tags=["runs"], responses=documented(404, 409))
async def begin_run(
    program_id: Name,
    marketplace_id: Name,
    here: Here,
    caller: Editor,
    idempotency_key: IdempotencyKey = None,
) -> views.RunView:
    """Start a batch run; a program can have one at a time."""
    program = await here.engagement.program(program_id, marketplace_id, consistent=True)
    responder: Responder[Run, views.RunView] = Responder(
        views.RunView.of, caller.user_id, idempotency_key, views.RunView.model_validate
    )
    return await asyncio.to_thread(here.begin_run, program, responder)


@router.get(PROGRAM + "/runs", tags=["runs"], responses=documented(400))
async def runs(
    program_id: Name, marketplace_id: Name, here: Here, _: Staff, limit: Limit = 20, cursor: Cursor = None
) -> views.RunPage:
    """The runs of a program, latest first."""
    page = await here.engagement.runs(program_id, marketplace_id, limit=limit, cursor=cursor)
    return views.RunPage(
        runs=[views.RunView.of(each) for each in page.items],
        **page_end(page),
    )


@router.get(PROGRAM + "/runs/{run_id}", tags=["runs"], responses=documented(404))
async def get_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Staff, reading: Reading
) -> views.RunView:
    """A run: its progress, counts and errors."""
    return views.RunView.of(reading.of(await here.engagement.run(program_id, marketplace_id, run_id)))


@router.post(PROGRAM + "/runs/{run_id}/stop", tags=["runs"], responses=documented(404, 409))
async def stop_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Editor, changing: Changing
) -> views.RunView:
    """Stop a run; it can be resumed."""
    run = await here.engagement.run(program_id, marketplace_id, run_id)
    return views.RunView.of(changing.of(await asyncio.to_thread(here.runs.request, run, "stop", changing.seen)))


@router.post(PROGRAM + "/runs/{run_id}/cancel", tags=["runs"], responses=documented(404, 409))
async def cancel_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Editor, changing: Changing
) -> views.RunView:
    """Cancel a run permanently; the candidates that it has written stay."""
    run = await here.engagement.run(program_id, marketplace_id, run_id)
    return views.RunView.of(changing.of(await asyncio.to_thread(here.runs.request, run, "cancel", changing.seen)))


@router.post(PROGRAM + "/runs/{run_id}/resume", status_code=202, tags=["runs"], responses=documented(404, 409))
async def resume_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Editor, changing: Changing
) -> views.RunView:
    """Resume a run after the last customer that was processed; failed customers are retried.

    It must be stopped, paused, interrupted or failed; or completed, with some failed customers.
    """
    run = await here.engagement.run(program_id, marketplace_id, run_id)
    return views.RunView.of(changing.of(await asyncio.to_thread(here.resume_run, run, changing.seen)))


@router.delete(PROGRAM + "/runs/{run_id}", status_code=204, tags=["runs"], responses=documented(404, 409))
async def forget_run(
    program_id: Name, marketplace_id: Name, run_id: Name, here: Here, _: Admin, changing: Changing
) -> None:
    """Delete the record of a run that is not in progress, readable or not; the candidates that it has written stay."""
    await asyncio.to_thread(here.runs.forget, program_id, marketplace_id, run_id, changing.seen)
