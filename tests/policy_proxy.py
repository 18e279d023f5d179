"""Proxies that enforce IAM policies, by access key: ``PolicyProxy`` in front of a DynamoDB endpoint.

    with Engine.open() as engine, serve_in_thread(engine) as url, PolicyProxy(url) as proxy:
        proxy.attach("AKIAAPI", policy)
        Store.connect("us-east-1", proxy.url, aws_access_key_id="AKIAAPI", aws_secret_access_key="secret")

A request is sent on if the policies of its access key allow every permission that it takes; otherwise it is answered as
the service does, with an error that says that access is denied, and ``denied`` has it. ``used`` has every permission
that was used. A key without policies may do everything: it is the administrator's.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from tablewright.design.iam import Permission, is_allowed, request_permissions

ACCOUNT = "123456789012"
REGION = "us-east-1"
_ACCESS_KEY = re.compile(r"Credential=([^/]+)/")
_OWN_HEADERS = frozenset({"connection", "transfer-encoding", "server", "date", "content-length"})


@dataclass(frozen=True, slots=True)
class Received:
    """A request."""

    method: str
    path: str
    # By their names in lower case.
    headers: Mapping[str, str]
    body: bytes

    @property
    def operation(self) -> str:
        return self.headers.get("x-amz-target", "").partition(".")[2]


class EnforcingProxy(ABC):
    """Enforces policies; ``attach`` gives an access key its own, and the tags of its principal."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        assert parts.hostname is not None
        self._upstream = (parts.hostname, parts.port or 80)
        self._local = threading.local()
        self._lock = threading.Lock()
        self._policies: dict[str, list[Mapping[str, Any]]] = {}
        self._tags: dict[str, dict[str, str]] = {}
        # (access key, action, resource)
        self.used: set[tuple[str, str, str]] = set()
        self.denied: list[tuple[str, str, str]] = []
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def attach(self, access_key: str, *policies: Mapping[str, Any], tags: Mapping[str, str] | None = None) -> None:
        self._policies[access_key] = list(policies)
        self._tags[access_key] = {f"aws:PrincipalTag/{name}": value for name, value in (tags or {}).items()}

    def forget(self, access_key: str) -> None:
        """Begin again to note what an access key uses."""
        with self._lock:
            self.used = {each for each in self.used if each[0] != access_key}

    def used_by(self, access_key: str) -> set[tuple[str, str]]:
        """Actions and resources that an access key has used."""
        with self._lock:
            return {(action, resource) for key, action, resource in self.used if key == access_key}

    @abstractmethod
    def permissions(self, request: Received) -> Iterable[Permission]:
        """What a request takes."""

    @abstractmethod
    def denial(self, message: str) -> tuple[int, str, bytes]:
        """Status, content type and body of the response to a request that is not allowed."""

    def respond(self, request: Received) -> tuple[int, list[tuple[str, str]], bytes]:
        found = _ACCESS_KEY.search(request.headers.get("authorization", ""))
        refused = self._refusal(request, "" if found is None else found[1])
        if refused is None:
            return self.forward(request)
        status, content_type, content = self.denial(refused)
        return status, [("Content-Type", content_type)], content

    def _refusal(self, request: Received, access_key: str) -> str | None:
        """What a request is refused with, for the first permission that its policies do not allow."""
        policies = self._policies.get(access_key)
        for needed in self.permissions(request):
            action, resource = needed.action, needed.resource
            with self._lock:
                self.used.add((access_key, action, resource))
            context = {**needed.context, **self._tags.get(access_key, {})}
            if policies is not None and not is_allowed(policies, action, resource, context):
                with self._lock:
                    self.denied.append((access_key, action, resource))
                return (
                    f"User: arn:aws:iam::{ACCOUNT}:user/{access_key} is not authorized to perform: {action} on "
                    f"resource: {resource} because no identity-based policy allows the {action} action"
                )
        return None

    def forward(self, request: Received) -> tuple[int, list[tuple[str, str]], bytes]:
        for is_last in (False, True):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = http.client.HTTPConnection(*self._upstream, timeout=60)
            try:
                connection.request(request.method, request.path, request.body, dict(request.headers))
                response = connection.getresponse()
                return response.status, response.getheaders(), response.read()
            except (http.client.HTTPException, OSError):
                # An idle connection may have been closed meanwhile.
                connection.close()
                self._local.connection = None
                if is_last:
                    raise
        raise AssertionError


class PolicyProxy(EnforcingProxy):
    """In front of a DynamoDB endpoint."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self._keys: dict[tuple[str, str | None], list[str]] = {}

    def permissions(self, request: Received) -> Iterable[Permission]:
        return request_permissions(request.operation, json.loads(request.body), self)

    def denial(self, message: str) -> tuple[int, str, bytes]:
        error = {"__type": "com.amazon.coral.service#AccessDeniedException", "Message": message}
        return 400, "application/x-amz-json-1.0", json.dumps(error).encode()

    # -- tables, as permissions need them -------------------------------------------------------------------------

    def arn(self, table: str) -> str:
        return table if table.startswith("arn:") else f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}"

    def partition_keys(self, table: str, index: str | None) -> list[str]:
        if (table, index) not in self._keys:
            body = json.dumps({"TableName": table}).encode()
            status, _, content = self.forward(Received("POST", "/", _SIGNED, body))
            if status != 200:
                # There is no such table: whoever may use it is told so by the service.
                return []
            described = json.loads(content)["Table"]
            indexes = [*described.get("GlobalSecondaryIndexes", ()), *described.get("LocalSecondaryIndexes", ())]
            schemas = {None: described["KeySchema"]} | {each["IndexName"]: each["KeySchema"] for each in indexes}
            if index not in schemas:
                return []
            self._keys[table, index] = [each["AttributeName"] for each in schemas[index] if each["KeyType"] == "HASH"]
        return self._keys[table, index]


_SIGNED = {
    "X-Amz-Target": "DynamoDB_20120810.DescribeTable",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20260101T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=admin/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64,
}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], proxy: EnforcingProxy) -> None:
        super().__init__(address, _Handler)
        self.proxy = proxy


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A response goes out as a whole: in two parts, the second would wait for an acknowledgement of the first.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.command, self.path, headers, body)
        status, returned, content = self.server.proxy.respond(request)
        self.send_response(status)
        for name, value in returned:
            if name.lower() not in _OWN_HEADERS:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""
