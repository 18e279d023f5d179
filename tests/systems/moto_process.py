"""moto's server in a process of its own, one request at a time.

moto does nothing to keep requests apart: at once they undo each other's writes. A transaction copies its tables with
their streams, and each iterator that moto has ever given out keeps such a copy: iterators that are long read are
deleted here, or a few minutes of transactions would take all memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["moto_process"]

_WITHIN = 60
# Iterators that are kept: of all consumers at once, with the read that each is in.
_ITERATORS = 200


@contextmanager
def moto_process() -> Iterator[str]:
    """The address of a server that nobody else uses."""
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        assert ours.poll(_WITHIN), "moto's server did not start"
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join(_WITHIN)
        process.close()
        ours.close()


def _serve(address: Connection) -> None:
    from moto.backends import get_backend
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    app = DomainDispatcherApplication(create_backend_app)
    streams = get_backend("dynamodbstreams")

    def trimmed(environ: Any, start_response: Any) -> Any:
        response = app(environ, start_response)
        for regions in streams.values():
            for backend in regions.values():
                for _ in range(len(backend.shard_iterators) - _ITERATORS):
                    del backend.shard_iterators[next(iter(backend.shard_iterators))]
        return response

    server = make_server("127.0.0.1", 0, trimmed, request_handler=MotoRequestHandler)
    address.send(server.server_port)
    server.serve_forever()
