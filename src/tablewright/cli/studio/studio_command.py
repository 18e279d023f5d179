"""``studio``: tables, items, patterns and the design in a browser; also as a part of ``up`` and ``serve``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, DamagedDataError, UsageError, port

if TYPE_CHECKING:
    from tablewright.engine import Engine
    from tablewright.model import Design
    from tablewright.runtime import Settings
    from tablewright.store import Backend
    from tablewright.studio.studio_server import MakeApplicationScreens


def register(commands: Commands) -> None:
    studio = commands.add_parser(
        "studio",
        help="browse tables, items, access patterns and designs in a browser",
        epilog="The address that is printed has a token that works once. PLACE is a data folder that no other "
        "process has open, the address of an endpoint (http://127.0.0.1:8000), aws, or aws:eu-west-1.",
    )
    studio.add_argument("place", nargs="?", default="data", metavar="PLACE", help="what to look at (default: ./data)")
    studio.add_argument(
        "--design",
        action="append",
        default=[],
        metavar="PATH",
        help="module or file of the design, such as shop.model or ./model.py; may be repeated",
    )
    studio.add_argument("--write", action="store_true", help="allow writes; each is shown and has to be confirmed")
    studio.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    studio.add_argument("--port", type=port, default=8081, help="port, 0 for any free one (default: 8081)")
    studio.add_argument("--open", action="store_true", help="open it in the browser")
    studio.set_defaults(command=_studio, parser=studio, extra="studio")


def _studio(options: argparse.Namespace) -> int:
    from tablewright.cli.studio.listen_address import check_address, is_loopback

    check_address(options.host, options.port)
    designs = load_designs(options.design)
    # Slow imports, once it is known that they are needed.
    from tablewright.studio.studio_database import StudioDatabase
    from tablewright.studio.studio_server import Studio, open_socket, run_studio

    log_writes()
    backend = _backend(options.place)
    try:
        listener = open_socket(options.host, options.port)

        def started(studio: Studio, url: str) -> None:
            studio.announce(url, lambda line: print(line, flush=True))
            print("Ctrl-C stops it", flush=True)
            if options.open:
                import webbrowser

                webbrowser.open(studio.address(url))

        if not is_loopback(options.host):
            print(
                f"tablewright: warning: listening on {options.host}: the token goes over the network unencrypted",
                file=sys.stderr,
            )
        database = StudioDatabase(options.place, backend, designs, may_write=options.write)
        run_studio(database, listener, frozenset({options.host.lower()}), started)
    finally:
        backend.close()
    print("Tablewright stopped", flush=True)
    return 0


@contextmanager
def studio_beside(engine: Engine, options: argparse.Namespace) -> Iterator[None]:
    """The studio on an engine that a server in this process serves."""
    from tablewright.store import EmbeddedBackend
    from tablewright.studio.studio_database import StudioDatabase
    from tablewright.studio.studio_server import open_socket, studio_in_thread

    designs = load_designs(options.design)
    log_writes()
    host, number = options.studio
    name = "memory" if options.memory else options.data
    database = StudioDatabase(name, EmbeddedBackend(engine, owned=False), designs, may_write=options.studio_write)
    with studio_in_thread(database, open_socket(host, number), frozenset({host.lower()})) as (studio, url):
        studio.announce(url, lambda line: print(line, flush=True))
        yield


def with_studio(make_screens: MakeApplicationScreens, settings: Settings, *, may_write: bool) -> MakeApplicationScreens:
    """The screens of `up` with the studio: in development, where only this machine can reach it.

    An image of `tablewright package` does not have it.
    """
    from importlib.util import find_spec

    from tablewright.cli.studio.listen_address import is_loopback

    if settings.mode == "production" or not is_loopback(settings.host) or find_spec("tablewright.studio") is None:
        if may_write:
            raise UsageError("the studio of `up` is for development, on a loopback address; use `tablewright studio`")
        return make_screens
    from tablewright.studio.studio_server import beside_applications

    log_writes()
    return beside_applications(make_screens, may_write=may_write)


def load_designs(paths: Sequence[str]) -> list[Design]:
    """The designs of some modules."""
    from tablewright.design import DesignError, load

    try:
        return [design for path in paths for design in load(path)]
    except DesignError as error:
        raise UsageError(str(error)) from None


def log_writes() -> None:
    """Writes of the studio are logged on standard error: who, when and what, without values."""
    log = logging.getLogger("tablewright.studio.writes")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s studio: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False


def _backend(place: str) -> Backend:
    from tablewright.engine import DamagedError
    from tablewright.transfer.errors import TransferError
    from tablewright.transfer.places.table_place import backend_at

    try:
        return backend_at(place, exists=True)
    except DamagedError as error:
        raise DamagedDataError(str(error)) from None
    except TransferError as error:
        raise UsageError(str(error)) from None
