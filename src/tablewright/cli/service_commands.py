"""The systems: run them with ``up``, issue a ``token``, print the ``config``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tablewright.cli.argument_parser import Commands, DamagedDataError, UsageError, port, refused
from tablewright.cli.database_commands import add_accept_loss

if TYPE_CHECKING:
    from tablewright.cli.progress import StepProgress
    from tablewright.runtime import Runtime, Settings, System
    from tablewright.studio.studio_server import MakeApplicationScreens

_LOOPBACK = "127.0.0.1"


def register(commands: Commands) -> None:
    up = commands.add_parser(
        "up",
        help="run the systems, on the embedded engine or on an endpoint",
        epilog="Settings are also read from TABLEWRIGHT_... variables and tablewright.toml; `tablewright config` "
        "prints them.",
    )
    add_place_options(up, memory=True)
    up.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    up.add_argument("--port", type=port, help="port, 0 for any free one (default: 8080)")
    up.add_argument(
        "--dynamodb-port",
        type=port,
        metavar="PORT",
        help="serve the embedded engine's tables as a DynamoDB endpoint on this port of 127.0.0.1, for other tools; any"
        " credentials are accepted",
    )
    up.add_argument(
        "--studio-write",
        action="store_true",
        help="allow the studio at /studio to write; each write has to be confirmed",
    )
    add_accept_loss(up)
    up.add_argument("--demo", action="store_true", help="fill the tables with demo data, if all of them are new")
    up.add_argument(
        "--system",
        action="append",
        metavar="NAME",
        help="only this system, or the one in a module of your own; may be repeated",
    )
    up.add_argument(
        "--as-deployed",
        action="store_true",
        help="run the functions that `tablewright deploy` deploys, each in a process; needs --system",
    )
    up.set_defaults(command=_up, parser=up)

    token = commands.add_parser(
        "token",
        help="issue a token for development",
        epilog="A role belongs to a system: tasks:Admins, servicedesk:Agents. docs/roles.md lists the roles, and what "
        "each may call; runtime:Admins may call /runtime.",
    )
    token.add_argument("--user", required=True, help="user id, the claim `sub`")
    token.add_argument(
        "--role", action="append", default=[], metavar="ROLE", help="a role, such as tasks:Admins; may be repeated"
    )
    token.add_argument("--email", help="the claim `email`")
    token.add_argument("--hours", type=float, default=12.0, help="hours until the token expires (default: 12)")
    token.add_argument("--data", metavar="DIR", help="data folder whose key signs the token (default: ./data)")
    token.set_defaults(command=_token, parser=token)

    config = commands.add_parser("config", help="print the settings")
    config.add_argument("--json", action="store_true", help="as JSON")
    config.set_defaults(command=_config, parser=config)


def add_place_options(parser: argparse.ArgumentParser, *, alone: bool = False, memory: bool = False) -> None:
    """Options for the place of the data; ``alone`` if no other process may have the data folder open."""
    about = "data folder (default: ./data)"
    parser.add_argument("--data", metavar="DIR", help=f"{about}, not in use by `tablewright up`" if alone else about)
    if memory:
        parser.add_argument("--memory", action="store_true", default=None, help="keep everything in memory")
    parser.add_argument("--endpoint", metavar="URL", help="a DynamoDB endpoint instead of the embedded engine")
    parser.add_argument("--region", help="Amazon DynamoDB in this region, or the region of the endpoint")


def read_settings(**given: Any) -> Settings:
    """The settings, overridden by the options of the command line."""
    from pydantic import ValidationError

    from tablewright.runtime import Settings, SettingsError
    from tablewright.runtime.settings import CONFIG, PREFIX

    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise UsageError(f"{PREFIX}{name.upper()} (or {name} in tablewright.toml): {first['msg']}") from None
    except SettingsError as error:
        raise UsageError(str(error)) from None
    except (ValueError, OSError) as error:
        file = os.environ.get(f"{PREFIX}CONFIG", CONFIG)
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file} cannot be read: {reason}") from None


def place_settings(options: argparse.Namespace) -> Settings:
    """The settings, with the place that the options give (see ``add_place_options``)."""
    return read_settings(data=options.data, endpoint=options.endpoint, region=options.region)


def check_database(settings: Settings) -> None:
    """UsageError if the data folder has no database."""
    if settings.is_embedded and not (settings.data / "tablewright.db").exists():
        raise UsageError(f"there is no database in {settings.data}; choose the data folder with --data")


@contextmanager
def opened_runtime(
    settings: Settings, systems: Any, steps: StepProgress, *, instead: str | None = None
) -> Iterator[Runtime]:
    """The runtime of the systems, for one command; ``instead`` is what to do while `tablewright up` uses the data."""
    from tablewright.store import StoreError

    steps.begin("opening the database")
    try:
        runtime = open_runtime(settings, systems)
    except UsageError as error:
        if instead is None or "is in use" not in str(error):
            raise
        raise UsageError(f"{error}; if that is `tablewright up`, {instead}") from None
    try:
        yield runtime
    except StoreError as error:
        raise refused(error) from None
    finally:
        runtime.close()


def open_runtime(settings: Settings, systems: Any, *, accept_loss: bool = False) -> Runtime:
    """Open the runtime of the systems."""
    from tablewright.engine import DamagedError, StorageError
    from tablewright.runtime import Runtime, SettingsError

    try:
        return Runtime.open(settings, systems, accept_loss=accept_loss)
    except DamagedError as error:
        raise DamagedDataError(str(error)) from None
    except (SettingsError, StorageError) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        reason = "it is a file" if settings.data.is_file() else error.strerror
        raise UsageError(
            f"the data folder {settings.data} cannot be used: {reason}; choose another with --data"
        ) from None


def _up(options: argparse.Namespace) -> int:
    from tablewright.cli.database_commands import check_layout, ignore_stop_signals, locate
    from tablewright.cli.studio.listen_address import check_addresses

    if options.data is not None:
        # Of an unset variable, for example: the current folder must not get a database by mistake.
        locate(options.data)
    if options.memory and options.data is not None and not options.as_deployed:
        raise UsageError(f"--memory stores nothing in {options.data}; give either --memory or --data")
    if options.as_deployed:
        _check_as_deployed(options)
    settings = read_settings(
        data=options.data,
        memory=options.memory,
        endpoint=options.endpoint,
        region=options.region,
        host=options.host,
        port=options.port,
        # A terminal is for its user: requests are logged there only on demand.
        log_level="WARNING" if sys.stderr.isatty() and "TABLEWRIGHT_LOG_LEVEL" not in os.environ else None,
    )
    from tablewright.systems import load

    own = _own_systems(options.system or ())
    if options.dynamodb_port is not None:
        if not settings.is_embedded:
            raise UsageError("--dynamodb-port is for the embedded engine; other tools can use the endpoint itself")
        if settings.mode == "production":
            raise UsageError("--dynamodb-port is for development: it accepts any credentials")
    addresses = [("--port", settings.host, settings.port)]
    if options.dynamodb_port is not None:
        addresses.append(("--dynamodb-port", _LOOPBACK, options.dynamodb_port))
    check_addresses(*addresses)
    if options.as_deployed:
        from tablewright.cli.deploy.as_deployed import run_as_deployed

        return run_as_deployed(settings, options)
    if settings.is_embedded and not settings.memory:
        check_layout(settings.data, by_region=False)
    from tablewright.runtime.start_up import starting

    # Slow imports, once it is known that they are needed.
    with starting():
        from tablewright.cli.progress import StepProgress
        from tablewright.runtime import SettingsError
        from tablewright.runtime.http.serve import serve
        from tablewright.runtime.logs import set_up
        from tablewright.store import StoreError

        set_up(settings.log_level)
        make_screens = _screens(settings)
        if make_screens is not None:
            from tablewright.cli.studio.studio_command import with_studio

            make_screens = with_studio(make_screens, settings, may_write=options.studio_write)
    with StepProgress() as steps:
        steps.begin("loading the systems")
        wanted = dict.fromkeys(options.system or ())
        with starting():
            systems = [own[name] if name in own else load(name)[0] for name in wanted] or load()
        steps.begin("opening the database")
        runtime = open_runtime(settings, systems, accept_loss=options.accept_loss)
        if options.dynamodb_port is not None and runtime.engine is not None:
            from tablewright.wire import serve_in_thread

            endpoint = serve_in_thread(runtime.engine, host=_LOOPBACK, port=options.dynamodb_port)
            print(f"DynamoDB endpoint: {runtime.users_of_engine.enter_context(endpoint)} (any credentials)", flush=True)
        try:
            status = serve(runtime, systems, demo=options.demo, steps=steps, make_screens=make_screens)
        except StoreError as error:
            raise refused(error) from None
        except SettingsError as error:
            raise UsageError(str(error)) from None
        ignore_stop_signals()
        return status


def _check_as_deployed(options: argparse.Namespace) -> None:
    """UsageError for options of a process that functions do not have."""
    given = {
        "--demo": options.demo,
        "--studio-write": options.studio_write,
        "--dynamodb-port": options.dynamodb_port is not None,
    }
    unused = [name for name, is_given in given.items() if is_given]
    if unused:
        raise UsageError(f"--as-deployed runs functions, for which there is no {' or '.join(unused)}; leave it out")


def _own_systems(names: Iterable[str]) -> dict[str, System]:
    """The requested systems that do not come with Tablewright, by their modules."""
    from tablewright.cli.deploy.deploy_command import system_at
    from tablewright.systems import NAMES

    own = {name: system_at(name) for name in dict.fromkeys(names) if name not in NAMES}
    unknown = sorted(name for name, found in own.items() if found is None)
    if unknown:
        raise UsageError(
            f"unknown system {', '.join(unknown)}; choose from {', '.join(NAMES)}, or give the module of a System of "
            "your own"
        )
    return {name: found[0] for name, found in own.items() if found is not None}


def _screens(settings: Settings) -> MakeApplicationScreens | None:
    """The screens of the applications; None if their requirements are not installed."""
    try:
        import nicegui  # noqa: F401
    except ImportError:
        print("The APIs are served without screens; to get them: pip install 'tablewright[apps]'", flush=True)
        return None
    from tablewright.runtime import SettingsError
    from tablewright.ui.screens import check_settings, make_screens

    try:
        check_settings(settings)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return make_screens


def _token(options: argparse.Namespace) -> int:
    settings = read_settings(data=options.data)
    if settings.mode == "production":
        raise UsageError(
            "tokens are issued in development mode only; in production, get one from your identity provider"
        )
    if not 0 < options.hours <= 24 * 365:
        raise UsageError("--hours must be more than 0 and at most 8760")
    from datetime import timedelta

    from tablewright.runtime import SettingsError
    from tablewright.runtime.identity.local_issuer import LocalIssuer
    from tablewright.runtime.identity.tokens import is_user_id

    if not is_user_id(options.user):
        raise UsageError("--user must be text of at most 255 bytes")
    try:
        issuer = LocalIssuer.of_folder(settings.data)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"the key in {settings.data} cannot be read: {error.strerror}") from None
    _check_roles(options.role, settings)
    lifetime = timedelta(hours=options.hours)
    print(issuer.token(options.user, roles=options.role, email=options.email, lifetime=lifetime))
    return 0


def _check_roles(given: list[str], settings: Settings) -> None:
    """Warn about roles that grant nothing: one of the user's own systems may have them."""
    from difflib import get_close_matches

    from tablewright.systems import roles

    known = [role.name for role in roles()]
    for name in given:
        if name not in known and name not in settings.roles:
            near = get_close_matches(name, known, 3, 0.4)
            advice = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(known)}"
            print(f"tablewright: warning: no system has the role {name}; {advice}", file=sys.stderr)


def _config(options: argparse.Namespace) -> int:
    settings = read_settings()
    from pydantic import SecretStr

    from tablewright.runtime import Settings

    values = settings.model_dump(mode="json")
    if options.json:
        import orjson

        print(orjson.dumps(values, option=orjson.OPT_INDENT_2).decode())
        return 0
    for name, info in Settings.model_fields.items():
        # Unset values, and secrets, which are not shown, are comments: the rest can be used as tablewright.toml.
        is_secret = str(SecretStr("x")) in str(values[name])
        text = f"{'# ' if is_secret or values[name] is None else ''}{name} = {_toml(values[name])}"
        print(f"{text:<44} # {info.description}" if info.description else text)
    return 0


def _toml(value: Any) -> str:
    """A setting as TOML, which has no null."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml(key)} = {_toml(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str | None):
        # As JSON, except for one character that must be escaped in TOML.
        return json.dumps(value or "", ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()
