"""The servers under load, each a process of its own on a free loopback port, stopped at the end.

Peers run at their best: dynalite in memory (its fastest store) and without its artificial delays, dynoxide and
Amazon's DynamoDB Local in memory and on a file. The peers from npm and Maven are installed into a cache folder of the
repository; a peer that cannot be installed is left out of the table.
"""

import http.client
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import dynamodb_local
from benchmarks.cache import CACHE
from benchmarks.report import progress

SCRIPTS = Path(sys.executable).parent

HEADERS = {
    "Host": "127.0.0.1",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20260301T120000Z",
    "Authorization": (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260301/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0" * 64
    ),
}


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    port: int
    pid: int = 0

    def wait_until_quiet(self) -> None:
        """Wait until it has done what it was asked for: some go on for seconds after their clients have left, and would
        take the processor from whoever is measured next.
        """
        deadline = time.monotonic() + 30
        before = _processor_ticks(self.pid)
        while before is not None and time.monotonic() < deadline:
            time.sleep(0.2)
            now = _processor_ticks(self.pid)
            if now is None or now - before <= 1:
                return
            before = now

    def request(self, operation: str, body: dict[str, Any]) -> bytes:
        """The bytes of one request, prepared for the load generator."""
        content = json.dumps(body, separators=(",", ":")).encode()
        lines = [
            "POST / HTTP/1.1",
            *(f"{name}: {value}" for name, value in HEADERS.items()),
            f"X-Amz-Target: DynamoDB_20120810.{operation}",
            f"Content-Length: {len(content)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + content

    def call(self, connection: http.client.HTTPConnection, operation: str, body: dict[str, Any]) -> Any:
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        connection.request("POST", "/", json.dumps(body), headers)
        response = connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise RuntimeError(f"{self.name} answered {operation} with {response.status}: {content.decode()}")
        return json.loads(content)


def _processor_ticks(pid: int) -> int | None:
    """The processor time of a process, in hundredths of a second; None where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12])


def processor_seconds(folder: Path) -> float:
    """The processor time so far of the processes that were started with a folder, and of those that they started."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if str(folder).encode() in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
    while started := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= started
    return sum(_processor_ticks(pid) or 0 for pid in found) / os.sysconf("SC_CLK_TCK")


def commands(folder: Path) -> dict[str, list[str]]:
    """How each server is started, but for its port. Tablewright comes first."""
    found = {
        "tablewright, durable file": [str(SCRIPTS / "tablewright"), "serve", "--data", str(folder / "data")],
        "tablewright, memory": [str(SCRIPTS / "tablewright"), "serve", "--memory"],
    }
    try:
        found[dynamodb_local.ON_FILE] = dynamodb_local.command(folder / "dynamodb-local")
        found[dynamodb_local.IN_MEMORY] = dynamodb_local.command()
    except dynamodb_local.NotHereError as missing:
        progress(f"DynamoDB Local is left out: {missing}")
    dynalite, dynoxide = _npm_peers()
    if dynalite:
        found["dynalite, memory"] = [*dynalite, "--host", "127.0.0.1", "--createTableMs", "0"]
    if dynoxide:
        found["dynoxide, file"] = [*dynoxide, "--db-path", str(folder / "dynoxide.db")]
        found["dynoxide, memory"] = dynoxide
    if (SCRIPTS / "moto_server").exists():
        found["moto server"] = [str(SCRIPTS / "moto_server"), "-H", "127.0.0.1"]
    return found


def _npm_peers() -> tuple[list[str] | None, list[str] | None]:
    """The commands of dynalite and dynoxide, installed on first use."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        progress("npm is not here: dynalite and dynoxide are left out")
        return None, None
    binary = f"@dynoxide/{platform.system().lower()}-{_npm_architecture()}"
    folder = CACHE / "peers"
    modules = folder / "node_modules"
    paths = {"dynalite": modules / "dynalite" / "cli.js", binary: modules / binary / "dynoxide"}
    for package, path in paths.items():
        if not path.exists():
            progress(f"installing {package}")
            folder.mkdir(parents=True, exist_ok=True)
            command = [
                npm,
                "install",
                "--prefix",
                str(folder),
                "--no-audit",
                "--no-fund",
                "--silent",
                package,
            ]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
            if not path.exists():
                progress(f"{package} could not be installed and is left out")
    dynalite, dynoxide = paths.values()
    return (
        [node, str(dynalite)] if dynalite.exists() else None,
        [str(dynoxide)] if dynoxide.exists() else None,
    )


def _npm_architecture() -> str:
    return {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


@contextmanager
def started(name: str, command: list[str]) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    arguments = [*command, "--port", str(port)]
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process, name)
        yield Server(name, port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def systems_up(*options: str) -> Iterator[tuple[int, str]]:
    """`tablewright up` in a folder of its own: its process, and its address."""
    command = [sys.executable, "-m", "tablewright", "up", "--port", "0", *options]
    settings = {"LOG_LEVEL": "ERROR", "RATE_LIMIT": "100000", "RATE_BURST": "100000"}
    environment = {**os.environ, **{f"TABLEWRIGHT_{name}": value for name, value in settings.items()}}
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment)
        try:
            assert process.stdout is not None
            found = next(filter(None, (re.search(r"is up at (http://[\d.:]+)", line) for line in process.stdout)))
            yield process.pid, found[1]
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _wait_for(port: int, process: subprocess.Popen[bytes], name: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{name} did not start")
