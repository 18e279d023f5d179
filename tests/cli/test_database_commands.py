"""The command line, as a user runs it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from tablewright import Engine, __version__
from tablewright.cli import main
from tablewright.cli.studio.listen_address import check_addresses
from tests.cli.commands import called, tablewright
from tests.cli.served_folders import KEY, SECRET, client, create_table, error_line
from tests.wire.raw_http import Client, request
from tests.wire.server_process import server_process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_data_survives_a_stop_and_a_start(tmp_path: Path, number: signal.Signals) -> None:
    data = str(tmp_path / "data")
    with server_process("--data", data) as (process, url):
        create_table(url)
        client(url).put_item(TableName="music", Item={"pk": {"S": "a"}})
        process.send_signal(number)
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    with server_process("--data", data) as (_, url):
        assert client(url).scan(TableName="music")["Items"] == [{"pk": {"S": "a"}}]


def test_a_request_under_way_is_answered_before_the_process_ends(tmp_path: Path) -> None:
    with server_process("--memory") as (process, url), Client(url) as connection:
        data = request()
        connection.send(data[:-1])
        assert Client(url).ask(request()).status == 200
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        assert connection.ask(data[-1:]).status == 200
        assert process.wait(10) == 0


def test_a_second_signal_ends_it_at_once() -> None:
    with server_process("--memory") as (process, url), Client(url) as connection:
        connection.send(request()[:-1])
        assert Client(url).ask(request()).status == 200
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(3) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_after_it_has_stopped_is_no_failure(number: signal.Signals) -> None:
    """Ctrl-C twice, where the first was enough."""
    with server_process("--memory") as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert any("stopped" in line for line in process.stdout)
        process.send_signal(number)
        assert process.wait(10) == 0


def test_the_default_is_a_folder_here_on_loopback(tmp_path: Path) -> None:
    with server_process(cwd=tmp_path) as (_, url):
        assert url.startswith("http://127.0.0.1:")
    assert (tmp_path / "data").is_dir()


def said(*arguments: str, cwd: Path | None = None) -> str:
    """All that a server prints between its start and its stop; the port is 0."""
    command = [sys.executable, "-m", "tablewright", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    assert process.stdout is not None
    try:
        first = [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=10)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    return re.sub(r"(http://\S+):\d+", r"\1:0", "".join([*first, rest]))


def test_it_says_where_it_is_how_to_use_it_and_when_it_has_stopped(tmp_path: Path) -> None:
    assert said("--data", "records", cwd=tmp_path) == (
        f"Tablewright serves {tmp_path}/records at http://127.0.0.1:0 (any credentials are accepted);"
        " Ctrl-C stops it\n"
        "Try: AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=us-east-1"
        " aws dynamodb list-tables --endpoint-url http://127.0.0.1:0\n"
        "Tablewright stopped\n"
    )


def test_it_says_when_it_keeps_nothing_and_when_it_verifies_signatures(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    assert said("--memory", "--credentials", "keys", cwd=tmp_path) == (
        "Tablewright serves a database in memory at http://127.0.0.1:0 (verifying signatures with keys);"
        " Ctrl-C stops it\n"
        "Try: AWS_DEFAULT_REGION=us-east-1 aws dynamodb list-tables --endpoint-url http://127.0.0.1:0\n"
        "Tablewright stopped\n"
    )


def test_an_address_that_stands_for_all_is_not_suggested() -> None:
    text = said("--memory", "--host", "0.0.0.0")
    assert "at http://0.0.0.0:0 " in text
    assert "--endpoint-url http://127.0.0.1:0\n" in text


def test_it_keeps_serving_when_its_output_is_closed() -> None:
    with server_process("--memory") as (process, url):
        assert process.stdout is not None
        process.stdout.close()
        assert client(url).list_tables()["TableNames"] == []
        process.terminate()
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_an_interruption_while_it_starts_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "open", interrupted)
    assert main(["serve", "--port", "0", "--data", str(tmp_path)]) == 130
    assert capsys.readouterr() == ("", "")


def test_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    with server_process("--memory", cwd=tmp_path) as (process, url):
        create_table(url)
        process.terminate()
        process.wait(10)
    assert list(tmp_path.iterdir()) == []


def test_credentials_are_verified_when_they_are_given(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    with server_process("--memory", "--credentials", str(file)) as (_, url):
        assert client(url).list_tables()["TableNames"] == []
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            client(url, "wrong").list_tables()


def test_a_session_token_of_the_file_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        "[company]\nsso_session = company\n\n"
        f"[session]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\naws_session_token = to/ken==\n"
    )
    with server_process("--memory", "--credentials", str(file)) as (_, url):
        assert client(url, token="to/ken==").list_tables()["TableNames"] == []
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            client(url).list_tables()


FAILING = """
import signal
import sys
from tablewright.cli import main
from tablewright.store import Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.engine.storage import data_folder

