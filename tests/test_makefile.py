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


def _browser(tmp_path: Path, *, installs: bool, ci: bool) -> subprocess.CompletedProcess[str]:
    """What make says where there is no Chromium, and Playwright can or cannot get one."""
    venv = tmp_path / "venv"
    venv.mkdir()
    (venv / "installed").touch()
    commands = {
        "playwright": f"#!/bin/sh\necho playwright said $*\nexit {0 if installs else 1}\n",
        "id": "#!/bin/sh\necho 1000\n",
    }
    for name, text in commands.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    for name in ("sh", "touch", "grep"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    make = shutil.which("make")
    assert make is not None
    return subprocess.run(
        [
            make,
            "--silent",
            f"{venv}/.browser-installed",
            f"BIN={tmp_path}",
            f"VENV={venv}",
            f"DEV={venv / 'installed'}",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": str(tmp_path), "CI": "true" if ci else ""},
    )


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    ("installs", "ci", "code", "stamped"),
    [(True, True, 0, True), (True, False, 0, True), (False, False, 0, False), (False, True, 2, False)],
)
def test_a_machine_without_chromium_gets_one_and_only_ci_cannot_do_without(
    tmp_path: Path, installs: bool, ci: bool, code: int, stamped: bool
) -> None:
    done = _browser(tmp_path, installs=installs, ci=ci)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "venv" / ".browser-installed").exists() == stamped
    assert (tmp_path / "venv" / "browser.log").read_text() == "playwright said install chromium\n"
    assert ("tests of screens will be skipped" in done.stderr) == (not installs)
