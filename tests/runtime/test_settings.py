"""Secrets of a data folder: one for everybody, whoever is first; and a damaged file is said to be one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablewright.runtime.settings import Secrets, Settings, SettingsError
from tablewright.runtime.system import Runtime
from tests.systems.harness import at_once

_MAKE = """
import sys
from pathlib import Path
from tablewright.runtime.settings import Secrets
secrets = Secrets(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
print(secrets.get("shared"), secrets.get(sys.argv[2]))
"""


def test_processes_that_make_a_secret_at_once_get_the_same_one_and_lose_none(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    names = [f"own-{number}" for number in range(4)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _MAKE, str(folder), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in names
    ]
    for process in processes:
        assert process.stdout is not None
        # All of them have seen that there is nothing yet.
        assert process.stdout.readline() == "ready\n"
    answers = [at.split() for at in at_once(4, lambda index: processes[index].communicate("go\n", timeout=30)[0])]
    kept = Secrets(folder)
    assert {shared for shared, _ in answers} == {kept.get("shared")}
    assert [own for _, own in answers] == [kept.get(name) for name in names]


def test_the_file_is_its_owners_alone_whatever_was_left_behind(tmp_path: Path) -> None:
    draft = tmp_path / "secrets.draft"
    draft.write_text("left by a crash")
    draft.chmod(0o666)
    Secrets(tmp_path).get("name")
    assert stat.S_IMODE(os.stat(tmp_path / "secrets.json").st_mode) == 0o600


def test_a_new_data_folder_is_its_owners_alone(tmp_path: Path) -> None:
    Secrets(tmp_path / "new").get("name")
    assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o700


@pytest.mark.parametrize("text", ["", "{", "[]", '{"issuer_key": 5}', "\xff"])
def test_a_damaged_file_is_not_replaced_but_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "secrets.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsError, match=r"secrets\.json is damaged"):
        Secrets(tmp_path)
    assert file.read_bytes() == text.encode("latin-1")


def test_processes_in_production_on_an_endpoint_have_to_be_given_what_they_share(tmp_path: Path) -> None:
    given: dict[str, Any] = {"mode": "production", "issuer": "https://i.example", "audience": "c", "data": tmp_path}
    given["endpoint"] = "http://127.0.0.1:1"
    secrets: dict[str, Any] = {"cursor_secret": "c", "privacy_secret": "p", "webhook_secret": "w"}
    for missing in (["cursor_secret"], ["privacy_secret"], ["webhook_secret"], list(secrets)):
        some = {name: secret for name, secret in secrets.items() if name not in missing}
        named = " and ".join(f"TABLEWRIGHT_{name.upper()}" for name in missing)
        with pytest.raises(SettingsError, match=f"set {named}$"):
            Runtime.open(Settings(**given, **some), [])
    Runtime.open(Settings(**given, **secrets), []).close()


def test_the_home_folder_is_the_same_for_the_database_and_for_what_is_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"data": "~/shop", "mail_folder": "~/mail"}
    settings = Settings(**given)
    assert (settings.data, settings.mail_folder) == (tmp_path / "home" / "shop", tmp_path / "home" / "mail")
    Runtime.open(settings, []).close()
    assert {"tablewright.db", "secrets.json"} <= {path.name for path in (tmp_path / "home" / "shop").iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_user_that_does_not_exist_has_no_home_folder() -> None:
    given: dict[str, Any] = {"data": "~no-such-user/shop"}
    with pytest.raises(ValueError, match="cannot use ~no-such-user/shop: Could not determine home directory"):
        Settings(**given)
