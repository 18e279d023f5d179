"""Distributions for another machine: wheels, by pip, from where the user's pip gets them.

Every version is that of this environment, which is what the system was tested with; the same command gets the same
wheels again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

__all__ = ["ARCHITECTURES", "PackageError", "download", "pinned"]

# The tags of wheels that Lambda's and Fargate's Linux takes, newest first.
ARCHITECTURES = {
    "arm64": [f"manylinux_2_{minor}_aarch64" for minor in (34, 28, 27, 24, 17)] + ["manylinux2014_aarch64"],
    "x86_64": [f"manylinux_2_{minor}_x86_64" for minor in (34, 28, 27, 24, 17)] + ["manylinux2014_x86_64"],
}
_WITHIN = 600
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[(?P<extras>[^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


class PackageError(Exception):
    """A package that cannot be built; the message says what to do."""


def pinned(distributions: Iterable[str]) -> list[str]:
    """Requirements for distributions and all that they require, each with the version of this environment.

    What a distribution requires on this machine is what is installed here of it.
    """
    found: dict[str, str] = {}
    waiting = [(name, frozenset[str]()) for name in sorted(distributions)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = metadata.version(name)
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            if name in distributions:
                raise PackageError(f"{name} is not installed here, so its version is not known; install it") from None
            continue
        for text in required:
            match = _REQUIREMENT.match(text)
            wanted_for = _EXTRA.search(text)
            if match is not None and (wanted_for is None or wanted_for[1] in extras):
                asked = frozenset(each.strip() for each in (match["extras"] or "").split(",") if each.strip())
                waiting.append((_canonical(match["name"]), asked))
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def download(requirements: list[str], architecture: str, python: str, folder: Path) -> list[Path]:
    """Download the wheels of requirements for a machine; the files, in order."""
    if not requirements:
        return []
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--only-binary=:all:", "--no-deps", "--implementation", "cp", "--python-version", python]
    for abi in (f"cp{python.replace('.', '')}", "abi3", "none"):
        command += ["--abi", abi]
    for tag in ARCHITECTURES[architecture]:
        command += ["--platform", tag]
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), *requirements], capture_output=True, text=True, timeout=_WITHIN
        )
    except subprocess.TimeoutExpired:
        raise PackageError(f"pip did not download the wheels within {_WITHIN} seconds; try again") from None
    if done.returncode != 0:
        lines = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        reason = lines[0] if lines else f"exit code {done.returncode}"
        raise PackageError(f"pip cannot download the wheels for {architecture} and Python {python}: {reason}")
    return sorted(folder.glob("*.whl"))
