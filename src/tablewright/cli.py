"""The command line.

    tablewright serve     DynamoDB's protocol over HTTP, until SIGTERM or SIGINT
    tablewright verify    proves that a data folder is whole

What a user can put right is one line on standard error and exit code 2. Modules are imported by the
command that needs them, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import argparse
import errno
import ipaddress
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tablewright import __version__

if TYPE_CHECKING:
    from tablewright.engine import Engine
    from tablewright.wire.messages import Request
    from tablewright.wire.server import Server


class UsageError(Exception):
    """Something the user can put right; the message says what."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except UsageError as error:
        print(f"tablewright: {error}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tablewright", description="A DynamoDB-compatible database.")
    parser.add_argument("--version", action="version", version=f"tablewright {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="serve DynamoDB's protocol over HTTP")
    storage = serve.add_mutually_exclusive_group()
    storage.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="data folder (default: ./data)")
    storage.add_argument("--memory", action="store_true", help="keep everything in memory")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=_port, default=8000, help="port, 0 for any free one (default: 8000)")
    serve.add_argument(
        "--credentials",
        type=Path,
        metavar="FILE",
        help="verify every signature against the keys in FILE, in the format of ~/.aws/credentials"
        " (default: accept any credentials)",
    )
    serve.set_defaults(command=_serve)

    verify = commands.add_parser("verify", help="prove that a data folder is whole")
    verify.add_argument("data", type=Path, metavar="DIR", help="data folder, not in use by a server")
    verify.set_defaults(command=_verify)
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError
    return port


def _serve(options: argparse.Namespace) -> int:
    import logging

    from tablewright.wire.server import Server, run
    from tablewright.wire.sigv4 import CredentialsFileError, Verifier, accept_any, read_credentials

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    authenticate: Callable[[Request], None] = accept_any
    if options.credentials is not None:
        try:
            authenticate = Verifier(read_credentials(options.credentials))
        except CredentialsFileError as error:
            raise UsageError(str(error)) from None
    _allow_many_connections()

    def started(server: Server) -> None:
        where = "memory" if options.memory else options.data
        print(
            f"Tablewright serves {where} at {server.url} - try: aws dynamodb list-tables --endpoint-url {server.url}",
            flush=True,
        )
        if options.credentials is None and not _is_loopback(options.host):
            print(
                f"tablewright: warning: listening on {options.host} with any credentials accepted:"
                " whoever reaches it can read and change everything; --credentials FILE verifies signatures",
                file=sys.stderr,
            )

    with _open(None if options.memory else options.data) as engine:
        try:
            run(
                lambda: Server(engine, host=options.host, port=options.port, authenticate=authenticate),
                started,
            )
        except OSError as error:
            raise UsageError(_why_not_listening(options.host, options.port, error)) from None
    return 0


def _verify(options: argparse.Namespace) -> int:
    if not options.data.is_dir():
        raise UsageError(f"there is no data folder at {options.data}")
    with _open(options.data) as engine:
        report = engine.verify()
    for problem in report.problems:
        print(f"problem: {problem}")
    verdict = "whole" if report.ok else "damaged"
    print(
        f"{options.data} is {verdict}: {report.tables} tables, {report.items} items,"
        f" {report.index_entries} index entries, {report.stream_records} stream records"
    )
    return 0 if report.ok else 1


def _open(folder: Path | None) -> Engine:
    from tablewright.engine import Engine
    from tablewright.engine.data_folder import StorageError

    try:
        return Engine.open(folder)
    except (StorageError, OSError) as error:
        raise UsageError(str(error)) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _why_not_listening(host: str, port: int, error: OSError) -> str:
    # The event loop puts the system's text at the end of one of its own.
    text = str(error)
    if error.errno == errno.EADDRINUSE or "in use" in text:
        return f"port {port} of {host} is in use; stop what uses it, or choose another with --port"
    if error.errno == errno.EACCES:
        return f"port {port} may not be opened by this user; choose one above 1023 with --port"
    return f"cannot listen on {host}:{port}: {text.rpartition(': ')[2]}"


def _allow_many_connections() -> None:
    """Room for the server's bound on connections, where the system allows it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
