"""Writes the synchronous store, batch writer, consumer and tolerant reader from the asynchronous ones.

    src/tablewright/store/async_store.py                   ──▶ store.py
    src/tablewright/store/async_batch_writer.py            ──▶ batch_writer.py
    src/tablewright/store/read/async_tolerant_reader.py    ──▶ tolerant_reader.py
    src/tablewright/store/streams/async_consumer.py        ──▶ consumer.py

`async` and `await` are removed, and names are replaced by those of `NAMES`. What really differs between threads and
asyncio is in pairs of functions in `store/flow/driver.py`. `make generate` writes the files; a test fails while one of
them is out of date.
"""

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STORE = ROOT / "src" / "tablewright" / "store"

# From the asynchronous source to the synchronous file.
FILES = {
    STORE / "async_store.py": STORE / "store.py",
    STORE / "async_batch_writer.py": STORE / "batch_writer.py",
    STORE / "read" / "async_tolerant_reader.py": STORE / "read" / "tolerant_reader.py",
    STORE / "streams" / "async_consumer.py": STORE / "streams" / "consumer.py",
}

NAMES = {
    "AsyncBatchWriter": "BatchWriter",
    "AsyncConsumer": "Consumer",
    "AsyncIterator": "Iterator",
    "AsyncStore": "Store",
    "AsyncTolerantReader": "TolerantReader",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "async_batch_writer": "batch_writer",
    "async_store": "store",
    "asyncio": "threading",
    "call_async": "call",
    "run_async": "run",
    "wait_async": "wait",
}

# In docstrings and comments, besides the names.
WORDS = {
    "async with": "with",
    "async for": "for",
    "await ": "",
    "without blocking the event loop": "from any number of threads",
    "for asyncio": "for threads",
}

# A place in the source, from and to, and what replaces it.
Edit = tuple[int, int, str]


def generated(source: Path) -> str:
    """The synchronous module of an asynchronous one."""
    text = source.read_text("utf-8")
    for start, end, replacement in sorted(_edits(text), reverse=True):
        text = text[:start] + replacement + text[end:]
    header = f"# Generated from {source.name} by tools/generate_sync.py. Do not edit it; run `make generate`.\n"
    # Names that sort differently now, or are no longer used, and lines that are shorter now.
    text = _ruff("check", "--fix", "--exit-zero", "--quiet", "--select", "F401,I", text=header + text)
    return _ruff("format", "--quiet", text=text)


def _edits(text: str) -> Iterator[Edit]:
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def at(place: tuple[int, int]) -> int:
        return lines[place[0] - 1] + place[1]

    for number, token in enumerate(tokens):
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            yield at(token.start), at(tokens[number + 1].start), ""
        elif token.type == tokenize.NAME and token.string == "Awaitable" and tokens[number + 1].string == "[":
            yield at(token.start), at(tokens[number + 1].end), ""
            closing = _closing(tokens, number + 1)
            yield at(closing.start), at(closing.end), ""
        elif token.type == tokenize.NAME and token.string in NAMES:
            yield at(token.start), at(token.end), NAMES[token.string]
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            yield at(token.start), at(token.end), _reworded(token.string)


def _closing(tokens: list[tokenize.TokenInfo], opening: int) -> tokenize.TokenInfo:
    """The bracket that closes an opening one."""
    depth = 0
    for token in tokens[opening:]:
        depth += (token.string == "[") - (token.string == "]")
        if depth == 0:
            return token
    raise ValueError(f"line {tokens[opening].start[0]}: a bracket that is not closed")


def _reworded(text: str) -> str:
    for word, replacement in WORDS.items():
        text = text.replace(word, replacement)
    return re.sub(r"\w+", lambda match: NAMES.get(match[0], match[0]), text)


def _ruff(*arguments: str, text: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(STORE / "generated.py"), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def main() -> None:
    for source, target in FILES.items():
        target.write_text(generated(source), "utf-8")


if __name__ == "__main__":
    main()
