"""The files of examples/settings, as a shell reads them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "settings"


def variables_of(text: str) -> dict[str, str]:
    """The variables that a file sets."""
    done = subprocess.run(
        ["sh", "-c", f"set -a\n{text}\nset +a\nenv -0"], env={}, capture_output=True, text=True, timeout=10, check=True
    )
    found = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    return {name: value for name, value in found.items() if name.startswith(("TABLEWRIGHT_", "AWS_"))}


def with_all_settings(text: str) -> str:
    """A file with the settings in it that are only shown, as comments."""
    return re.sub(r"(?m)^# (?=(?:TABLEWRIGHT|AWS)_\w+=)", "", text)
