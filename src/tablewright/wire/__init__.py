"""A server for DynamoDB's protocol, on the engine.

    server             starts and stops; has the event loop and the group commit
    arrivals           requests that arrive together, processed together
    engine_connection  a client of the engine: responses that wait for a commit, or for more slices
    http/              listener, connections and messages: framing, order, deadlines, limits, memory
    browser_access     which web pages may use a server: allowed origins, host names on loopback
    endpoint           what DynamoDB's endpoint does with one request: the order of its checks, its responses
    operation_targets  the operations that ``X-Amz-Target`` may name
    sigv4              AWS Signature Version 4, checked for form or verified against known credentials
    long_requests      requests that take long, interleaved with others
    regional_engines   an engine for each region, instead of one for all
    request_metrics    request counts and times, in Prometheus' text format
    metrics_server     the address on which they can be read
    boto               boto3 and botocore clients that call an engine in this process, without a socket
    response_parsing   botocore's response parsing for those clients, compiled from the service model

The public names, ``boto`` among them, are loaded on first use: a program that only uses in-process clients does not
load the server, and the server does not load botocore.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tablewright.wire import boto
    from tablewright.wire.browser_access import parse_origin
    from tablewright.wire.http.messages import Request
    from tablewright.wire.metrics_server import MetricsAddressError
    from tablewright.wire.regional_engines import RegionalEngines, region_folders
    from tablewright.wire.server import EngineFailedError, Server, run_server, serve_in_thread
    from tablewright.wire.sigv4 import CredentialsFileError, Verifier, read_credentials

__all__ = [
    "CredentialsFileError",
    "EngineFailedError",
    "MetricsAddressError",
    "RegionalEngines",
    "Request",
    "Server",
    "Verifier",
    "boto",
    "parse_origin",
    "read_credentials",
    "region_folders",
    "run_server",
    "serve_in_thread",
]

_MODULES = {
    "CredentialsFileError": "sigv4",
    "EngineFailedError": "server",
    "MetricsAddressError": "metrics_server",
    "RegionalEngines": "regional_engines",
    "Request": "http.messages",
    "Server": "server",
    "Verifier": "sigv4",
    "parse_origin": "browser_access",
    "read_credentials": "sigv4",
    "region_folders": "regional_engines",
    "run_server": "server",
    "serve_in_thread": "server",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "boto":
            return import_module("tablewright.wire.boto")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"tablewright.wire.{_MODULES[name]}"), name)
        return value
