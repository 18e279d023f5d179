"""Responses of a scripted endpoint that are cut, or are no responses at all."""

from __future__ import annotations

import gzip

from tests.store.backends.scripted_server import Peer, response

TABLES = b'{"TableNames":["a"]}'


def closed(peer: Peer) -> None:
    peer.read_request()


def reset(peer: Peer) -> None:
    peer.read_request()
    peer.reset()


def in_the_status_line(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"HTTP/1.1 20")


def in_the_head(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES)[:20])


def in_the_body(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES)[:-3])


def in_a_chunk(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{")


def reset_in_the_body(peer: Peer) -> None:
    in_the_body(peer)
    peer.reset()


def not_http(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"SSH-2.0-OpenSSH\r\n\r\n")


def not_json(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(b"<html>", "200 OK", "Connection: close"))


def wrong_checksum(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES, "200 OK", "x-amz-crc32: 1"))


def another_protocol(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")


def endless_head(peer: Peer) -> None:
    peer.read_request()
    while True:
        peer.send(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 65536)


def unknown_encoding(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES, "200 OK", "Content-Encoding: br"))


def half_of_what_is_compressed(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(gzip.compress(TABLES, mtime=0)[:-9], "200 OK", "Content-Encoding: gzip"))
