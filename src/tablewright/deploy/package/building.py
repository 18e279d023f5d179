"""Builds what a stack runs: the package of functions, and the image of containers."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tablewright.deploy.package.bytecode import can_compile_for, compiled
from tablewright.deploy.package.function_zip import write_zip
from tablewright.deploy.package.needed_modules import NeededModules, needed_by
from tablewright.deploy.package.oci_image import DATA, PACKAGES, interpreter_files, own_architecture, write_image
from tablewright.deploy.package.package_files import Files, source_files, wheel_files
from tablewright.deploy.package.wheels import download, pinned

__all__ = ["BuiltPackage", "build_image", "build_zip", "needed_by_image"]

_FUNCTIONS = tuple(
    f"tablewright.runtime.functions.{name}"
    for name in ("api_function", "consumer_function", "schedule_function", "bounce_function", "runtime_interface")
)
_SERVER = ("tablewright.__main__", "tablewright.cli", "tablewright.runtime.http.serve", "tablewright.ui.screens")
# What only commands need that are not run in a container: those that write stacks or run SQL, the studio, which is for
# this machine alone, and the commands of other systems. What the system itself needs of these is included.
_NOT_FOR_CONTAINERS = ("tablewright.deploy", "tablewright.sql", "tablewright.studio", "tablewright.systems", "duckdb")


@dataclass(frozen=True, slots=True)
class BuiltPackage:
    """A file that was built: its size, and that of what is in it."""

    path: Path
    size: int
    unpacked: int
    distributions: tuple[str, ...]


def build_zip(place: str, architecture: str, python: str, folder: Path) -> BuiltPackage:
    """The package of a system's functions, for one processor and one Python."""
    module = place.partition(":")[0]
    needed = needed_by(*_FUNCTIONS, module)
    files, requirements = _with_wheels(needed, source_files(needed), architecture, python)
    if can_compile_for(python):
        files = {**files, **compiled(files)}
    path = folder / f"functions-{architecture}.zip"
    unpacked = write_zip(files, path)
    return BuiltPackage(path, path.stat().st_size, unpacked, tuple(requirements))


def build_image(name: str, place: str, folder: Path) -> BuiltPackage:
    """The image of a system with its screens, for the processor and the Python of this machine.

    ``name`` is what ``up --system`` takes. A container is reached from outside of it, so it listens everywhere in it.
    """
    module, _, attribute = place.partition(":")
    architecture, python = own_architecture(), f"{sys.version_info.major}.{sys.version_info.minor}"
    screens: str | None = getattr(import_module(module), attribute).screens
    needed = needed_by_image(module, screens)
    sources = source_files(needed, screens=True)
    files, requirements = _with_wheels(needed, sources, architecture, python)
    packages = {f"{PACKAGES}/{name}": content for name, content in files.items()}
    interpreter = interpreter_files()
    path = folder / f"image-{architecture}.tar"
    write_image(
        [interpreter, (packages, {})],
        path,
        architecture=architecture,
        entrypoint=["/opt/python/bin/python", "-m", "tablewright"],
        command=["up", "--system", name],
        variables={
            "PATH": "/opt/python/bin",
            "PYTHONPATH": f"/{PACKAGES}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
            "HOME": "/tmp",
            "TABLEWRIGHT_HOST": "0.0.0.0",
            "TABLEWRIGHT_DATA": f"/{DATA}",
        },
    )
    unpacked = sum(len(content) for each in (interpreter[0], packages) for content in each.values())
    return BuiltPackage(path, path.stat().st_size, unpacked, tuple(requirements))


def needed_by_image(module: str, screens: str | None) -> NeededModules:
    """What the image of a system needs: the system with its screens, the server, and commands that belong to it."""
    own = needed_by(module, *([] if screens is None else [screens]))
    return own | needed_by(*_SERVER, without=_NOT_FOR_CONTAINERS)


def _with_wheels(needed: NeededModules, files: Files, architecture: str, python: str) -> tuple[Files, list[str]]:
    requirements = pinned(needed.distributions)
    with tempfile.TemporaryDirectory(prefix="tablewright-") as folder:
        wheels = download(requirements, architecture, python, Path(folder))
        return {**wheel_files(wheels), **files}, requirements
