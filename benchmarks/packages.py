"""Peers from PyPI that are no development dependencies: installed into a cache folder of the repository."""

import importlib.util
import subprocess
import sys

from benchmarks.cache import CACHE
from benchmarks.report import progress

# Wheels with native code are for one version of Python.
FOLDER = CACHE / f"python{sys.version_info.major}.{sys.version_info.minor}"


def install(package: str) -> bool:
    """Make a package importable, in this process and, by `activate`, in others; says whether that was possible."""
    activate()
    if importlib.util.find_spec(package) is None:
        progress(f"installing {package}")
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(FOLDER), package]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
        importlib.invalidate_caches()
    found = importlib.util.find_spec(package) is not None
    if not found:
        progress(f"{package} could not be installed and is left out")
    return found


def activate() -> None:
    """Let what was installed be imported, behind everything else."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
