"""The same session with each of the AWS SDKs: every operation once, errors, paginators, waiters and streams.

    sdks/LANGUAGE/    a program that prints a line for each step
    sdks/expected.txt the lines, which are the same for all

boto3 is always here. The others are fetched and built in a temporary folder in the slow tier, where their tools are
installed; what cannot be fetched is skipped, what cannot be built or says something else fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tablewright.engine.operations import HANDLERS

PROGRAMS = Path(__file__).parent / "sdks"
EXPECTED = (PROGRAMS / "expected.txt").read_text("utf-8").splitlines()
COPY_LIBRARIES = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

FETCH, BUILD, RUN = 600, 1800, 120


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a language's program; the test's name begins with the language."""
    language = request.function.__name__.split("_")[1]
    return Path(shutil.copytree(PROGRAMS / language, tmp_path / language))


def ran(command: list[str], folder: Path, timeout: float, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def fetch(command: list[str], folder: Path) -> None:
    done = ran(command, folder, FETCH)
    if done.returncode != 0:
        pytest.skip(f"{command[0]} could not fetch the SDK: {(done.stderr or done.stdout).strip()[-300:]}")


def build(command: list[str], folder: Path, **environment: str) -> None:
    done = ran(command, folder, BUILD, **environment)
    assert done.returncode == 0, done.stderr


def assert_session(command: list[str], folder: Path, url: str, **environment: str) -> None:
    done = ran([*command, url], folder, RUN, **environment)
    assert done.stdout.splitlines() == EXPECTED, done.stderr
    assert done.returncode == 0, done.stderr


def test_the_session_has_every_operation() -> None:
    steps = {line.partition(":")[0] for line in EXPECTED}
    missing = sorted(HANDLERS.keys() - steps)
    assert missing == [], "add them to expected.txt, and to the programs beside it"


def test_python_sdk(tablewright_server: str, project: Path) -> None:
    assert_session([sys.executable, "session.py"], project, tablewright_server)


@needs("npm", "node")
def test_javascript_sdk(tablewright_server: str, project: Path) -> None:
    """As it is installed for all programs, if it is."""
    modules = os.environ.get("NODE_PATH") or ran(["npm", "root", "--global"], project, 60).stdout.strip()
    folders = [Path(folder) / "@aws-sdk" for folder in modules.split(os.pathsep)]
    for package in ("client-dynamodb", "client-dynamodb-streams"):
        if not any((folder / package).is_dir() for folder in folders):
            pytest.skip("the JavaScript SDK is not installed")
    assert_session(["node", "session.js"], project, tablewright_server, NODE_PATH=modules)


@pytest.mark.slow
@pytest.mark.timeout(FETCH + RUN)
@needs("npm", "node")
def test_javascript_sdk_as_npm_installs_it(tablewright_server: str, project: Path) -> None:
    fetch(["npm", "install", "--no-audit", "--no-fund"], project)
    assert_session(["node", "session.js"], project, tablewright_server)


@pytest.mark.slow
@pytest.mark.timeout(FETCH + RUN)
@needs("mvn", "java", "javac")
def test_java_sdk(tablewright_server: str, project: Path) -> None:
    fetch(["mvn", "-B", "-q", COPY_LIBRARIES, "-DincludeScope=runtime", "-DoutputDirectory=libraries"], project)
    # A program of one file is compiled when it is run.
    assert_session(["java", "-cp", "libraries/*", "Session.java"], project, tablewright_server)


@pytest.mark.slow
@pytest.mark.timeout(FETCH + BUILD + RUN)
@needs("go")
def test_go_sdk(tablewright_server: str, project: Path) -> None:
    fetch(["go", "mod", "tidy"], project)
    build(["go", "build", "-o", "session", "."], project)
    assert_session(["./session"], project, tablewright_server)


@pytest.mark.slow
@pytest.mark.timeout(FETCH + BUILD + RUN)
@needs("cargo")
def test_rust_sdk(tablewright_server: str, project: Path) -> None:
    fetch(["cargo", "fetch"], project)
    build(["cargo", "build", "--offline", "--quiet"], project, CARGO_BUILD_JOBS="1", CARGO_TARGET_DIR="target")
    assert_session(["target/debug/session"], project, tablewright_server)
