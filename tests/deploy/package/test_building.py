"""Packages and images of systems, with the wheels that pip gets: they run from what was unpacked, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import httpx
import pytest

from tablewright.deploy.package.building import build_image, build_zip
from tablewright.deploy.package.oci_image import own_architecture
from tablewright.runtime.functions.http_events import http_event, http_response
from tablewright.runtime.functions.local_functions import LocalFunctions
from tablewright.systems import NAMES
from tests.deploy.package.unpacking import unpack_image

pytestmark = [pytest.mark.requirement("SH2"), pytest.mark.slow]

PLACE = "tablewright.systems.calls.calls_system:system"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
# A call of each system that reads its tables.
READS = {
    "servicedesk": "queue",
    "support": "metrics",
    "engagement": "programs?approval=requested",
    "calls": "users/ada/calls",
    "tasks": "users",
}
# Of an ELF file: the processor that it is for.
AARCH64 = 183


def test_a_package_runs_as_a_function_and_is_the_same_bytes_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    built = build_zip(PLACE, own_architecture(), PYTHON, first)
    assert built.size < 50 * 2**20
    assert built.path.read_bytes() == build_zip(PLACE, own_architecture(), PYTHON, second).path.read_bytes()
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(built.path) as archive:
        archive.extractall(unpacked)
    assert not (unpacked / "tablewright" / "systems" / "tasks").exists()
    assert not (unpacked / "duckdb").exists()
    # The plain interpreter, without the packages of this environment.
    command = [str(Path(sys.base_prefix, "bin", f"python{PYTHON}")), "-m"]
    command += ["tablewright.runtime.functions.runtime_interface", "tablewright.runtime.functions.api_function.handler"]
    variables = {"PYTHONPATH": str(unpacked), "TABLEWRIGHT_MEMORY": "true", "TABLEWRIGHT_SYSTEM": PLACE}
    with LocalFunctions() as functions:
        functions.add("api", "", variables, command)
        event = http_event("GET", "/healthz", "", [("host", "localhost")], b"")
        assert http_response(functions.call("api", event))[0] == 200


def test_a_package_for_another_processor_has_its_code(tmp_path: Path) -> None:
    built = build_zip(PLACE, "arm64", "3.13", tmp_path)
    with zipfile.ZipFile(built.path) as archive:
        programs = [name for name in archive.namelist() if ".so" in name]
        assert programs
        for name in programs:
            head = archive.read(name)[:20]
            assert head[:4] == b"\x7fELF"
            assert int.from_bytes(head[18:20], "little") == AARCH64, name


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_an_image_runs_from_its_own_root(name: str, tmp_path: Path) -> None:
    """As a container runtime starts it: its user, its command, its volume, and a port that is set."""
    may = subprocess.run([sys.executable, "-c", "import os; os.chroot('/')"], capture_output=True, timeout=60)
    if may.returncode != 0:
        pytest.skip("this user may not change the root folder of a process, as a container runtime does")
    built = build_image(name, f"tablewright.systems.{name}.{name}_system:system", tmp_path)
    root = tmp_path / "root"
    config = unpack_image(built.path, root)["config"]
    packages = root / "opt" / "packages"
    assert [each for each in NAMES if (packages / "tablewright" / "systems" / each).exists()] == [name]
    assert (packages / "duckdb").exists() == (name in ("support", "engagement"))
    # What every container runtime adds to an image.
    shared = root / "dev" / "shm"
    shared.mkdir(parents=True)
    shared.chmod(0o1777)
    variables = {**dict(each.split("=", 1) for each in config["Env"]), "TABLEWRIGHT_PORT": "0"}
    user, group = map(int, config["User"].split(":"))
    assert user > 0
    (volume,) = (root / name.lstrip("/") for name in config["Volumes"])
    assert (volume.stat().st_uid, volume.stat().st_gid) == (user, group)

    def enter() -> None:
        os.chroot(root)
        os.chdir(config["WorkingDir"])
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)

    def run(*arguments: str) -> str:
        command = [*config["Entrypoint"], *arguments]
        done = subprocess.run(
            command, env=variables, preexec_fn=enter, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version").startswith("tablewright ")
    told = tmp_path / "told"
    with told.open("wb") as log:
        command = [*config["Entrypoint"], *config["Cmd"]]
        process = subprocess.Popen(command, env=variables, preexec_fn=enter, stdout=log, stderr=log)
    try:
        port = _port(process, told)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, follow_redirects=True) as client:
            assert client.get("/readyz").json() == {"status": "ready", "failing": {}}
            assert [each["name"] for each in client.get("/systems.json").json()] == [name]
            # Another process of the container, on the same volume.
            token = run("token", "--user", "ada", "--role", f"{name}:Admins").strip()
            headers = {"Authorization": f"Bearer {token}"}
            assert client.get(f"/{name}/{READS[name]}", headers=headers).status_code == 200
            assert "<html" in client.get("/app").text
    finally:
        process.terminate()
        process.wait(timeout=60)
    assert process.returncode == 0, told.read_text()
    assert {path.stat().st_uid for path in volume.iterdir()} == {user}
    assert (volume / "tablewright.db").exists()


def _port(process: subprocess.Popen[bytes], told: Path) -> int:
    """The port that a process says it listens on, at every address of its container."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if found := re.search(r"http://0\.0\.0\.0:(\d+)", told.read_text()):
            return int(found[1])
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(told.read_text())
