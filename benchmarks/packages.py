"""Peers from PyPI that are no development dependencies: installed into a cache folder of the repository."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from benchmarks.cache import CACHE
from benchmarks.report import progress

# Wheels with native code are for one version of Python.
FOLDER = CACHE / f"python{sys.version_info.major}.{sys.version_info.minor}"


def install(package: str) -> bool:
    """Make a package importable, in this process and, by `activate`, in others; says whether that was possible."""
    activate()
    if importlib.util.find_spec(package) is None:
        _install(package, FOLDER)
        importlib.invalidate_caches()
    return _there(package, importlib.util.find_spec(package) is not None)


def install_alone(package: str) -> bool:
    """Make a package importable by `activate_alone`, with the versions of others that it wants for itself."""
    if not (_alone(package) / package).is_dir():
        _install(package, _alone(package))
    return _there(package, (_alone(package) / package).is_dir())


def activate() -> None:
    """Let what was installed be imported, behind everything else."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))


def activate_alone(package: str) -> None:
    """Let a package be imported before everything else, for a process that needs nothing else."""
    sys.path.insert(0, str(_alone(package)))


def _alone(package: str) -> Path:
    return FOLDER.with_name(f"{FOLDER.name}-{package}")


def _install(package: str, folder: Path) -> None:
    progress(f"installing {package}")
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), package]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)


def _there(package: str, found: bool) -> bool:
    if not found:
        progress(f"{package} could not be installed and is left out")
    return found
