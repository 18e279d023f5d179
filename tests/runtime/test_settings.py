"""Secrets of a data folder: one for everybody, whoever is first; and a damaged file is said to be one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablewright.cli import main
from tablewright.runtime.settings import Secrets, Settings, SettingsError
from tablewright.runtime.system import Runtime
from tablewright.systems import load
from tests.systems.harness import at_once, serving

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


def test_groups_are_mapped_to_roles_in_the_file_and_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mapped = {"Admins": ["tasks:Admins", "runtime:Admins"], 'a "desk"': ["servicedesk:Agents"]}
    text = """[roles]\nAdmins = ["tasks:Admins", "runtime:Admins"]\n'a "desk"' = ["servicedesk:Agents"]\n"""
    (tmp_path / "tablewright.toml").write_text(text)
    assert Settings().roles == mapped
    # What is printed can be saved, and is the same again.
    assert main(["config"]) == 0
    (tmp_path / "tablewright.toml").write_text(capsys.readouterr().out)
    assert Settings().roles == mapped
    monkeypatch.setenv("TABLEWRIGHT_ROLES", '{"Staff": ["tasks:Members"]}')
    assert Settings().roles["Staff"] == ["tasks:Members"]


def test_arguments_override_the_environment_which_overrides_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tablewright.toml").write_text('port = 1\nhost = "::1"\nrate_burst = 7\nroles = {a = ["tasks:Admins"]}\n')
    monkeypatch.setenv("tablewright_port", "2")
    monkeypatch.setenv("TABLEWRIGHT_HOST", "localhost")
    monkeypatch.setenv("TABLEWRIGHT_ROLES", '{"b": ["tasks:Members"]}')
    monkeypatch.setenv("TABLEWRIGHT_CORS_ORIGINS", "https://a.example, https://b.example")
    settings = Settings(host="127.0.0.1", memory=True)
    assert (settings.port, settings.host, settings.rate_burst, settings.memory) == (2, "127.0.0.1", 7, True)
    # Name by name.
    assert settings.roles == {"a": ["tasks:Admins"], "b": ["tasks:Members"]}
    assert settings.cors_origins == ["https://a.example", "https://b.example"]


def test_a_dictionary_in_the_environment_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEWRIGHT_ROLES", "{a}")
    with pytest.raises(SettingsError, match="TABLEWRIGHT_ROLES is not valid JSON: "):
        Settings()


@pytest.mark.parametrize("role", ["Admins", "tasks:", ":Admins", "tasks:Admins ", "Tasks:Admins", "tasks:a:b", ""])
def test_what_is_no_role_is_refused(role: str) -> None:
    given: dict[str, Any] = {"roles": {"Admins": [role]}}
    with pytest.raises(ValueError, match="is not a role: a role is system:Role, such as tasks:Admins"):
        Settings(**given)


def test_a_role_that_a_running_system_does_not_have_is_refused() -> None:
    given: dict[str, Any] = {"memory": True, "roles": {"Staff": ["tasks:Members", "tasks:Admin", "shop:Owners"]}}
    with pytest.raises(SettingsError, match=r"^TABLEWRIGHT_ROLES: there is no role tasks:Admin; .* tasks:Admins\?$"):
        Runtime.open(Settings(**given), load("tasks"))
    Runtime.open(Settings(**given), load("calls")).close()


def test_a_mapped_group_opens_what_its_roles_name() -> None:
    mapped = {"Staff": ["calls:Schedulers"], "Admins": ["tasks:Admins"]}
    with serving(load("calls", "tasks"), roles=mapped) as served:
        assert served.runtime.issuer is not None
        for group, statuses in (("Staff", [404, 403]), ("Admins", [403, 200]), ("Members", [403, 403])):
            headers = {"Authorization": f"Bearer {served.runtime.issuer.token('ada', roles=[group])}"}
            found = [served.client().get(path, headers=headers) for path in ("/calls/calls/c-1", "/tasks/users")]
            assert [each.status_code for each in found] == statuses
