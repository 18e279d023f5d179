"""File formats of items, which depend on the suffix.

    .json      DynamoDB JSON, {"Item": {...}} on each line, as Amazon's export to S3 writes and its import reads
    .jsonl     plain JSON, an object on each line
    .csv       a column for each attribute, with a header; an empty cell is a missing attribute
    .parquet   a column for each attribute, by duckdb; the types of attributes are in its metadata

The first three may end in .gz. For every format, a copy first writes parts in DynamoDB JSON, and converts them to the
file at the end, item by item. DynamoDB JSON and Parquet preserve everything in an item.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, Any

import orjson

from tablewright.durable_files import sync_path
from tablewright.dynamo import Item
from tablewright.transfer.errors import TransferError
from tablewright.transfer.files.plain_values import AttributeTypes, from_cell, from_line, from_row, to_line, to_row

FORMATS = (".json", ".jsonl", ".csv", ".parquet")
_ROWS = 1000
_TYPES = "tablewright.types"
# Integers that fit into a column of 64 bits, and digits that fit into a double.
_INTEGER_DIGITS = 18
_MAX_ROW = 32 * 1024 * 1024
# Cells of more than 128 KB, the default of the csv module: an item may have 400 KB.
csv.field_size_limit(16 * 1024 * 1024)


def format_of(path: str | Path) -> str | None:
    """The format of a file by its name; None if it is unknown."""
    name = str(path).removesuffix(".gz")
    found = next((suffix for suffix in FORMATS if name.endswith(suffix)), None)
    return None if found == ".parquet" and str(path).endswith(".gz") else found


# -- DynamoDB JSON --------------------------------------------------------------------------------------------------


def part_lines(items: Iterable[Item]) -> bytes:
    """Items in DynamoDB JSON, one on each line."""
    return b"".join(orjson.dumps({"Item": item}) + b"\n" for item in items)


def _part_items(lines: Iterable[bytes]) -> Iterator[Item]:
    for line in lines:
        if line.strip():
            item = orjson.loads(line)["Item"]
            if not isinstance(item, dict) or not all(isinstance(each, dict) for each in item.values()):
                raise TypeError("an item has an attribute value for each name")
            yield item


# -- reading --------------------------------------------------------------------------------------------------------


def read_items(path: Path, types: AttributeTypes) -> Iterator[Item]:
    """The items of a file, in its order."""
    number = 0
    try:
        for item in _items(path, types):
            number += 1
            yield item
    except (ValueError, KeyError, TypeError, csv.Error, EOFError, gzip.BadGzipFile) as error:
        reason = " ".join(str(error).split())
        raise TransferError(
            f"{path}: item {number + 1} cannot be read: {type(error).__name__}: {reason}; repair the file"
        ) from None


def _items(path: Path, types: AttributeTypes) -> Iterator[Item]:
    kind = format_of(path)
    if kind == ".parquet":
        yield from _parquet_items(path, types)
        return
    with gzip.open(path, "rb") if path.name.endswith(".gz") else open(path, "rb") as file:
        if kind == ".json":
            yield from _part_items(file)
        elif kind == ".jsonl":
            yield from (from_line(line, types) for line in file if line.strip())
        else:
            text = io.TextIOWrapper(file, "utf-8-sig", newline="")
            for row in csv.DictReader(text, strict=True):
                if None in row or None in row.values():
                    raise ValueError("a row has more or fewer cells than the header")
                yield from_row(row, types)


def as_read(kind: str | None, item: Item, types: AttributeTypes) -> Item:
    """An item as it will be read back after it was written in a format."""
    if kind == ".jsonl":
        return from_line(to_line(item), types)
    if kind == ".csv":
        return from_row(to_row(item), types)
    return item


# -- writing --------------------------------------------------------------------------------------------------------


def assemble(path: Path, parts: Sequence[Path]) -> None:
    """Create a file from its parts; it is complete, or does not exist."""
    new = path.with_name(f".{path.name}.new")
    kind = format_of(path)
    if kind == ".parquet":
        _write_parquet(new, parts)
    else:
        with _compressed(new, path.name.endswith(".gz")) as file:
            if kind == ".json":
                for part in parts:
                    with open(part, "rb") as lines:
                        while block := lines.read(1 << 20):
                            file.write(block)
            elif kind == ".jsonl":
                file.writelines(to_line(item) for item in _all_items(parts))
            else:
                _write_csv(file, parts)
    with open(new, "rb") as written:
        os.fsync(written.fileno())
    os.replace(new, path)
    sync_path(path.parent)


@contextmanager
def _compressed(path: Path, gzipped: bool) -> Iterator[IO[bytes]]:
    with open(path, "wb") as raw:
        if not gzipped:
            yield raw
            return
        # Without a timestamp, so that the same items give the same file.
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield file  # type: ignore[misc]  # it is not declared as IO[bytes], and is used as one


def _all_items(parts: Sequence[Path]) -> Iterator[Item]:
    for part in parts:
        with open(part, "rb") as lines:
            yield from _part_items(lines)


def _columns(parts: Sequence[Path]) -> dict[str, set[str]]:
    """The attributes of all items in the order of their first use, with their types."""
    found: dict[str, set[str]] = {}
    for item in _all_items(parts):
        for name, value in item.items():
            kind = next(iter(value))
            if kind == "N":
                kind = _number_column(value["N"])
            found.setdefault(name, set()).add(kind)
    return found


def _write_csv(file: IO[bytes], parts: Sequence[Path]) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.DictWriter(text, list(_columns(parts)), lineterminator="\n")
    writer.writeheader()
    for item in _all_items(parts):
        writer.writerow(to_row(item))
    text.flush()
    text.detach()


# -- Parquet --------------------------------------------------------------------------------------------------------


def _number_column(text: str) -> str:
    """How a column could store a number: as BIGINT, as DOUBLE, or as text with all of its digits."""
    digits = text.removeprefix("-")
    if digits.isdigit() and len(digits) <= _INTEGER_DIGITS:
        return "BIGINT"
    return "DOUBLE" if len(digits) <= 15 and "." in digits else "N"


_SIMPLE = {"S": "VARCHAR", "BOOL": "BOOLEAN", "BIGINT": "BIGINT", "DOUBLE": "DOUBLE", "N": "VARCHAR"}


def _write_parquet(path: Path, parts: Sequence[Path]) -> None:
    import duckdb

    columns: dict[str, str] = {}
    types: dict[str, str] = {}
    # For duckdb, names that differ only in case are the same.
    names: dict[str, str] = {}
    for name, kinds in _columns(parts).items():
        taken = {each.lower() for each in names.values()}
        names[name] = next(each for each in _variants(name) if each.lower() not in taken)
        numbers = kinds <= {"BIGINT", "DOUBLE", "N"}
        if numbers and len(kinds) > 1:
            kinds = {"N"}
        kind = next(iter(kinds)) if len(kinds) == 1 else ""
        columns[name] = _SIMPLE.get(kind, "VARCHAR")
        # Everything else is in DynamoDB's JSON.
        types[name] = "N" if numbers else kind if kind in ("S", "BOOL") else "JSON"
    if not columns:
        columns = {"_": "VARCHAR"}
        names, types = {"_": "_"}, {"_": "S"}
    lines = path.with_name(f"{path.name}.rows")
    with open(lines, "wb") as file:
        for item in _all_items(parts):
            row = {names[name]: _cell(value, types[name], columns[name]) for name, value in item.items()}
            file.write(orjson.dumps(row) + b"\n")
    shape = ", ".join(f"{_quoted(names[name])}: {_quoted(kind)}" for name, kind in columns.items())
    options = f"format='newline_delimited', columns={{{shape}}}, maximum_object_size={_MAX_ROW}"
    source = f"read_json({_quoted(str(lines))}, {options})"
    stored = json.dumps({names[name]: [name, kind] for name, kind in types.items()})
    metadata = f"KV_METADATA {{{_quoted(_TYPES)}: {_quoted(stored)}}}"
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(f"COPY (SELECT * FROM {source}) TO {_quoted(str(path))} (FORMAT parquet, {metadata})")
    lines.unlink()


def _variants(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _cell(value: dict[str, Any], kind: str, column: str) -> Any:
    if kind == "JSON":
        return orjson.dumps(value).decode()
    ((_, content),) = value.items()
    return orjson.Fragment(content) if kind == "N" and column != "VARCHAR" else content


def _parquet_items(path: Path, types: AttributeTypes) -> Iterator[Item]:
    import duckdb

    with duckdb.connect() as connection:
        found = connection.execute(
            f"SELECT value FROM parquet_kv_metadata({_quoted(str(path))}) WHERE key = {_quoted(_TYPES)}::BLOB"
        ).fetchone()
        stored = None if found is None else json.loads(bytes(found[0]))
        rows = connection.execute(f"SELECT * FROM read_parquet({_quoted(str(path))})")
        names = [column[0] for column in rows.description or ()]
        while batch := rows.fetchmany(_ROWS):
            for row in batch:
                pairs = zip(names, row, strict=True)
                if stored is None:
                    yield {name: types.value(name, partial(_foreign, cell)) for name, cell in pairs if cell is not None}
                else:
                    own = ((*stored[column], cell) for column, cell in pairs if cell is not None)
                    yield {name: _own(cell, kind) for name, kind, cell in own}


def _own(cell: Any, kind: str) -> dict[str, Any]:
    """A value of a file that a copy wrote."""
    if kind == "JSON":
        value: dict[str, Any] = orjson.loads(cell)
        return value
    if kind == "N":
        return {"N": from_cell(repr(cell) if isinstance(cell, float) else str(cell), "N")["N"]}
    return {kind: cell}


def _foreign(cell: Any, kind: str | None) -> dict[str, Any]:
    """A value of a file that another program wrote."""
    if isinstance(cell, str):
        return from_cell(cell, kind)
    if isinstance(cell, bytes):
        return {"B": b64encode(cell).decode()}
    if isinstance(cell, bool):
        return {"BOOL": cell}
    if isinstance(cell, list | dict):
        return from_cell(json.dumps(cell, default=str), kind or ("M" if isinstance(cell, dict) else "L"))
    text = repr(cell) if isinstance(cell, float) else str(cell)
    return from_cell(text, kind or ("N" if isinstance(cell, int | float | Decimal) else "S"))


def _quoted(text: str) -> str:
    """Text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
