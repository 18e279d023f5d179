"""A system as it is deployed, on this machine: its functions in processes of their own, and what calls them.

    HTTP ──▶ gateway ──▶ Api, Admin               API Gateway's events
    streams of the engine ──▶ consumers           an event source mapping's batches
    clock ──▶ schedules                           EventBridge Scheduler's calls

Everything but the callers is what runs in an account: handlers, runtime interface, settings from variables. The tables
are those of an engine, which the functions reach by its endpoint.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tablewright.deploy.system_needs import ConsumerNeeds, FunctionNeeds, ScheduleNeeds, SystemNeeds
from tablewright.engine import Engine
from tablewright.model import Table
from tablewright.runtime.events.event_bridge import BRIDGE
from tablewright.runtime.functions.http_events import http_event, http_response
from tablewright.runtime.functions.local_functions import FunctionFailed, LocalFunctions

__all__ = ["LocalDeployment", "stream_event"]

_IDLE = 0.1
_AFTER_FAILURE = 1.0
_ADMIN = "/runtime/"
_STOPS_WITHIN = 10.0
_MAX_BODY = 6_000_000

_log = logging.getLogger(__name__)


class LocalDeployment:
    """The functions of a system; they run as long as it is entered. ``url`` is where the API is."""

    def __init__(
        self,
        needs: SystemNeeds,
        engine: Engine,
        variables: Mapping[str, str],
        *,
        own: Mapping[str, Mapping[str, str]] | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
        minute: float = 60.0,
        table_name: Callable[[Table], str] = lambda table: table.name,
    ) -> None:
        """``variables`` are those of all functions, ``own`` those of some, by name, such as their credentials.

        ``minute`` is how many seconds a minute of a schedule has.
        """
        self._minute = minute
        self._needs = needs
        self._engine = engine
        self._variables = variables
        self._own = own or {}
        self._address = address
        self._table_name = table_name
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.functions = LocalFunctions()

    def __enter__(self) -> Self:
        self.functions.__enter__()
        for function in self._needs.functions:
            self._add(function)
        self._gateway = _Gateway(self._address, self)
        self._begin(partial(self._gateway.serve_forever, 0.05))
        for consumer in self._needs.consumers:
            if consumer.function.name in self.functions.names:
                self._begin(partial(self._read, consumer))
        for schedule in self._needs.schedules:
            self._begin(partial(self._tick, schedule))
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._gateway.shutdown()
        self._gateway.server_close()
        self.functions.__exit__()
        for thread in self._threads:
            thread.join(_STOPS_WITHIN)

    @property
    def url(self) -> str:
        host, port = self._gateway.server_address[:2]
        return f"http://{host!s}:{port}"

    def _add(self, function: FunctionNeeds) -> None:
        variables = {
            **self._variables,
            "TABLEWRIGHT_SYSTEM": self._needs.place,
            **({"TABLEWRIGHT_WORK": function.work} if function.work else {}),
            **self._own.get(function.name, {}),
        }
        if function.work == BRIDGE and "TABLEWRIGHT_EVENT_BUS" not in variables:
            return
        self.functions.add(function.name, function.handler, variables)

    def _begin(self, work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    # -- requests -----------------------------------------------------------------------------------------------

    def answer(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the API answers to an event."""
        function = self._needs.admin if event["rawPath"].startswith(_ADMIN) else self._needs.api
        answer: Mapping[str, Any] = self.functions.call(function.name, event, function.seconds)
        return answer

    # -- streams ------------------------------------------------------------------------------------------------

    def _read(self, consumer: ConsumerNeeds) -> None:
        name = self._table_name(consumer.spec.table)
        iterators: dict[str, str | None] = {}
        while not self._stop.wait(_IDLE):
            try:
                arn = self._engine.call("DescribeTable", {"TableName": name})["Table"].get("LatestStreamArn")
                if arn is not None:
                    self._read_shards(consumer, arn, iterators)
            except FunctionFailed as error:
                if not self._stop.is_set():
                    _log.warning("a function failed, and will be called again: %s", error)
                self._stop.wait(_AFTER_FAILURE)
            except Exception as error:
                if self._stop.is_set():
                    return
                _log.error("a stream could not be read", exc_info=error)
                self._stop.wait(_AFTER_FAILURE)

    def _read_shards(self, consumer: ConsumerNeeds, arn: str, iterators: dict[str, str | None]) -> None:
        for shard in self._engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]:
            shard_id = shard["ShardId"]
            if shard_id not in iterators:
                asked = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
                iterators[shard_id] = self._engine.call("GetShardIterator", asked)["ShardIterator"]
            while (iterator := iterators[shard_id]) is not None and not self._stop.is_set():
                page = self._engine.call("GetRecords", {"ShardIterator": iterator, "Limit": consumer.spec.batch_size})
                if page["Records"]:
                    self._deliver(consumer, stream_event(arn, page["Records"]))
                # Only now: a batch that failed is delivered again.
                iterators[shard_id] = page.get("NextShardIterator")
                if not page["Records"]:
                    break

    def _deliver(self, consumer: ConsumerNeeds, event: Mapping[str, Any]) -> None:
        answer = self.functions.call(consumer.function.name, event, consumer.function.seconds)
        if answer["batchItemFailures"]:
            raise FunctionFailed(f"{consumer.spec.name} could not handle {answer['batchItemFailures']}")

    # -- schedules ----------------------------------------------------------------------------------------------

    def _tick(self, schedule: ScheduleNeeds) -> None:
        while not self._stop.wait(schedule.minutes * self._minute):
            try:
                self.functions.call(schedule.function.name, {}, schedule.function.seconds)
            except FunctionFailed as error:
                if not self._stop.is_set():
                    _log.warning("a schedule failed: %s", error)


def stream_event(arn: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records of a stream as Lambda hands them to a function."""
    return {"Records": [{**record, "eventSourceARN": arn} for record in records]}


class _Gateway(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], deployment: LocalDeployment) -> None:
        super().__init__(address, _Requests)
        self.deployment = deployment


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 60
    server: _Gateway

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > _MAX_BODY:
            self.send_error(413)
            return
        path, _, query = self.path.partition("?")
        event = http_event(self.command, path, query, self.headers.items(), self.rfile.read(length))
        try:
            status, headers, body = http_response(self.server.deployment.answer(event))
        except FunctionFailed as error:
            _log.error("a request failed: %s", error)
            status, headers, body = 502, [("content-type", "application/json")], b'{"message":"Internal Server Error"}'
        self.send_response(status)
        for name, value in headers:
            if name != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed: paths have personal data in them."""
