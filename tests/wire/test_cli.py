"""The command line, as a user runs it."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tablewright import __version__
from tablewright.cli import main
from tests.wire.http import Client, request

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@contextmanager
def serving(*arguments: str, cwd: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its URL."""
    command = [sys.executable, "-m", "tablewright.cli", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", line)
        assert found, f"{line!r}, {process.stderr and process.stderr.read()}"
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def client(url: str, secret: str = SECRET) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )


def create_table(url: str) -> None:
    client(url).create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tablewright.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=cwd, check=False)


def refusal(*arguments: str) -> str:
    """The one line that a refused command prints."""
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_data_survives_a_stop_and_a_start(tmp_path: Path, number: signal.Signals) -> None:
    data = str(tmp_path / "data")
    with serving("--data", data) as (process, url):
        create_table(url)
        client(url).put_item(TableName="music", Item={"pk": {"S": "a"}})
        process.send_signal(number)
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    with serving("--data", data) as (_, url):
        assert client(url).scan(TableName="music")["Items"] == [{"pk": {"S": "a"}}]


def test_a_request_under_way_is_answered_before_the_process_ends(tmp_path: Path) -> None:
    with serving("--memory") as (process, url), Client(url) as connection:
        data = request()
        connection.send(data[:-1])
        assert Client(url).ask(request()).status == 200
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        assert connection.ask(data[-1:]).status == 200
        assert process.wait(10) == 0


def test_a_second_signal_ends_it_at_once() -> None:
    with serving("--memory") as (process, url), Client(url) as connection:
        connection.send(request()[:-1])
        assert Client(url).ask(request()).status == 200
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(3) == 0


def test_the_default_is_a_folder_here_on_loopback(tmp_path: Path) -> None:
    with serving(cwd=tmp_path) as (_, url):
        assert url.startswith("http://127.0.0.1:")
    assert (tmp_path / "data").is_dir()


def test_one_line_says_where_it_is_and_how_to_use_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tablewright.cli", "serve", "--port", "0", "--data", "records"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert re.fullmatch(
        r"Tablewright serves records at (http://127\.0\.0\.1:\d+)"
        r" - try: aws dynamodb list-tables --endpoint-url \1\n",
        line,
    )


def test_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    with serving("--memory", cwd=tmp_path) as (process, url):
        create_table(url)
        process.terminate()
        process.wait(10)
    assert list(tmp_path.iterdir()) == []


def test_credentials_are_verified_when_they_are_given(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    with serving("--memory", "--credentials", str(file)) as (_, url):
        assert client(url).list_tables()["TableNames"] == []
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            client(url, "wrong").list_tables()


def test_listening_beyond_this_machine_without_credentials_is_warned_about(tmp_path: Path) -> None:
    with serving("--memory", "--host", "0.0.0.0") as (process, _):
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert errors.startswith("tablewright: warning: listening on 0.0.0.0 with any credentials accepted")


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert refusal("serve", "--memory", "--port", port) == (
            f"tablewright: port {port} of 127.0.0.1 is in use; stop what uses it, or choose another with --port\n"
        )


def test_an_address_that_is_not_ours_is_one_line() -> None:
    assert "cannot listen on 192.0.2.1:" in refusal("serve", "--memory", "--host", "192.0.2.1")
    assert "cannot listen on no.such.invalid:" in refusal("serve", "--memory", "--host", "no.such.invalid")


def test_a_folder_in_use_is_one_line(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serving("--data", data) as _:
        for command in (["serve", "--port", "0", "--data", data], ["verify", data]):
            assert "is in use" in refusal(*command)


def test_a_newer_storage_format_is_one_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving("--data", str(data)) as (process, _):
        process.terminate()
        process.wait(10)
    with sqlite3.connect(data / "tablewright.db") as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    assert "newer version" in refusal("serve", "--port", "0", "--data", str(data))


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "data folder" in refusal("serve", "--port", "0", "--data", str(tmp_path / "file" / "data"))


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "data folder" in refusal("serve", "--port", "0", "--data", str(tmp_path / "data"))


def test_a_credentials_file_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert "cannot read the credentials file" in refusal("serve", "--memory", "--credentials", missing)


@pytest.mark.parametrize("arguments", [[], ["serve", "--port", "70000"], ["serve", "--memory", "--data", "x"]])
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: tablewright" in capsys.readouterr().err


def test_verify_reports_what_it_proved(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serving("--data", data) as (process, url):
        create_table(url)
        client(url).put_item(TableName="music", Item={"pk": {"S": "a"}})
        process.terminate()
        process.wait(10)
    result = run("verify", data)
    assert result.returncode == 0
    assert result.stdout == f"{data} is whole: 1 tables, 1 items, 0 index entries, 0 stream records\n"
    assert "there is no data folder" in refusal("verify", str(tmp_path / "missing"))


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"tablewright {__version__}\n"


def test_help_loads_neither_engine_nor_server() -> None:
    code = (
        "import sys, tablewright.cli\n"
        "heavy = ('tablewright.', 'botocore', 'asyncio')\n"
        "loaded = {name for name in sys.modules if name.startswith(heavy)}\n"
        "assert loaded == {'tablewright.cli'}, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
