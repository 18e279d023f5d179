"""Long-running jobs of Support: ``support rebuild-metrics``, ``verify-metrics``, ``verify``, ``migrate-shards``,
``collect-orphans``, ``export``.

A data folder is open in one process only. While ``tablewright up`` is running, ``--url`` has that process run the job,
and shows its progress.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablewright.cli.argument_parser import Commands, UsageError, refused
from tablewright.cli.service_commands import add_place_options, check_database, opened_runtime, place_settings

if TYPE_CHECKING:
    from tablewright.cli.progress import StepProgress
    from tablewright.runtime import Runtime, Settings
    from tablewright.store import Store
    from tablewright.systems.support.maintenance_jobs import ReportProgress

_POLL_EVERY = 0.3
_ANSWER_WITHIN = 30.0


class FoundError(UsageError):
    """A job that failed, here or in another process."""

    status = 1


def register(commands: Commands) -> None:
    support = commands.add_parser("support", help="jobs over all of support's data: metrics, shards, payloads, exports")
    inner = Commands(support)

    rebuild = inner.add_parser("rebuild-metrics", help="rebuild all metrics from the table, which may be in use")
    _add_place(rebuild, online=True)
    rebuild.set_defaults(command=_job, job="rebuild-metrics", parser=rebuild)

    check = inner.add_parser(
        "verify-metrics", help="recount all metrics from the table, which may be in use, and compare"
    )
    _add_place(check, online=True)
    check.set_defaults(command=_job, job="verify-metrics", parser=check)

    verify = inner.add_parser(
        "verify", help="compare everything stored with the model, and read every payload; the table may be in use"
    )
    _add_place(verify, online=True)
    verify.set_defaults(command=_job, job="verify", parser=verify)

    migrate = inner.add_parser(
        "migrate-shards",
        help="move tickets to their shards after the number of shards was changed; the table may be in use",
    )
    _add_place(migrate, online=True)
    migrate.set_defaults(command=_job, job="migrate-shards", parser=migrate)

    collect = inner.add_parser("collect-orphans", help="delete payloads that neither a ticket nor a restore needs")
    _add_place(collect, online=True)
    collect.add_argument("--dry-run", action="store_true", help="only count them")
    collect.set_defaults(command=_job, job="collect-orphans", parser=collect)

    export = inner.add_parser(
        "export",
        help="export tickets with their events and feedback, as training data",
        epilog="The first export to a folder contains all tickets, later ones those that changed since.",
    )
    _add_place(export, online=False)
    export.add_argument("--out", required=True, metavar="DIR", help="folder to export to")
    export.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl", help="file format (default: jsonl)")
    export.add_argument("--full", action="store_true", help="export all tickets again")
    export.add_argument("--identified", action="store_true", help="export user ids as they are, not as keyed hashes")
    export.set_defaults(command=_export, parser=export)


def _add_place(parser: argparse.ArgumentParser, *, online: bool) -> None:
    add_place_options(parser)
    if online:
        parser.add_argument("--url", help="run the job in the process at this address, such as http://127.0.0.1:8080")
        parser.add_argument("--token", help="an Admin's token for --url (default: one signed by the data folder's key)")


def _job(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress

    settings = place_settings(options)
    dry_run = getattr(options, "dry_run", False)
    with StepProgress() as steps:
        if options.url is not None:
            outcome = _asked(settings, options, "count-orphans" if dry_run else options.job, steps)
        else:
            outcome = _done(settings, steps, options.job, dry_run=dry_run)
    print(outcome)
    return 0


# -- here -----------------------------------------------------------------------------------------------------------


def _done(settings: Settings, steps: StepProgress, job: str, *, dry_run: bool) -> str:
    def work(runtime: Runtime, report: ReportProgress) -> str:
        from tablewright.systems.support import maintenance_jobs
        from tablewright.systems.support.support_system import settle_of
        from tablewright.systems.support.trends.metric_check import verify_metrics

        if job == "rebuild-metrics":
            alone = settings.is_embedded
            return maintenance_jobs.rebuild_metrics(
                runtime.maintenance_store, report, settle=settle_of(runtime), alone=alone
            )
        checks: dict[str, Callable[[Store, ReportProgress], str]] = {
            "verify": maintenance_jobs.verify,
            "verify-metrics": verify_metrics,
            "migrate-shards": maintenance_jobs.migrate_shards,
        }
        if job in checks:
            try:
                return checks[job](runtime.maintenance_store, report)
            except maintenance_jobs.Unfinished as error:
                raise FoundError(str(error)) from None
        return maintenance_jobs.collect_orphans(runtime.maintenance_store, report, dry_run=dry_run)

    return _opened(settings, steps, job.replace("-", " "), work, instead="add --url http://127.0.0.1:8080")


def _opened(
    settings: Settings, steps: StepProgress, what: str, work: Callable[[Runtime, ReportProgress], str], *, instead: str
) -> str:
    """Open the data, run a job on it, and close it; ``instead`` is what to do if another process uses it."""
    from tablewright.model import ModelError
    from tablewright.runtime.internal_tables import internal_table
    from tablewright.systems import load

    check_database(settings)
    systems = load("support")
    with opened_runtime(settings, systems, steps, instead=instead) as runtime:
        try:
            if settings.is_embedded or settings.ensure_tables:
                runtime.maintenance_store.ensure_tables(internal_table, *systems[0].tables)
            steps.begin(what)
            return work(runtime, lambda done, total: steps.update(what, done, total or done))
        except ModelError as error:
            raise refused(error) from None


def _export(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress

    settings = place_settings(options)

    def work(runtime: Runtime, report: ReportProgress) -> str:
        from tablewright.systems.support.support_system import settle_of
        from tablewright.systems.support.training_export import Export, ExportError

        try:
            export = Export(
                runtime.consumer_store,
                Path(options.out),
                runtime.privacy_secret,
                runtime.now,
                format=options.format,
                identified=options.identified,
            )
            number = export.run(report, full=options.full, alone=settings.is_embedded, settle=settle_of(runtime))
        except ExportError as error:
            raise UsageError(str(error)) from None
        written = f"{number} {'ticket was' if number == 1 else 'tickets were'} written to {options.out}"
        return f"{written}; {export.left_out}" if export.left_out else written

    with StepProgress() as steps:
        instead = "set TABLEWRIGHT_TRAINING_EXPORT=DIR for it, and it exports on its own"
        outcome = _opened(settings, steps, "exporting tickets", work, instead=instead)
    print(outcome)
    return 0


# -- in another process -----------------------------------------------------------------------------------------------


def _asked(settings: Settings, options: argparse.Namespace, job: str, steps: StepProgress) -> str:
    """Run the job in the process at ``--url``."""
    path = "/support/metrics/rebuild" if job == "rebuild-metrics" else f"/support/maintenance/{job}"
    token = options.token or _own_token(settings)
    steps.begin(job.replace("-", " "))
    state = _call("POST", options.url + path, token)
    while state["running"]:
        time.sleep(_POLL_EVERY)
        state = _call("GET", options.url + path, token)
        steps.update(job.replace("-", " "), state["done"], state["total"] or state["done"])
    if state["failed"] is not None:
        raise FoundError(f"the job failed: {state['failed']}; see the log of that process")
    return str(state["outcome"])


def _own_token(settings: Settings) -> str:
    from datetime import timedelta

    from tablewright.runtime import SettingsError
    from tablewright.runtime.identity.local_issuer import LocalIssuer
    from tablewright.systems.support.roles import ADMINS

    if settings.mode == "production" or settings.issuer is not None:
        raise UsageError(f"--url needs a token with the role {ADMINS.name}: add --token")
    try:
        issuer = LocalIssuer.of_folder(settings.data)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return issuer.token("tablewright", roles=[ADMINS.name], lifetime=timedelta(hours=1))


def _call(method: str, url: str, token: str) -> dict[str, Any]:
    import httpx

    try:
        answer = httpx.request(method, url, headers={"Authorization": f"Bearer {token}"}, timeout=_ANSWER_WITHIN)
        found = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise UsageError(f"{url} did not respond like Tablewright: {type(error).__name__}") from None
    if answer.is_error or not isinstance(found, dict) or "running" not in found:
        detail = found.get("detail") if isinstance(found, dict) else None
        raise UsageError(f"{url} refused: {detail or answer.status_code}")
    return found
