"""The database: ``serve`` it over HTTP, ``verify`` a data folder."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, DamagedDataError, FailedDiskError, UsageError, port
from tablewright.cli.studio.listen_address import check_addresses, is_loopback, why_not_listening

if TYPE_CHECKING:
    from tablewright.dynamo import Item
    from tablewright.engine import Engine, VerifyReport
    from tablewright.store import BlobChecker
    from tablewright.wire import RegionalEngines, Request, Server


def register(commands: Commands) -> None:
    serve = commands.add_parser("serve", help="serve DynamoDB's protocol over HTTP")
    storage = serve.add_mutually_exclusive_group()
    storage.add_argument("--data", default="data", metavar="DIR", help="data folder (default: ./data)")
    storage.add_argument("--memory", action="store_true", help="keep everything in memory")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=port, default=8000, help="port, 0 for any free one (default: 8000)")
    serve.add_argument(
        "--credentials",
        metavar="FILE",
        help="verify every signature against the keys in FILE, in the format of ~/.aws/credentials"
        " (default: accept any credentials)",
    )
    serve.add_argument(
        "--by-region",
        action="store_true",
        help="give each region tables of its own, by the region that clients sign their requests for"
        " (default: one set of tables for all regions)",
    )
    serve.add_argument(
        "--cors",
        metavar="ORIGIN",
        action="append",
        default=[],
        type=_origin,
        help="allow web pages of ORIGIN, such as http://localhost:3000, to use the server; * allows any origin; "
        "may be repeated (default: none)",
    )
    serve.add_argument(
        "--metrics",
        metavar="ADDRESS:PORT",
        type=_address,
        help="serve Prometheus metrics at /metrics on a separate address, such as 127.0.0.1:9100; the address "
        "part is optional (default: no metrics)",
    )
    serve.add_argument(
        "--studio",
        metavar="ADDRESS:PORT",
        type=_address,
        nargs="?",
        const=("127.0.0.1", 0),
        help="also serve the studio, at /studio on a separate address (default: a free port of 127.0.0.1)",
    )
    serve.add_argument(
        "--studio-write", action="store_true", help="allow the studio to write; each write has to be confirmed"
    )
    serve.add_argument(
        "--design",
        action="append",
        default=[],
        metavar="PATH",
        help="module or file of a design that the studio shows; may be repeated",
    )
    add_accept_loss(serve)
    serve.set_defaults(command=_serve, parser=serve)

    verify = commands.add_parser(
        "verify",
        help="check the integrity of a data folder",
        epilog="Exit codes: 0 intact, 1 damaged, 2 there is no data folder, or it is in use.",
    )
    verify.add_argument("data", metavar="DIR", help="data folder, not in use by a server")
    verify.add_argument(
        "--blobs",
        metavar="PLACE",
        help="where large values are stored, if not in the data folder's own folder blobs: another folder, or "
        "s3://bucket",
    )
    verify.set_defaults(command=_verify, parser=verify)


def add_accept_loss(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--accept-loss",
        action="store_true",
        help="open a data folder whose log is damaged, without the commits after the damage",
    )


def _serve(options: argparse.Namespace) -> int:
    import logging

    from tablewright.engine import Engine
    from tablewright.wire import (
        CredentialsFileError,
        EngineFailedError,
        MetricsAddressError,
        Server,
        Verifier,
        read_credentials,
        run_server,
    )

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    folder = None if options.memory else locate(options.data)
    authenticate: Callable[[Request], None] | None = None
    if options.credentials is not None:
        try:
            authenticate = Verifier(read_credentials(Path(os.path.expanduser(options.credentials))))
        except CredentialsFileError as error:
            raise UsageError(str(error)) from None
    _allow_many_connections()

    def started(server: Server) -> None:
        _greet(server.url, folder, options.host, options.credentials)
        if server.metrics_server is not None:
            _say(f"Metrics are at {server.metrics_server.url}/metrics")

    beside = (("--metrics", options.metrics), ("--studio", options.studio))
    check_addresses(
        ("--port", options.host, options.port), *((name, *given) for name, given in beside if given is not None)
    )
    if options.studio is not None and options.by_region:
        raise UsageError("--studio does not work with --by-region; look at a region with `tablewright studio URL`")
    if folder is not None:
        check_layout(folder, by_region=options.by_region)
    open_ = _open_regions if options.by_region else open_engine
    with open_(folder, accept_loss=options.accept_loss) as engine, ExitStack() as running:
        if options.studio is not None:
            from tablewright.cli.studio.studio_command import studio_beside

            assert isinstance(engine, Engine), "the regions have been refused"
            running.enter_context(studio_beside(engine, options))
        try:
            run_server(
                lambda: Server(
                    engine,
                    host=options.host,
                    port=options.port,
                    authenticate=authenticate,
                    cors=options.cors,
                    metrics=options.metrics,
                ),
                started,
            )
        except MetricsAddressError as error:
            host, number = options.metrics
            raise UsageError(why_not_listening(host, number, error, "--metrics")) from None
        except OSError as error:
            raise UsageError(why_not_listening(options.host, options.port, error)) from None
        except EngineFailedError as error:
            raise FailedDiskError(
                f"{error}; it is unknown which of the last writes are stored, and none of those was acknowledged: "
                f"check the disk, then start again to read what is stored"
            ) from None
        ignore_stop_signals()
    _say("Tablewright stopped")
    return 0


def check_layout(folder: Path, *, by_region: bool) -> None:
    """A folder keeps its kind: otherwise its tables would seem to be gone."""
    from tablewright.engine import holds_database
    from tablewright.wire import region_folders

    if by_region and holds_database(folder):
        raise UsageError(
            f"{folder} has one set of tables for all regions; serve it without --by-region, or choose another folder"
        )
    if not by_region and not holds_database(folder) and (found := region_folders(folder)):
        names = ", ".join(each.name for each in found)
        raise UsageError(
            f"{folder} has tables by region ({names}); serve it with `tablewright serve --by-region`,"
            " or choose another folder"
        )


def _open_regions(folder: Path | None, *, accept_loss: bool) -> RegionalEngines:
    from tablewright.wire import RegionalEngines

    with storage_errors():
        return RegionalEngines(folder, accept_loss=accept_loss)


def _address(text: str) -> tuple[str, int]:
    """An address and a port, as an argument."""
    address, _, number = text.rpartition(":")
    return address.removeprefix("[").removesuffix("]") or "127.0.0.1", port(number)


def _origin(text: str) -> str:
    from tablewright.wire import parse_origin

    try:
        return parse_origin(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _greet(url: str, folder: Path | None, host: str, credentials: str | None) -> None:
    where = "a database in memory" if folder is None else folder.absolute()
    access = "any credentials are accepted" if credentials is None else f"verifying signatures with {credentials}"
    _say(f"Tablewright serves {where} at {url} ({access}); Ctrl-C stops it")
    settings = "AWS_DEFAULT_REGION=us-east-1"
    if credentials is None:
        settings = f"AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any {settings}"
    # A wildcard address cannot be connected to.
    reachable = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    _say(f"Try: {settings} aws dynamodb list-tables --endpoint-url {reachable}")
    if credentials is None and not is_loopback(host):
        print(
            f"tablewright: warning: listening on {host} with any credentials accepted:"
            " anyone who can reach it can read and change everything; --credentials FILE verifies signatures",
            file=sys.stderr,
        )


def _say(text: str) -> None:
    """Prints a line; the server continues if its output is no longer read (``| head -1``)."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _verify(options: argparse.Namespace) -> int:
    import logging

    from tablewright.cli.progress import StepProgress
    from tablewright.engine import verify_closed

    # Damage found by background work is in the report as well, without a traceback.
    logging.getLogger("tablewright").addHandler(logging.NullHandler())
    folder = existing_folder(options.data)
    blobs = _Blobs(options.blobs or str(folder / "blobs"))
    with StepProgress() as steps, storage_errors():
        report = verify_closed(folder, steps.report, blobs.look_at)
    report.problems += blobs.problems
    for problem in report.problems:
        print(f"problem: {problem}")
    counts = ", ".join([*report_counts(report), *([counted(blobs.number, "blob")] if blobs.number else [])])
    if report.ok:
        print(f"{folder} is intact: {counts}")
        return 0
    print(f"{folder} is damaged: {counts}; restore an intact copy of the folder")
    return 1


