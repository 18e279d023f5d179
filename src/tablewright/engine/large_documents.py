"""JSON documents of megabytes, parsed and freed in pieces.

One call of orjson holds the interpreter, and with it every other client, for as long as it takes: a few tenths of a
second for 16 MB of small values. So a large document is cut at commas between values, into pieces of some 64 KB, and
other threads get to run in between. Each piece is made a document of its own: the containers that are open where it
begins are opened again before it, and those open where it ends are closed after it.

    {"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}
    {"L":[{"N":"1"} MARK]}   the end is marked, to find the containers that are open there
             {BEGUN:[0 ,{"N":"2"} MARK]}
                      {BEGUN:[0 ,{"N":"3"}]}

Whatever a piece has beyond its opened containers is added to them. The result is the same as orjson's for the whole,
and it refuses the same documents: brackets have to match within each piece as they would in the whole, and each comma
stands between two values. Neither depends on where the cuts are.

Freeing such a document takes about a quarter of the time, also at once. ``LargeDocument.free`` takes it apart in the
same pieces; the value must no longer be in use.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import Any, Final

import orjson

__all__ = ["LargeDocument"]

PIECE_BYTES: Final = 64 * 1024

_Container = list[Any] | dict[str, Any]

_NOT_BRACKETS: Final = bytes(each for each in range(256) if each not in b"[]{}")
_PAIRS: Final = {ord("]"): ord("["), ord("}"): ord("{")}
# What is matched within a piece goes in a few passes, as most values are not nested deeply; the rest one by one.
_PASSES: Final = 6
_IN_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
# Strings in a row without a comma between them are keys, each in the value of the one before: no document goes so deep.
_MAX_LEVELS: Final = 2048
# No document can have a key of this name.
_BEGUN: Final = f"begun {secrets.token_hex(16)}"
_MARK: Final = f"mark {secrets.token_hex(16)}"
_OPENED: Final = {ord("["): b"[", ord("{"): b'{"%b":' % _BEGUN.encode()}
_INNERMOST: Final = {ord("["): b"[0", ord("{"): b'{"%b":0' % _BEGUN.encode()}
_MARKED: Final = {ord("["): b',"%b"' % _MARK.encode(), ord("{"): b',"%b":0' % _MARK.encode()}
_CLOSED: Final = {ord("["): b"]", ord("{"): b"}"}


class LargeDocument:
    """A document that is parsed, and later freed, in pieces."""

    __slots__ = ("_grown", "_value")

    def __init__(self) -> None:
        # The containers that a piece has added to, and how long they were before.
        self._grown: list[tuple[_Container, int]] = []
        self._value: Any = None

    def parse(self, body: bytes | bytearray, piece_bytes: int = PIECE_BYTES) -> Any:
        """Its value; raises orjson.JSONDecodeError if it is invalid."""
        # The brackets that are open, and their containers.
        open_brackets = bytearray()
        spine: list[_Container] = []
        begin = 0
        for end in _cuts(body, piece_bytes):
            piece = bytes(body[begin:end])
            if piece.rstrip(b" \t\r\n")[-1:] in (b"[", b"{"):
                raise orjson.JSONDecodeError("no value before a comma", "", 0)
            opening = _opening(open_brackets)
            kept = _follow(open_brackets, piece)
            if not open_brackets:
                raise orjson.JSONDecodeError("no value before a comma", "", 0)
            closing = _MARKED[open_brackets[-1]] + b"".join([_CLOSED[each] for each in reversed(open_brackets)])
            parsed = orjson.loads(b"%b%b%b" % (opening, piece, closing))
            path = _marked_path(parsed)
            self._add(parsed, spine)
            spine = spine[:kept] + path[kept:]
            begin = end
        parsed = orjson.loads(b"%b%b" % (_opening(open_brackets), bytes(body[begin:])))
        self._add(parsed, spine)
        return self._value

    def free(self) -> None:
        """Free its memory: all but its first piece, which is freed with the value."""
        self._value = None
        while self._grown:
            container, length = self._grown.pop()
            if isinstance(container, list):
                del container[length:]
            else:
                while len(container) > length:
                    container.popitem()

    def keep(self) -> None:
        """Some of it stays in use: freeing it does nothing."""
        self._grown.clear()

    def _add(self, parsed: Any, spine: list[_Container]) -> None:
        """Add the content of a piece to the containers that were open before it."""
        if not spine:
            self._value = parsed
            return
        for container in spine:
            self._grown.append((container, len(container)))
            if isinstance(container, list):
                begun = parsed[0]
                container.extend(parsed[1:])
            else:
                begun = parsed.pop(_BEGUN)
                container.update(parsed)
            parsed = begun


def _cuts(body: bytes | bytearray, piece_bytes: int) -> Iterator[int]:
    """Positions of commas between values, each some way after the one before."""
    begin = 0
    while (end := _comma(body, begin, begin + piece_bytes)) is not None:
        yield end
        begin = end


def _comma(body: bytes | bytearray, begin: int, at: int) -> int | None:
    """The first comma between values after a position; at the beginning, no string is open."""
    if at >= len(body):
        return None
    if _without_escapes(bytes(body[begin:at])).count(b'"') % 2:
        # In a string. Not between a backslash and what it stands before.
        before = at
        while body[before - 1] == 0x5C:
            before -= 1
        at = _string_end(body, at + (at - before) % 2)
    comma = body.find(b",", at)
    for _ in range(_MAX_LEVELS):
        quote = body.find(b'"', at, comma) if comma >= 0 else -1
        if quote < 0:
            return comma if comma >= 0 else None
        at = _string_end(body, quote + 1)
        if comma < at:
            comma = body.find(b",", at)
    return None


def _string_end(body: bytes | bytearray, at: int) -> int:
    """The position after the string that a position is in, or the end."""
    while at < len(body):
        found = _IN_STRING.match(body, at, at + PIECE_BYTES)
        end = at if found is None else found.end()
        if body[end : end + 1] == b'"':
            return end + 1
        # At the end of what was looked at, perhaps between a backslash and what it stands before.
        at = end if end > at else end + 2
    return len(body)


def _without_escapes(text: bytes) -> bytes:
    """A text in which each quote begins or ends a string."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text


