"""A PostgreSQL server for one run: in a folder of its own, durable, on a Unix socket, stopped at the end.

It runs at sensible settings: a sync of the log before each commit is acknowledged (its default), enough memory, and no
checkpoint in the middle of a measurement. PostgreSQL refuses to run as root, so that it gets an unprivileged user then.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "jit": "off",
    "max_connections": "100",
}
USER = "bench"


def find() -> Path | None:
    """The folder of PostgreSQL's programs; Debian keeps them off the path."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: int(each.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def version(programs: Path) -> str:
    output = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    return output.split()[2]


@contextmanager
def started(programs: Path) -> Iterator[Path]:
    """Run a server; gives the folder of its socket."""
    # On a disk, short enough for a socket, and open to the user that it runs as.
    folder = Path(tempfile.mkdtemp(prefix="tablewright-postgres-", dir="/var/tmp"))
    process = None
    try:
        account = _account()
        if account:
            shutil.chown(folder, account["user"], account["group"])
        data = folder / "data"
        initdb = [
            str(programs / "initdb"),
            "-D",
            str(data),
            "-U",
            USER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-instructions",
        ]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=folder, **account)
        options = [f"--{name}={value}" for name, value in {**SETTINGS, "unix_socket_directories": folder}.items()]
        command = [str(programs / "postgres"), "-D", str(data), *options]
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **account)
        _wait_for(folder / "log", process)
        yield folder
    finally:
        if process is not None:
            # Does not wait for clients.
            process.send_signal(signal.SIGINT)
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> dict[str, Any]:
    """Whom to run it as, if not as whoever is running this."""
    if os.getuid() != 0:
        return {}
    names = {each.pw_name for each in pwd.getpwall()}
    found = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def _wait_for(log: Path, process: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if "ready to accept connections" in log.read_text("utf-8", "replace"):
            return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text('utf-8', 'replace')[-500:]}")
