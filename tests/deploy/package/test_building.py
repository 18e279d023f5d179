"""Packages and images of systems, with the wheels that pip gets: they run from what was unpacked, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tablewright.deploy.package.building import build_image, build_zip
from tablewright.deploy.package.oci_image import own_architecture
from tablewright.runtime.functions.http_events import http_event, http_response
from tablewright.runtime.functions.local_functions import LocalFunctions
from tests.deploy.package.unpacking import unpack_image

pytestmark = [pytest.mark.requirement("SH2"), pytest.mark.slow]

PLACE = "tablewright.systems.calls.calls_system:system"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root folder of a process")
def test_an_image_runs_from_its_own_root(tmp_path: Path) -> None:
    built = build_image(PLACE, tmp_path)
    root = tmp_path / "root"
    config = unpack_image(built.path, root)["config"]
    variables = dict(each.split("=", 1) for each in config["Env"])

    def enter() -> None:
        os.chroot(root)
        os.chdir("/tmp")

    def run(*arguments: str) -> str:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [*config["Entrypoint"], *arguments],
            env=variables,
            preexec_fn=enter,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version").startswith("tablewright ")
    assert "mode" in run("config")