def _opening(open_brackets: bytearray) -> bytes:
    """Text that opens containers again; the innermost has a value, so that a comma may follow."""
    if not open_brackets:
        return b""
    return b"".join([*map(_OPENED.__getitem__, open_brackets[:-1]), _INNERMOST[open_brackets[-1]]])


def _follow(open_brackets: bytearray, piece: bytes) -> int:
    """Note what a piece opens and closes; returns how many of the open brackets stayed open throughout.

    If brackets do not match, the result does not matter: the piece is refused.
    """
    brackets = b"".join(_without_escapes(piece).split(b'"')[::2]).translate(None, _NOT_BRACKETS)
    for _ in range(_PASSES):
        length = len(brackets)
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(brackets) == length:
            break
    kept = len(open_brackets)
    for bracket in brackets:
        if bracket not in _PAIRS:
            open_brackets.append(bracket)
        elif open_brackets:
            open_brackets.pop()
            kept = min(kept, len(open_brackets))
    return kept


def _marked_path(parsed: Any) -> list[_Container]:
    """The containers that lead to the mark, which is removed. They are the last in each other, unless an object has a
    key twice.
    """
    path: list[_Container] = []
    levels: list[Iterator[Any]] = [iter((parsed,))]
    while levels:
        for value in levels[-1]:
            if type(value) is dict:
                path.append(value)
                if value.pop(_MARK, None) is not None:
                    return path
                levels.append(reversed(value.values()))
                break
            if type(value) is list:
                path.append(value)
                if value and value[-1] == _MARK:
                    value.pop()
                    return path
                levels.append(reversed(value))
                break
        else:
            levels.pop()
            if path:
                path.pop()
    raise AssertionError("the mark of a piece is in it")
