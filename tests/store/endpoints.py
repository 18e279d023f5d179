"""The endpoints that the suite of the store runs on, and where they answer otherwise than DynamoDB.

    embedded         the engine in this process
    own_server       our own server, over HTTP
    moto_server      moto's server                    (slow tier)
    dynoxide         dynoxide, where it is installed  (slow tier): $DYNOXIDE, on the path, or there since `make bench`
    dynamodb_local   Amazon's DynamoDB Local          (slow tier): fetched by Maven, skipped where it cannot be had

Nothing else is downloaded. A test that shows a known difference is expected to fail there; it is noticed when it does
not.
"""

from __future__ import annotations

import atexit
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from urllib.request import urlopen

import pytest

from benchmarks import dynamodb_local as local
from benchmarks import servers
from benchmarks.cache import CACHE
from tablewright.engine import Engine
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.flow.driver import Backend
from tablewright.wire import serve_in_thread

_OF_THE_BENCHMARKS = CACHE / "peers" / "node_modules" / "@dynoxide"
DYNOXIDE = (
    os.environ.get("DYNOXIDE")
    or shutil.which("dynoxide")
    or next((str(found) for found in _OF_THE_BENCHMARKS.glob("*/dynoxide")), None)
)

OURS = ["embedded", "own_server"]
ENDPOINTS = [
    *OURS,
    pytest.param("moto_server", marks=pytest.mark.slow),
    *([pytest.param("dynoxide", marks=pytest.mark.slow)] if DYNOXIDE else []),
    # The first test of a session fetches it.
    pytest.param("dynamodb_local", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
]

# Where an endpoint answers otherwise than DynamoDB: the tests that show it.
KNOWN_DIFFERENCES: dict[str, dict[str, str]] = {
    "moto_server": {
        "test_a_local_index_that_has_part_of_an_item_leads_to_the_whole": "ALL_ATTRIBUTES is ignored for local indexes",
        "test_a_local_index_is_scanned_for_whole_items": "ALL_ATTRIBUTES is ignored for local indexes",
        "test_a_partial_read_is_charged_for_the_whole_item": "every read takes half a unit",
        "test_a_stream_that_is_switched_on_anew_comes_after_the_old_one": "a stream is switched on once only",
    },
    "dynoxide": {
        "test_a_local_index_is_scanned_for_whole_items": "ALL_ATTRIBUTES is ignored in scans of local indexes",
        "test_a_partial_read_is_charged_for_the_whole_item": "what is not projected is not charged",
        "test_keys_of_several_attributes": "an index key has one attribute on either side",
        "test_a_stream_that_is_switched_on_anew_comes_after_the_old_one": "a stream that is switched off is gone",
    },
    "dynamodb_local": {
        **dict.fromkeys(
            [
                "test_a_missing_table_is_created_with_everything_that_the_model_says",
                "test_a_second_time_there_is_nothing_to_do",
                "test_what_only_adds_is_applied_one_index_at_a_time",
                "test_a_changed_tag_is_set_and_others_are_left_alone",
            ],
            "there are no tags",
        ),
        "test_a_key_that_is_too_long_is_refused_with_the_limits": "a key that is too long is refused in other words",
    },
}

# Tests of transactions at the same time, which moto does not keep apart: one that is cancelled puts back the tables as
# they were when it began, with all that others have written since.
NOT_ISOLATED = {"moto_server": {"test_of_many_at_once_each_has_its_own_number_and_lines"}}

_numbers = count(1)


def expect_known_differences(request: pytest.FixtureRequest, endpoint: str) -> None:
    if request.function.__name__ in NOT_ISOLATED.get(endpoint, ()):
        pytest.skip(f"transactions on {endpoint} are not isolated")
    difference = KNOWN_DIFFERENCES.get(endpoint, {}).get(request.function.__name__)
    if difference is not None:
        request.applymarker(pytest.mark.xfail(reason=difference, strict=True))


@contextmanager
def started(endpoint: str, engine: Engine) -> Iterator[Backend]:
    """An endpoint with nothing in it; the first two are the engine."""
    if endpoint == "embedded":
        yield EmbeddedBackend(engine, owned=False)
    elif endpoint == "own_server":
        with serve_in_thread(engine) as url, _connected(url) as backend:
            yield backend
    else:
        with PEERS[endpoint]() as backend:
            yield backend


@contextmanager
def moto_url() -> Iterator[str]:
    """The address of a server of moto's, which has DynamoDB and S3."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@contextmanager
def moto_server() -> Iterator[Backend]:
    with moto_url() as url:
        # All of moto's servers in a process share one state.
        urlopen(f"{url}/moto-api/reset", data=b"").close()
        with _connected(url) as backend:
            yield backend


@contextmanager
def dynoxide() -> Iterator[Backend]:
    assert DYNOXIDE is not None
    with servers.started("dynoxide", [DYNOXIDE]) as server, _connected(f"http://127.0.0.1:{server.port}") as backend:
        yield backend


@contextmanager
def dynamodb_local() -> Iterator[Backend]:
    server = _dynamodb_local_server()
    if isinstance(server, str):
        pytest.skip(f"DynamoDB Local is not here: {server}")
    # An access key that nobody had before has no tables.
    with _connected(f"http://127.0.0.1:{server.port}", access_key=f"test{next(_numbers)}") as backend:
        yield backend


@cache
def _dynamodb_local_server() -> servers.Server | str:
    """One process for all tests, because a Java machine starts slowly; or why there is none."""
    try:
        command = local.command()
    except local.NotHereError as missing:
        return str(missing)
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(servers.started("DynamoDB Local", command))


PEERS = {"moto_server": moto_server, "dynoxide": dynoxide, "dynamodb_local": dynamodb_local}


@contextmanager
def _connected(url: str, access_key: str = "test") -> Iterator[Backend]:
    options = {"aws_access_key_id": access_key, "aws_secret_access_key": "test"}
    backend = EndpointBackend("us-east-1", url, options)
    yield backend
    backend.close()