def fail(descriptor):
    raise OSError(5, "Input/output error")

def fails_from_now_on(*arguments):
    data_folder._sync_data = fail

signal.signal(signal.SIGUSR1, fails_from_now_on)
sys.exit(main(sys.argv[1:]))
"""


def test_a_failed_disk_ends_the_server_with_a_message(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FAILING, "serve", "--port", "0", "--data", str(tmp_path / "data")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+:\d+", process.stdout.readline())
        assert found
        create_table(found[0])
        process.send_signal(signal.SIGUSR1)
        with pytest.raises(ClientError, match="disk failed to sync"):
            client(found[0]).put_item(TableName="music", Item={"pk": {"S": "a"}})
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 1
    assert errors.splitlines()[-1] == (
        "tablewright: the disk failed to sync: [Errno 5] Input/output error; it is unknown which of the last "
        "writes are stored, and none of those was acknowledged: check the disk, then start again to read what is stored"
    )
    with server_process("--data", str(tmp_path / "data")) as (_, url):
        assert client(url).list_tables()["TableNames"] == ["music"]


def test_metrics_have_an_address_of_their_own(tmp_path: Path) -> None:
    with server_process("--data", str(tmp_path), "--metrics", "127.0.0.1:0") as (process, url):
        create_table(url)
        assert process.stdout is not None
        process.stdout.readline()
        found = re.fullmatch(r"Metrics are at (http://127\.0\.0\.1:\d+)/metrics\n", process.stdout.readline())
        assert found
        with Client(found[1]) as connection:
            response = connection.ask(request(b"", None, method=b"GET", path=b"/metrics", authorization=None))
        assert b'tablewright_requests_total{operation="CreateTable",status="200"} 1\n' in response.body
    for wrong in ("127.0.0.1", "127.0.0.1:x", ":70000"):
        assert "a port is a number" in error_line("serve", "--memory", "--metrics", wrong)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = error_line("serve", "--memory", "--port", "0", "--metrics", f":{port}")
        assert message.endswith("or choose another port with --metrics\n")


def test_regions_have_tables_of_their_own_if_asked_for(tmp_path: Path) -> None:
    def tables(url: str, region: str) -> list[str]:
        config = {"endpoint_url": url, "aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
        found: list[str] = boto3.client("dynamodb", region_name=region, **config).list_tables()["TableNames"]
        return found

    with server_process("--data", str(tmp_path / "one")) as (_, url):
        create_table(url)
        assert tables(url, "eu-west-1") == ["music"]
    with server_process("--data", str(tmp_path / "many"), "--by-region") as (_, url):
        create_table(url)
        assert (tables(url, "us-east-1"), tables(url, "eu-west-1")) == (["music"], [])
    assert error_line("serve", "--data", "one", "--port", "0", "--by-region", cwd=tmp_path) == (
        "tablewright: one has one set of tables for all regions; serve it without --by-region, or choose another"
        " folder\n"
    )
    assert error_line("serve", "--data", "many", "--port", "0", cwd=tmp_path) == (
        "tablewright: many has tables by region (eu-west-1, us-east-1); serve it with `tablewright serve --by-region`,"
        " or choose another folder\n"
    )
    # The systems would have made a second set of tables there.
    assert "many has tables by region" in error_line("up", "--data", "many", "--port", "0", cwd=tmp_path)
    for command in (["verify", "many"], ["scrub", "many"], ["backup", "--data", "many", "--to", "copies"]):
        assert error_line(*command, cwd=tmp_path) == (
            "tablewright: there is no Tablewright database in many: it has tables by region; give the folder of one,"
            " such as many/eu-west-1\n"
        )
    assert called("verify", str(tmp_path / "many" / "us-east-1")).returncode == 0


def test_web_pages_are_let_in_by_their_origin() -> None:
    with server_process("--memory", "--cors", "http://localhost:3000", "--cors", "https://app.example/") as (_, url):
        for origin, status in ((b"http://localhost:3000", 200), (b"https://app.example", 200), (b"null", 403)):
            with Client(url) as connection:
                assert connection.ask(request(origin=origin)).status == status
    assert error_line("serve", "--memory", "--cors", "localhost:3000") == (
        "tablewright serve: argument --cors: an origin is a scheme, a host and an optional port, such as"
        " http://localhost:3000, or * for all origins; not 'localhost:3000'; see tablewright serve --help\n"
    )


def test_listening_beyond_this_machine_without_credentials_is_warned_about(tmp_path: Path) -> None:
    with server_process("--memory", "--host", "0.0.0.0") as (process, _):
        process.terminate()
        _, errors = process.communicate(timeout=10)
    assert errors.startswith("tablewright: warning: listening on 0.0.0.0 with any credentials accepted")


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert error_line("serve", "--memory", "--port", port) == (
            f"tablewright: port {port} on 127.0.0.1 is in use; stop the program that uses it, or choose another port "
            "with --port\n"
        )


def test_no_folder_is_made_for_a_server_that_cannot_listen(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "is in use" in error_line("serve", "--port", str(taken.getsockname()[1]), cwd=tmp_path)
    assert "cannot listen" in error_line("serve", "--host", "192.0.2.1", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_is_not_ours_is_one_line() -> None:
    assert "cannot listen on 192.0.2.1:" in error_line("serve", "--memory", "--host", "192.0.2.1")
    assert "cannot listen on no.such.invalid:" in error_line("serve", "--memory", "--host", "no.such.invalid")


def test_a_host_that_cannot_be_one_is_one_line() -> None:
    assert error_line("serve", "--memory", "--host", "a..b") == (
        "tablewright: cannot listen on a..b:8000: not a host name\n"
    )
    assert "give an address, such as 0.0.0.0 for all of them" in error_line("serve", "--memory", "--host", "")


@pytest.mark.parametrize("option", ["--studio", "--metrics"])
def test_the_same_port_twice_is_refused_before_there_is_a_folder(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    for host in ("127.0.0.1", "0.0.0.0"):
        assert error_line("serve", "--host", host, "--port", port, option, f"127.0.0.1:{port}", cwd=tmp_path) == (
            f"tablewright: {option} and --port are both {port}; choose different ports\n"
        )
    assert list(tmp_path.iterdir()) == []


def test_a_port_may_be_used_twice_on_different_addresses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    check_addresses(("--port", "127.0.0.1", port), ("--metrics", "127.0.0.2", port))
    check_addresses(("--port", "127.0.0.1", 0), ("--metrics", "127.0.0.1", 0))


def test_a_metrics_address_that_is_taken_at_the_last_moment_is_reported_as_that(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tablewright.cli.database_commands.check_addresses", lambda *_: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--memory", "--port", "0", "--metrics", f"127.0.0.1:{port}"]) == 2
    text = capsys.readouterr().err
    assert f"port {port} on 127.0.0.1 is in use" in text
    assert text.endswith("with --metrics\n")


def test_verify_says_what_it_is_doing(tmp_path: Path) -> None:
    with server_process("--data", str(tmp_path / "data")) as (_, url):
        create_table(url)
    done = called("verify", "data", cwd=tmp_path)
    assert done.stdout == "data is intact: 1 table, 0 items, 0 index entries, 0 stream records\n"
    # The server was killed, and has left a log.
    steps = ("copying to read it (MB)", "verifying the structure", "verifying records")
    assert done.stderr == "".join(f"tablewright: {step}\n" for step in steps)


def test_a_folder_in_use_is_one_line(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with server_process("--data", data) as _:
        assert error_line("serve", "--port", "0", "--data", data).endswith("or choose another folder\n")
        assert error_line("verify", data).endswith("or use `tablewright scrub` to check it meanwhile\n")


def test_a_newer_storage_format_is_one_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with server_process("--data", str(data)) as (process, _):
        process.terminate()
        process.wait(10)
    with sqlite3.connect(data / "tablewright.db") as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    assert "newer version" in error_line("serve", "--port", "0", "--data", str(data))


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for data in ("file", "file/data"):
        assert error_line("serve", "--port", "0", "--data", data, cwd=tmp_path) == (
            f"tablewright: {tmp_path}/file is a file, not a folder\n"
        )
    assert error_line("verify", "file", cwd=tmp_path) == "tablewright: file is a file, not a folder\n"
    assert "the path of the data folder is empty" in error_line("serve", "--port", "0", "--data", "", cwd=tmp_path)
    assert "the path of the data folder is empty" in error_line("verify", "", cwd=tmp_path)
    assert "the path of the data folder is empty" in error_line("up", "--port", "0", "--data", "", cwd=tmp_path)
    assert error_line("up", "--port", "0", "--memory", "--data", "x", cwd=tmp_path) == (
        "tablewright: --memory stores nothing in x; give either --memory or --data\n"
    )
    assert "~nobody.at.all" in error_line("serve", "--port", "0", "--data", "~nobody.at.all/x", cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert f"serves {tmp_path}/records at " in said("--data", "~/records", cwd=tmp_path)
    assert called("verify", "~/records", cwd=tmp_path).returncode == 0
    assert f"cannot read the credentials file {tmp_path}/keys" in error_line("serve", "--credentials", "~/keys")
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "data folder" in error_line("serve", "--port", "0", "--data", str(tmp_path / "data"))


# Root may read everything, until it gives that up.
_AS_OTHERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


@pytest.mark.skipif(_AS_OTHERS != () and shutil.which("setpriv") is None, reason="root may read everything")
@pytest.mark.parametrize("closed", ["outer", "outer/data", "outer/data/tablewright.db", "outer/data/tablewright.lock"])
def test_what_may_not_be_read_is_one_line(tmp_path: Path, closed: str) -> None:
    Engine.open(tmp_path / "outer" / "data").close()
    mode = (tmp_path / closed).stat().st_mode
    (tmp_path / closed).chmod(0)
    try:
        for command in (("verify", "outer/data"), ("serve", "--port", "0", "--data", "outer/data")):
            result = subprocess.run(
                [*_AS_OTHERS, sys.executable, "-m", "tablewright", *command],
                capture_output=True,
                text=True,
                timeout=60,
                cwd=tmp_path,
            )
            assert (result.returncode, len(result.stderr.splitlines())) == (2, 1), result.stderr
            assert "outer" in result.stderr
            assert (
                "no permission" in result.stderr or "Permission denied" in result.stderr or "writable" in result.stderr
            )
    finally:
        (tmp_path / closed).chmod(mode)


def test_a_credentials_file_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert "cannot read the credentials file" in error_line("serve", "--memory", "--credentials", missing)


PORTS = "argument --port: a port is a number from 0 to 65535"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "tablewright: the following arguments are required: COMMAND; see tablewright --help"),
        (
            ["serve", "--frob"],
            "tablewright serve: unrecognized arguments: --frob; see tablewright serve --help",
        ),
        (["verify"], "tablewright verify: the following arguments are required: DIR; see tablewright verify --help"),
        (["serve", "--port", "abc"], f"tablewright serve: {PORTS}, not 'abc'; see tablewright serve --help"),
        (["serve", "--port", "65536"], f"tablewright serve: {PORTS}, not '65536'; see tablewright serve --help"),
        (["serve", "--port", "-1"], f"tablewright serve: {PORTS}, not '-1'; see tablewright serve --help"),
        (
            ["serve", "--memory", "--data", "x"],
            "tablewright serve: argument --data: not allowed with argument --memory; see tablewright serve --help",
        ),
        (["lnt"], "tablewright: unknown command 'lnt'; did you mean lint? tablewright --help lists all commands"),
        (["xyzzy"], "tablewright: unknown command 'xyzzy'; tablewright --help lists all commands"),
        (
            ["support", "exprt"],
            "tablewright support: unknown command 'exprt'; did you mean export? tablewright support --help lists "
            "all commands",
        ),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err == line + "\n"


def test_it_is_a_command_and_a_module() -> None:
    assert tablewright("--version").stdout == f"tablewright {__version__}\n"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_curl_line_of_the_documentation_works() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^(curl (?:.*\\\n)*.*)$", readme, re.MULTILINE)
    assert found
    with server_process("--memory") as (_, url):
        command = found[1].replace("http://127.0.0.1:8000", url)
        result = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=30, check=True)
    assert result.stdout == '{"TableNames":[]}'


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
        "assert not {name for name in loaded if not name.startswith('tablewright.cli')}, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