class _Blobs:
    """The blobs of a data folder that is verified; without blobs, it needs no blob store."""

    def __init__(self, location: str) -> None:
        from tablewright.model.declarations import BLOB_REFERENCES

        self._attribute = BLOB_REFERENCES
        self._location = location
        self._checker: BlobChecker | None = None

    def look_at(self, where: str, item: Item) -> None:
        if self._attribute not in item:
            return
        if self._checker is None:
            from tablewright.store import BlobChecker, blob_store_at

            self._checker = BlobChecker(blob_store_at(self._location))
        self._checker.look_at(where, item)

    @property
    def number(self) -> int:
        return 0 if self._checker is None else self._checker.check.blobs

    @property
    def problems(self) -> list[str]:
        if self._checker is None:
            return []
        found = self._checker.check
        if found.missing and not found.blobs:
            return [
                *found.problems,
                f"none of the {len(found.missing)} blobs that items refer to is in {self._location}; "
                "if they are stored elsewhere, give the place with --blobs",
            ]
        return [*found.problems, *found.missing.values()]


def report_counts(report: VerifyReport) -> list[str]:
    """The numbers of what was verified."""
    found = [
        counted(report.tables, "table"),
        counted(report.items, "item"),
        counted(report.index_entries, "index entry", "index entries"),
        counted(report.stream_records, "stream record"),
    ]
    if report.history_records:
        found.append(
            counted(report.history_records, "change for point-in-time recovery", "changes for point-in-time recovery")
        )
    if report.backups:
        found.append(counted(report.backups, "backup"))
    return found


def counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def existing_folder(path: str, advice: str = "") -> Path:
    """An existing data folder; nothing is created or changed. ``advice`` says what to do if it does not exist."""
    from tablewright.engine import holds_database

    folder = locate(path)
    if not folder.exists():
        raise UsageError(f"there is no data folder at {folder}{advice}")
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file, not a folder")
    if not holds_database(folder):
        from tablewright.wire import region_folders

        found = region_folders(folder)
        where = f": it has tables by region; give the folder of one, such as {found[0]}" if found else ""
        raise UsageError(f"there is no Tablewright database in {folder}{where}")
    return folder


def locate(path: str) -> Path:
    from tablewright.engine import StorageError, resolve_folder

    try:
        return resolve_folder(path)
    except StorageError as error:
        raise UsageError(str(error)) from None


def open_engine(folder: Path | None, *, accept_loss: bool = False) -> Engine:
    from tablewright.engine import Engine

    with storage_errors():
        return Engine.open(folder, accept_loss=accept_loss)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Errors of storage as those of the command line: damaged data, or an error that the user can fix."""
    from tablewright.engine import DamagedError, StorageError

    try:
        yield
    except DamagedError as error:
        raise DamagedDataError(str(error)) from None
    except StorageError as error:
        raise UsageError(str(error)) from None
    except PermissionError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{error.filename} cannot be used: {reason}" if error.filename else reason) from None


def ignore_stop_signals() -> None:
    """For a command that has stopped on request: another signal must not turn its end into a failure."""
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _allow_many_connections() -> None:
    """Raises the limit on open files to the server's limit on connections, if the system allows it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
