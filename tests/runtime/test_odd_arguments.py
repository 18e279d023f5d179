"""Arguments and settings that cannot work: one line that says what to do, and exit code 2."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.cli import main
from tablewright.runtime.identity.local_issuer import LocalIssuer
from tablewright.runtime.settings import Secrets


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    # `up` logs in its own way from then on.
    root.handlers[:] = handlers
    root.setLevel(level)


def _refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    told = capsys.readouterr().err.splitlines()
    assert "Traceback" not in "".join(told)
    return told[-1]


@pytest.mark.parametrize("user", ["", "x" * 256, "\udcff"])
def test_a_token_for_a_user_id_that_fits_no_key_is_refused(capsys: pytest.CaptureFixture[str], user: str) -> None:
    assert "--user" in _refusal(capsys, "token", "--user", user)


@pytest.mark.parametrize("text", ["{", '{"issuer_key": "no key"}'])
@pytest.mark.parametrize("command", [("token", "--user", "ada"), ("up", "--port", "0")])
def test_damaged_secrets_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, command: tuple[str, ...]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secrets.json").write_text(text)
    assert "damaged" in _refusal(capsys, *command)


@pytest.mark.parametrize("endpoint", ["nowhere", "http://", "ftp://host", "http://host:99999", "http://[::1"])
def test_an_invalid_endpoint_is_refused(capsys: pytest.CaptureFixture[str], endpoint: str) -> None:
    assert "http://host:port" in _refusal(capsys, "up", "--port", "0", "--endpoint", endpoint)


def test_an_endpoint_without_credentials_is_a_refusal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert "credentials" in _refusal(capsys, "up", "--port", "0", "--endpoint", "http://127.0.0.1:1")


def test_a_settings_file_that_is_named_has_to_be_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (tmp_path / "missing.toml", tmp_path):
        monkeypatch.setenv("TABLEWRIGHT_CONFIG", str(name))
        assert "is not a file" in _refusal(capsys, "config")


def test_a_settings_file_that_cannot_be_read_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A file that even those who may read any cannot read from its beginning.
    monkeypatch.setenv("TABLEWRIGHT_CONFIG", "/proc/self/mem")
    assert _refusal(capsys, "config").startswith("tablewright: /proc/self/mem cannot be read: ")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("port = ")
    monkeypatch.setenv("TABLEWRIGHT_CONFIG", str(wrong))
    assert _refusal(capsys, "config").startswith(f"tablewright: {wrong} cannot be read: ")


def test_a_note_of_demo_data_that_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "data" / "demo").mkdir(parents=True)
    told = _refusal(capsys, "up", "--port", "0", "--demo", "--system", "servicedesk")
    assert told.startswith("tablewright: data/demo cannot be used: ")


def test_a_data_folder_that_is_a_file_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no folder")
    told = _refusal(capsys, "up", "--port", "0", "--data", "notes.txt")
    assert told == "tablewright: the data folder notes.txt cannot be used: it is a file; choose another with --data"


def test_a_token_needs_an_existing_signing_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = _refusal(capsys, "token", "--user", "ada")
    assert told.startswith(
        "tablewright: there is no key in data to sign a token with; run `tablewright up` on it first,"
    )
    assert list(tmp_path.iterdir()) == []
    Secrets(tmp_path / "data").get("cursor_secret")  # of production, say, which has no issuer
    assert "there is no key in data" in _refusal(capsys, "token", "--user", "ada")


@pytest.mark.parametrize(
    ("name", "advice"), [("prot", "did you mean port?"), ("xyzzy", "`tablewright config` prints all of them")]
)
def test_a_setting_that_does_not_exist_is_refused_with_the_nearest_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, advice: str
) -> None:
    (tmp_path / "tablewright.toml").write_text(f"{name} = 9000\n")
    assert _refusal(capsys, "config") == f"tablewright: there is no setting {name}; {advice}"


def test_other_variables_of_ours_are_no_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TABLEWRIGHT_METER", str(tmp_path / "charges"))
    assert main(["config"]) == 0


def test_a_role_that_no_system_has_is_pointed_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    LocalIssuer(Secrets(tmp_path / "data"))
    assert main(["token", "--user", "ada", "--role", "tasks:Admins", "--role", "tasks:Member"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count(".") == 2
    assert printed.err.startswith(
        "tablewright: warning: no system has the role tasks:Member; did you mean tasks:Members"
    )
