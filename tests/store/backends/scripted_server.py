"""Servers that do as a test says with each connection: cut it, stall, answer by halves, or speak TLS."""

from __future__ import annotations

import datetime
import http.client
import ipaddress
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LONGEST = 10.0


class Peer:
    """One accepted connection, from the server's side."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        connection.settimeout(LONGEST)
        self._received = b""

    def read_head(self) -> bytes:
        """The head of the next request."""
        while b"\r\n\r\n" not in self._received:
            piece = self.connection.recv(65536)
            if not piece:
                raise EOFError
            self._received += piece
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        return head

    def read_request(self) -> tuple[bytes, bytes]:
        """The head and the body of the next request."""
        head = self.read_head()
        size = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")),
            0,
        )
        while len(self._received) < size:
            self._received += self.connection.recv(65536)
        body, self._received = self._received[:size], self._received[size:]
        return head, body

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def reset(self) -> None:
        """Close the connection without a word."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def wait_for_end(self) -> None:
        """Until the client closes."""
        with suppress(OSError):
            while self.connection.recv(65536):
                pass


Script = Callable[[Peer], None]


class ScriptedServer:
    """Runs a script for each connection: the first for the first, and the last for all others."""

    def __init__(self, scripts: tuple[Script, ...], tls: ssl.SSLContext | None) -> None:
        self._scripts = scripts
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._accepted: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            self._accepted.append(connection)
            thread = threading.Thread(target=self._run, args=(script, connection))
            self._threads.append(thread)
            thread.start()

    def _run(self, script: Script, connection: socket.socket) -> None:
        with suppress(OSError, EOFError):
            if self._tls is not None:
                connection.settimeout(LONGEST)
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._accepted.append(connection)
            script(Peer(connection))
        connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._accepted:
            # A loop that does not run any more does not close its connections.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(LONGEST)
            assert not thread.is_alive(), "a script goes on for ever"


@contextmanager
def scripted(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    server = ScriptedServer(scripts, tls)
    try:
        yield server
    finally:
        server.close()


def response(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunk(data: bytes) -> bytes:
    """One chunk of a body; an empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def answering(*responses: bytes) -> Script:
    """Answers request after request, the last response over and over."""

    def script(peer: Peer) -> None:
        number = 0
        while True:
            peer.read_request()
            peer.send(responses[min(number, len(responses) - 1)])
            number += 1

    return script


class LossyWay:
    """A script between a client and a server: requests arrive, and the next ``losses`` responses get lost.

    ``executed`` has the operations that the server has answered.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.losses = 0
        self.executed: list[str] = []

    def __call__(self, peer: Peer) -> None:
        server = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LONGEST)
        try:
            while True:
                head, body = peer.read_request()
                lines = (line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:])
                headers = dict(lines)
                server.request("POST", "/", body, headers)
                found = server.getresponse()
                content = found.read()
                self.executed.append(headers["X-Amz-Target"].partition(".")[2])
                if self.losses:
                    self.losses -= 1
                    peer.reset()
                    return
                peer.send(response(content, f"{found.status} {found.reason}"))
        finally:
            server.close()


# -- certificates ---------------------------------------------------------------------------------------------------


class Authority:
    """A certificate authority, and a certificate of its for 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
            )
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.bundle = folder / "bundle.pem"
        self.bundle.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        self._key = folder / "key.pem"
        self._key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.bundle, self._key)
        return context
