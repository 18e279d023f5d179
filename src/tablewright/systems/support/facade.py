"""The service behind the API of Support: the use cases, and the jobs that process all data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tablewright.runtime import ServiceUnavailable
from tablewright.store import Store
from tablewright.systems.support import maintenance_jobs
from tablewright.systems.support.maintenance_jobs import Job, JobState, ReportProgress
from tablewright.systems.support.service import Support
from tablewright.systems.support.training_export import Export
from tablewright.systems.support.trends.metric_check import verify_metrics
from tablewright.systems.unreadable_log import UnreadableLog


class SupportFacade:
    """The service that is passed to routes."""

    def __init__(
        self,
        support: Support,
        store: Store,
        unreadable_log: UnreadableLog,
        *,
        settle: float = 0,
        export: Export | None = None,
        has_background: bool = True,
    ) -> None:
        """``settle`` is how many seconds the stream may be behind the table; ``export`` runs in the background.

        Without ``has_background`` nothing runs after the response to a request, as in a function.
        """
        self._has_background = has_background
        self.support = support
        self.unreadable_log = unreadable_log
        self.export = export
        self._store = store
        self._work: Mapping[str, Callable[[ReportProgress], str]] = {
            "rebuild-metrics": partial(
                maintenance_jobs.rebuild_metrics, store, settle=settle, unreadable_log=unreadable_log
            ),
            "verify-metrics": partial(verify_metrics, store, pause=settle or 1),
            "migrate-shards": partial(maintenance_jobs.migrate_shards, store),
            "verify": partial(maintenance_jobs.verify, store),
            "collect-orphans": partial(maintenance_jobs.collect_orphans, store),
            "count-orphans": partial(maintenance_jobs.collect_orphans, store, dry_run=True),
        }
        self._jobs = {name: Job(name) for name in self._work}

    def start(self) -> None:
        """Restart a rebuild that a killed process left unfinished; by then, the leases of dead processes have ended."""
        if maintenance_jobs.is_rebuild_unfinished(self._store, self.support.now()):
            self.begin("rebuild-metrics")

    def stop(self) -> None:
        """Jobs end with the process; each can be started again."""

    def begin(self, name: str) -> JobState:
        """Start a job; StateConflict if it is running."""
        if not self._has_background:
            raise ServiceUnavailable(
                f"a function cannot run jobs in the background: run `tablewright support {name}` instead"
            )
        self._jobs[name].begin(self._work[name])
        return self._jobs[name].state

    def state(self, name: str) -> JobState:
        return self._jobs[name].state
