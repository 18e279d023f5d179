"""The parts that the API and the commands of Engagement share, created from a runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from tablewright.runtime import UNSEEN, Idempotency, Responder, Runtime, Seen, StateConflict
from tablewright.store import Cancelled, Outcome, TolerantReader
from tablewright.systems.engagement.consent.unsubscribe_links import UnsubscribeLinks
from tablewright.systems.engagement.delivery.channels import adapters
from tablewright.systems.engagement.delivery.deliveries import Deliveries
from tablewright.systems.engagement.delivery.outbound_http import Outbound
from tablewright.systems.engagement.model import Program, Run, RunState
from tablewright.systems.engagement.program_checks import ProgramChecks
from tablewright.systems.engagement.program_trials import Trials
from tablewright.systems.engagement.reactive import Reactive
from tablewright.systems.engagement.runs.background import Runner
from tablewright.systems.engagement.runs.batch_run import Runs
from tablewright.systems.engagement.runs.run_records import LEASE, Held
from tablewright.systems.engagement.scoring.http_models import Endpoints
from tablewright.systems.engagement.scoring.pipeline import Pipeline
from tablewright.systems.engagement.scoring.scores import Scorer
from tablewright.systems.engagement.service import Engagement
from tablewright.systems.engagement.sources.connectors import Sources
from tablewright.systems.unreadable_log import UnreadableLog

# What other packages use.
__all__ = [
    "Platform",
]

R = TypeVar("R")


class Platform:
    """Engagement, as a whole."""

    def __init__(self, runtime: Runtime) -> None:
        settings, store = runtime.settings, runtime.sync_store
        self.unreadable_log = UnreadableLog("engagement", runtime.metrics, runtime.now)
        self.outbound = Outbound(settings.outbound_hosts, settings.outbound_credentials)
        self.sources = Sources(
            sources_folder(runtime), settings.region, settings.aws_endpoint, seconds=settings.source_seconds
        )
        self._scorer = Scorer(store, Endpoints(self.outbound), runtime.now, self.unreadable_log)
        self.pipeline = Pipeline(store, self._scorer, runtime.now, self.unreadable_log)
        base = runtime.public_url
        self.unsubscribe_links = UnsubscribeLinks(f"{base}/engagement", runtime.privacy_secret)
        carried_by = adapters(
            store,
            runtime.mailer,
            self.outbound,
            runtime.webhook_secret,
            runtime.clock,
            None if base is None else self.unsubscribe_links,
        )
        self.deliveries = Deliveries(store, carried_by, runtime.now, self.unreadable_log)
        self._idempotency = Idempotency("engagement")
        self.reactive = Reactive(self.pipeline)
        self.runs = Runs(self.pipeline, self.sources, runtime.now, outage_seconds=settings.outage_seconds)
        self.runner = Runner(
            store,
            self.runs,
            self.deliveries,
            runtime.now,
            alone=settings.is_embedded,
            has_background=not runtime.is_function,
        )
        self.checks = ProgramChecks(self._scorer, self.sources, self.deliveries, self.outbound)
        self.trials = Trials(self.pipeline, self.sources, self.deliveries)
        self.engagement = Engagement(runtime.store, runtime.clock, self.checks.check, self.unreadable_log)
        self._store = store

    def begin_run(self, program: Program, responder: Responder[Run, R]) -> R:
        """Start a run in the background, and return the response."""
        if responder.key is None:
            self.runner.require_room()
            return responder.view(self.runner.launch(self.runs.begin(program)))
        begun: list[Held] = []

        def work() -> Outcome:
            # Not before: a run that was started already needs no capacity.
            self.runner.require_room()
            held, operations = self.runs.opening(program, "manual")
            begun.append(held)
            return Outcome(responder.view(held.run), *operations)

        request = {"program_id": program.program_id, "marketplace_id": program.marketplace_id}
        try:
            response = self._idempotency.execute_blocking(self._store, "run", request, responder, work)
        except Cancelled as cancelled:
            raise self.runs.busy(cancelled, program.program_id, program.marketplace_id) from None
        # If a duplicate request was faster, its run was started.
        if begun and self.runs.renewed(begun[0], LEASE):
            self.runner.launch(begun[0])
        return response

    def resume_run(self, run: Run, seen: Seen = UNSEEN) -> Run:
        """Resume a run in the background."""
        self.runner.require_room()
        return self.runner.launch(self.runs.resume(run, seen))

    def unfinished(self, program: Program) -> Run | None:
        """The latest run of a program, if it can be resumed."""
        page = TolerantReader(self._store, self.unreadable_log.add).page(
            Run.of_program(program.program_id, program.marketplace_id), limit=1
        )
        # A run that cannot be read is later than those found after it.
        found = page.items[0] if page.items and not page.unreadable else None
        if found is None or found.state in (RunState.COMPLETED, RunState.CANCELLED):
            return None
        # A run of an older version would end for the same reason again.
        has_ended = found.state in (RunState.FAILED, RunState.PAUSED)
        is_outdated = has_ended and found.program_version != program.version
        return None if is_outdated else found

    def program(self, program_id: str, marketplace_id: str) -> Program:
        place = Program.by_id(program_id, marketplace_id)
        found = TolerantReader(self._store, self.unreadable_log.add).one(place, consistent=True)
        if found is None:
            raise StateConflict(f"there is no program {program_id} in marketplace {marketplace_id}")
        if not isinstance(found, Program):
            raise StateConflict(
                f"program {program_id} is stored in a form that cannot be read ({found.reason}): put it again"
            )
        return found


def sources_folder(runtime: Runtime) -> Path:
    """The folder with the files of connectors."""
    return runtime.settings.sources or runtime.settings.data / "sources"
