"""The Makefile hands on what it is given."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("folder", ["data", "bob's", "my data", '"; exit 3; "'])
def test_a_data_folder_may_have_any_name(tmp_path: Path, folder: str) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    command = tmp_path / "tablewright"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    (tmp_path / "installed").touch()
    done = subprocess.run(
        ["make", "--silent", "up", f"BIN={tmp_path}", f"RUNTIME={tmp_path / 'installed'}", f"DATA={folder}", "PORT=90"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stdout.splitlines() == ["up", "--demo", "--data", folder, "--port", "90"], done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_up_says_what_it_does_before_it_installs(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    command = tmp_path / "tablewright"
    command.write_text("#!/bin/sh\necho up\n")
    command.chmod(0o755)
    made = [f"BIN={tmp_path}", f"RUNTIME={tmp_path / 'installed'}", "PIP=echo pip"]
    done = subprocess.run(["make", "--silent", "up", *made], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines() == [
        "Installing Tablewright with its systems into .venv: once, and when pyproject.toml changes",
        "pip --editable .[apps]",
        "up",
    ], done.stderr
    again = subprocess.run(["make", "--silent", "up", *made], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert again.stdout == "up\n"
