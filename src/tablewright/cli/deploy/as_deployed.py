"""``up --as-deployed``: the functions of a stack on this machine, over the tables of a data folder."""

from __future__ import annotations

import argparse
import signal
import threading
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import DamagedDataError, UsageError
from tablewright.cli.deploy.deploy_command import system_at

if TYPE_CHECKING:
    from tablewright.runtime import Settings

_REGION = "us-east-1"


def run_as_deployed(settings: Settings, options: argparse.Namespace) -> int:
    """Run the functions of one system until the process is asked to stop."""
    from tempfile import TemporaryDirectory

    from tablewright.deploy import needs_of
    from tablewright.deploy.local_deployment import LocalDeployment
    from tablewright.design import DesignError
    from tablewright.engine import DamagedError, Engine, StorageError
    from tablewright.runtime.logs import set_up
    from tablewright.wire import serve_in_thread

    if len(options.system or ()) != 1:
        raise UsageError("--as-deployed runs the functions of one stack: add --system tasks, for example")
    if not settings.is_embedded or settings.mode == "production":
        raise UsageError(
            "--as-deployed is for development, on the embedded engine: remove the settings endpoint and mode"
        )
    found = system_at(options.system[0])
    if found is None:
        raise UsageError(f"there is no system {options.system[0]}")
    set_up(settings.log_level)
    try:
        needs = needs_of(*found)
        engine = Engine.open(None if settings.memory else settings.data, accept_loss=options.accept_loss)
    except DamagedError as error:
        raise DamagedDataError(str(error)) from None
    except (DesignError, StorageError) as error:
        raise UsageError(str(error)) from None
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with engine, serve_in_thread(engine) as endpoint, TemporaryDirectory() as temporary:
        for table in needs.design.all_tables:
            name = settings.name_of(table)
            if name not in engine.call("ListTables", {})["TableNames"]:
                engine.call("CreateTable", table.create_request(name))
                if table.ttl is not None:
                    ttl = {"AttributeName": table.ttl, "Enabled": True}
                    engine.call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": ttl})
        variables = {
            "TABLEWRIGHT_ENDPOINT": endpoint,
            "TABLEWRIGHT_REGION": _REGION,
            # Blobs as well: those of the data folder belong to its database.
            "TABLEWRIGHT_DATA": temporary if settings.memory else str(settings.data),
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }
        address = (settings.host, settings.port)
        with LocalDeployment(needs, engine, variables, address=address, table_name=settings.name_of) as local:
            print(f"{needs.system.title}, as it is deployed: {local.url}/{needs.system.name}/docs", flush=True)
            print(f"  functions: {', '.join(local.functions.names)}", flush=True)
            stopped.wait()
    return 0
