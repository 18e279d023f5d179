"""`tablewright up`: one process with everything, which stops cleanly and finds its data again."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import httpx
import pytest

from tablewright.engine import Engine
from tablewright.runtime.http.serve import serve, wants_demo
from tablewright.runtime.identity.local_issuer import LocalIssuer
from tablewright.runtime.internal_tables import events_table
from tablewright.runtime.settings import Secrets, Settings
from tablewright.runtime.system import Runtime
from tablewright.systems import NAMES, load
from tablewright.wire import serve_in_thread
from tests.cli.commands import called
from tests.runtime.commands import issued, up

OWN_SYSTEM = """
from fastapi import APIRouter

from tablewright.model import Design, Table
from tablewright.runtime import System

design = Design("Things", tables=[Table("things", "PK")])
system = System("mine", "Mine", "A system of our own.", design, APIRouter(), service=lambda runtime: object())
"""


def tickets(url: str, token: str) -> list[str]:
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{url}/servicedesk/tickets", params={"caller": "poc-user-001"}, headers=headers)
    assert answer.status_code == 200, answer.text
    return [ticket["ticket_id"] for ticket in answer.json()["tickets"]]


@pytest.mark.requirement("X1")
def test_it_comes_up_with_demo_data_and_finds_it_again(tmp_path: Path) -> None:
    token = issued(tmp_path, "sam", "servicedesk:Agents")
    with up("--demo", cwd=tmp_path) as (process, url):
        assert httpx.get(f"{url}/readyz").json()["status"] == "ready"
        assert [each["name"] for each in httpx.get(f"{url}/systems.json").json()] == list(NAMES)
        assert "Tablewright" in httpx.get(url, follow_redirects=True).text
        assert "Tablewright" in httpx.get(f"{url}/api").text
        for name in NAMES:
            assert httpx.get(f"{url}/{name}/docs").status_code == 200
            assert httpx.get(f"{url}/{name}/openapi.json").json()["paths"]
        first = tickets(url, token)
        assert len(first) == 2
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out.strip()) == (0, "Tablewright stopped")
    with up("--demo", cwd=tmp_path) as (process, url):
        assert tickets(url, token) == first
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0


@pytest.mark.requirement("X1")
def test_demo_data_is_never_mixed_into_data_that_is_there(tmp_path: Path) -> None:
    token = issued(tmp_path, "sam", "servicedesk:Agents")
    with up("--system", "servicedesk", cwd=tmp_path) as (process, url):
        assert tickets(url, token) == []
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    with up("--demo", "--system", "servicedesk", cwd=tmp_path) as (process, url):
        assert tickets(url, token) == []
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert "the tables exist already; no demo data is added" in errors


@pytest.mark.slow
@pytest.mark.requirement("X2")
def test_demo_data_goes_into_an_endpoint_that_is_new_whatever_the_data_folder_has_seen(tmp_path: Path) -> None:
    token = issued(tmp_path, "sam", "servicedesk:Agents")
    with up("--demo", "--system", "servicedesk", cwd=tmp_path) as (_, url):
        assert len(tickets(url, token)) == 2
    with Engine.open() as engine, serve_in_thread(engine) as endpoint:
        for _ in range(2):
            with up("--demo", "--system", "servicedesk", "--endpoint", endpoint, cwd=tmp_path) as (_, url):
                assert len(tickets(url, token)) == 2


def test_demo_data_is_wanted_still_when_the_first_start_was_cut_short_before_there_were_tables(tmp_path: Path) -> None:
    systems = load("servicedesk")
    for _ in range(2):
        runtime = Runtime.open(Settings.model_validate({"data": tmp_path}), systems)
        try:
            assert asyncio.run(wants_demo(runtime, systems))
            # As far as it came.
            runtime.sync_store.ensure_tables(events_table, *systems[0].tables)
        finally:
            runtime.close()


class InterruptedSteps:
    """Ctrl-C at the moment before the server listens to signals itself."""

    def begin(self, what: str) -> None:
        if what == "starting":
            signal.raise_signal(signal.SIGINT)

    def update(self, what: str, done: int, total: int) -> None: ...

    def end(self) -> None: ...


def test_a_ctrl_c_before_the_server_begins_ends_the_start_and_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    systems = load("calls")
    runtime = Runtime.open(Settings.model_validate({"memory": True, "port": 0}), systems)
    with pytest.raises(KeyboardInterrupt):
        serve(runtime, systems, demo=False, steps=InterruptedSteps())
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


@pytest.mark.requirement("X2")
def test_the_same_systems_run_on_an_endpoint_by_configuration_alone(tmp_path: Path) -> None:
    token = issued(tmp_path, "sam", "servicedesk:Agents")
    with Engine.open() as engine, serve_in_thread(engine) as endpoint:
        with up("--demo", "--endpoint", endpoint, cwd=tmp_path) as (process, url):
            first = tickets(url, token)
            assert len(first) == 2
            assert not (tmp_path / "data" / "tablewright.db").exists()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            assert process.returncode == 0
        # By the environment, and with another process on the same tables.
        settings = {"TABLEWRIGHT_ENDPOINT": endpoint, "TABLEWRIGHT_REGION": "us-east-1"}
        with up("--system", "servicedesk", cwd=tmp_path, **settings) as (_, url):
            assert tickets(url, token) == first


@pytest.mark.requirement("X2")
def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused = called("up", "--port", "0", "--endpoint", "http://127.0.0.1:9", cwd=tmp_path)
    assert refused.returncode == 2
    assert "http://127.0.0.1:9" in refused.stderr


def test_a_system_that_is_named_twice_runs_once_and_one_of_your_own_beside_it(tmp_path: Path) -> None:
    (tmp_path / "things.py").write_text(OWN_SYSTEM)
    wanted = ("--system", "calls", "--system", "calls", "--system", "things")
    with up("--memory", *wanted, cwd=tmp_path) as (_, url):
        assert [each["name"] for each in httpx.get(f"{url}/systems.json").json()] == ["calls", "mine"]


def test_one_system_can_run_alone(tmp_path: Path) -> None:
    with up("--system", "servicedesk", "--memory", cwd=tmp_path) as (_, url):
        assert [each["name"] for each in httpx.get(f"{url}/systems.json").json()] == ["servicedesk"]
    refused = called("up", "--system", "desk", cwd=tmp_path)
    assert refused.returncode == 2
    assert "unknown system desk; choose from servicedesk" in refused.stderr


def test_a_connection_is_kept_as_long_as_the_setting_says(tmp_path: Path) -> None:
    """A load balancer that keeps it for longer would send requests on a connection that is being closed."""
    with up("--memory", "--system", "servicedesk", cwd=tmp_path, TABLEWRIGHT_KEEP_ALIVE="1") as (_, url):
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=4) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: " + parts.netloc.encode() + b"\r\n\r\n")
            received = b""
            # Until the end, which by default takes five seconds: that would be too late.
            while part := connection.recv(4096):
                received += part
            assert received.startswith(b"HTTP/1.1 200")


def test_tokens_are_shown_in_development_to_this_machine_only(tmp_path: Path) -> None:
    with up("--memory", "--system", "servicedesk", cwd=tmp_path) as (_, url):
        shown = httpx.get(f"{url}/tokens.json")
        assert {"voice-agent"} <= {each["user"] for each in shown.json()}
        assert httpx.get(f"{url}/tokens.json", headers={"Host": "evil.example"}).status_code == 404


def test_production_needs_an_issuer_and_mints_no_tokens(tmp_path: Path) -> None:
    refused = called("up", "--port", "0", cwd=tmp_path, TABLEWRIGHT_MODE="production")
    assert refused.returncode == 2
    assert "production needs an issuer of tokens: set TABLEWRIGHT_ISSUER" in refused.stderr
    assert "development mode only" in called("token", "--user", "x", cwd=tmp_path, TABLEWRIGHT_MODE="production").stderr


def test_settings_come_from_the_environment_before_the_file_and_secrets_are_not_printed(tmp_path: Path) -> None:
    (tmp_path / "tablewright.toml").write_text('port = 9000\nhost = "::1"\nsmtp_url = "smtp://u:hunter2@mail"\n')
    printed = called("config", "--json", cwd=tmp_path, TABLEWRIGHT_PORT="9001")
    settings = json.loads(printed.stdout)
    assert (settings["port"], settings["host"], settings["smtp_url"]) == (9001, "::1", "**********")
    plain = called("config", cwd=tmp_path).stdout
    assert re.search(r"^port = 9000 +# port to listen on", plain, re.MULTILINE)
    assert "hunter2" not in plain


def test_the_printed_settings_can_be_used_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "tablewright.toml").write_text(
        'port = 9000\nmail_from = "\\"Ö\\u007f\\" <a@b>"\nextensions = ["one", "two"]\nsmtp_url = "smtp://mail"\n'
    )
    expected = called("config", "--json", cwd=tmp_path).stdout
    printed = called("config", cwd=tmp_path).stdout
    assert "smtp_url" not in tomllib.loads(printed)
    (tmp_path / "tablewright.toml").write_text(printed + 'smtp_url = "smtp://mail"\n')
    assert called("config", "--json", cwd=tmp_path).stdout == expected


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("TABLEWRIGHT_PORT", "many", "TABLEWRIGHT_PORT (or port in tablewright.toml): "),
        ("TABLEWRIGHT_SMTP_URL", "http://mail", "TABLEWRIGHT_SMTP_URL: give the mail server as smtp://host:port"),
        ("TABLEWRIGHT_ISSUER", "https://pool", "set TABLEWRIGHT_AUDIENCE"),
        ("TABLEWRIGHT_PROT", "9000", "there is no setting TABLEWRIGHT_PROT; did you mean TABLEWRIGHT_PORT?"),
        ("tablewright_hosts", "::1", "there is no setting tablewright_hosts; did you mean TABLEWRIGHT_HOST?"),
        ("TABLEWRIGHT_X", "1", "there is no setting TABLEWRIGHT_X; `tablewright config` prints all of them"),
    ],
)
def test_a_setting_that_cannot_be_is_named(tmp_path: Path, name: str, value: str, told: str) -> None:
    refused = called("up", *(() if name == "TABLEWRIGHT_PORT" else ("--port", "0")), cwd=tmp_path, **{name: value})
    assert refused.returncode == 2
    assert told in refused.stderr


def test_the_key_of_the_issuer_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    LocalIssuer(Secrets(tmp_path / "data"))
    assert called("token", "--user", "a", cwd=tmp_path).returncode == 0
    assert (tmp_path / "data" / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_other_tools_use_the_tables_through_an_endpoint_of_their_own(tmp_path: Path) -> None:
    token = issued(tmp_path, "sam", "servicedesk:Agents")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    arguments = ("--demo", "--system", "servicedesk", "--dynamodb-port", str(port))
    with up(*arguments, cwd=tmp_path) as (process, url):
        client = boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        stored = client.scan(TableName="poc-itsm-tickets")["Items"]
        assert {item["ticket_id"]["S"] for item in stored} >= set(tickets(url, token))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0


def test_the_endpoint_is_for_the_embedded_engine_in_development(tmp_path: Path) -> None:
    told = called("up", "--port", "0", "--dynamodb-port", "0", "--endpoint", "http://127.0.0.1:9", cwd=tmp_path)
    assert "--dynamodb-port is for the embedded engine" in told.stderr
    told = called("up", "--port", "0", "--dynamodb-port", "0", cwd=tmp_path, TABLEWRIGHT_MODE="production")
    assert "--dynamodb-port is for development" in told.stderr
    told = called("up", "--port", "8123", "--dynamodb-port", "8123", cwd=tmp_path)
    assert told.stderr == "tablewright: --dynamodb-port and --port are both 8123; choose different ports\n"
    assert list(tmp_path.iterdir()) == []
