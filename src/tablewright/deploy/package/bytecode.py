"""Sources compiled when the package is built: a function cannot keep what it compiles, and would at every start.

A process of its own compiles them, in order and without chance, so that the same sources make the same bytes. They are
valid whatever the times of the sources are. Only this Python can compile for itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tablewright.deploy.package.package_files import Files

__all__ = ["can_compile_for", "compiled"]

_WITHIN = 600
# Where Lambda unpacks a package: what tracebacks show.
_ROOT = "/var/task"


def can_compile_for(python: str) -> bool:
    return python == f"{sys.version_info.major}.{sys.version_info.minor}"


def compiled(files: Files) -> Files:
    """The bytecode of all sources among files; of one that does not compile, there is none."""
    with tempfile.TemporaryDirectory(prefix="tablewright-") as place:
        root = Path(place)
        for name, content in files.items():
            if name.endswith(".py"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
        command = [sys.executable, "-m", "compileall", "-q", "-q", "--invalidation-mode", "unchecked-hash"]
        command += ["-s", place, "-p", _ROOT, place]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": ""}
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, timeout=_WITHIN, check=False)
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.pyc"))}
