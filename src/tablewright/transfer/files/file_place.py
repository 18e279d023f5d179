"""Files as a source and as a target: one for a table, one for each of several, or an export by Amazon.

    orders.json.gz            the table orders, in one file
    export/{table}.parquet    each table in its own file
    export/Orders.table.json  beside the file of a table, its definition, with the types of keys; optional
    AWSDynamoDB/0123-abc/     an export of Amazon DynamoDB to S3: one table in many files

A target is written as parts, one for each segment, which are truncated to what the state file records. When all are
complete, the file is made from them and renamed, and the parts are deleted once the copy is done.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Self

from tablewright.durable_files import sync_path
from tablewright.dynamo import Item
from tablewright.model import Table
from tablewright.transfer.errors import TransferError
from tablewright.transfer.files.file_formats import as_read, assemble, format_of, part_lines, read_items
from tablewright.transfer.files.file_names import DEFINITION, check_file_names, stem_of, table_of
from tablewright.transfer.files.plain_values import AttributeTypes
from tablewright.transfer.places.place_protocols import Page
from tablewright.transfer.places.table_definition import TableDefinition

_PAGE_ITEMS = 1000
TABLE = "{table}"


class FilePlace:
    """Files of items. ``tables`` are those of a design, which declare the types of attributes."""

    def __init__(self, place: str, tables: Sequence[Table] = ()) -> None:
        self.place = place
        self.holds_tables = TABLE in place
        self._path = Path(place).expanduser()
        self._format = format_of(place)
        if place.count(TABLE) > 1 or TABLE in str(self._path.parent):
            raise TransferError(f"{place}: use {TABLE} once, in the name of the file; such as export/{TABLE}.json")
        if self._path.name.partition(TABLE)[2].lower() == DEFINITION:
            raise TransferError(f"{place}: files that end like this are definitions; write export/{TABLE}.json")
        self._tables = {table.name: table for table in tables}
        self._other_names: dict[str, str] = {}
        # What stands for a table in the name of its file, for tables that were found there.
        self._stems: dict[str, str] = {}
        # By table; None if there is no definition beside its file.
        self._definitions: dict[str, TableDefinition | None] = {}
        self._types: dict[str, AttributeTypes] = {}
        self._parts: dict[tuple[str, int], IO[bytes]] = {}
        # What is being read, by table and segment, with the position reached.
        self._open: dict[tuple[str, int], tuple[int, Iterator[Item]]] = {}

    def close(self) -> None:
        for part in self._parts.values():
            # What was not written then is not in the state either.
            with suppress(OSError):
                part.close()
        self._parts = {}
        self._open = {}

    def reading(self) -> Self:
        return self

    def known_as(self, table: str, other: str) -> None:
        self._other_names[table] = other

    def types(self, table: str) -> AttributeTypes:
        """The types of attributes that are known from the design, and from the definition beside the file."""
        if table not in self._types:
            self._types[table] = AttributeTypes(self._modelled(table), self._definition(table))
        return self._types[table]

    def _modelled(self, table: str) -> Table | None:
        modelled = self._tables.get(table) or self._tables.get(self._other_names.get(table, table))
        # One table of a design, and one file: the names may differ.
        if modelled is None and len(self._tables) == 1 and TABLE not in self.place:
            return next(iter(self._tables.values()))
        return modelled

    def typing_advice(self, table: str) -> str | None:
        if self._format not in (".jsonl", ".csv") or self.types(table):
            return None
        return (
            f"{self._file(table)} does not have the types of its attributes: name the design with --design, or put "
            f"the definition of the table beside the file, as {self._definition_file(table).name}"
        )

    # -- what there is ------------------------------------------------------------------------------------------

    async def table_names(self) -> list[str]:
        if self._format is None:
            return [self._exported_name()]
        if TABLE not in self.place:
            if not self._path.is_file():
                raise TransferError(f"there is no file {self._path}")
            return self._found([_stem(self._path.name)])
        before, _, after = self._path.name.partition(TABLE)
        return self._found(
            name[len(before) : len(name) - len(after)]
            for name in sorted(path.name for path in self._path.parent.glob("*"))
            if name.startswith(before)
            and name.endswith(after)
            and len(name) > len(before) + len(after)
            and not name.startswith(".")
            and not name.endswith(DEFINITION)
        )

    def _found(self, stems: Iterable[str]) -> list[str]:
        """The tables whose files are there."""
        self._stems = {table_of(stem): stem for stem in stems}
        return [*self._stems]

    def _exported_name(self) -> str:
        """The table of an export, by its manifest; otherwise the name of the folder."""
        with suppress(OSError, ValueError, KeyError):
            summary = json.loads((self._path / "manifest-summary.json").read_bytes())
            return str(summary["tableArn"]).rpartition("/")[2]
        return self._path.resolve().name

    def _files(self, table: str) -> list[Path]:
        if self._format is not None:
            return [self._file(table)]
        return exported_files(self._path)

    def _file(self, table: str) -> Path:
        return self._path.parent / self._path.name.replace(TABLE, self._stem_of(table))

    def _definition_file(self, table: str) -> Path:
        return self._path.parent / f"{self._stem_of(table)}{DEFINITION}"

    def _stem_of(self, table: str) -> str:
        return self._stems.get(table) or stem_of(table)

    async def definition(self, table: str) -> TableDefinition | None:
        return self._definition(table)

    def _definition(self, table: str) -> TableDefinition | None:
        if table not in self._definitions:
            self._definitions[table] = None if self._format is None else self._stored_definition(table)
        return self._definitions[table]

    def _stored_definition(self, table: str) -> TableDefinition | None:
        try:
            return TableDefinition.from_json(json.loads(self._definition_file(table).read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise TransferError(
                f"{self._definition_file(table)} cannot be read: {reason}; repair or delete it"
            ) from None

    async def existing(self, table: str) -> TableDefinition | None:
        return None

    async def expected_items(self, table: str) -> int:
        return 0

    # -- reading ------------------------------------------------------------------------------------------------

    async def segments(self, table: str, wanted: int) -> int:
        return len(self._files(table))

    async def page(self, table: str, segment: int, segments: int, position: Any) -> Page:
        begin = position or 0
        reached, items = self._open.pop((table, segment), (-1, iter(())))
        if reached != begin:
            items = read_items(self._files(table)[segment], self.types(table))
            next(islice(items, begin, begin), None)
        page = list(islice(items, _PAGE_ITEMS))
        if len(page) < _PAGE_ITEMS:
            return Page(page, None)
        self._open[table, segment] = begin + len(page), items
        # An await for other tasks: reading a file never waits.
        await asyncio.sleep(0)
        return Page(page, begin + len(page))

    # -- writing ------------------------------------------------------------------------------------------------

    def check_name(self, table: str) -> None:
        if TABLE in self.place:
            check_file_names(table, self._file(table), self._definition_file(table))

    async def occupied(self, table: str, definition: TableDefinition | None, *, into_existing: bool) -> str | None:
        file = self._file(table)
        return f"{file} exists already; delete it, or choose another name" if file.exists() else None

    async def create(self, table: str, definition: TableDefinition | None) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # What will be beside the file; one that is there now is of another table.
        self._definitions[table] = definition if TABLE in self.place else None
        self._types.pop(table, None)

    def _part(self, table: str, segment: int) -> Path:
        file = self._file(table)
        return file.with_name(f".{file.name}.part-{segment}")

    async def open_segment(self, table: str, segment: int, mark: Any) -> None:
        path = self._part(table, segment)
        path.touch()
        part = open(path, "r+b")  # noqa: SIM115  # closed with the place
        part.truncate(mark or 0)
        part.seek(mark or 0)
        self._parts[table, segment] = part

    async def write(self, table: str, segment: int, items: Sequence[Item]) -> int:
        part = self._parts[table, segment]
        part.write(part_lines(items))
        return part.tell()

    def comparable(self, table: str, items: list[Item]) -> list[Item]:
        if self._format in (".json", ".parquet"):
            return items
        types = self.types(table)
        return [as_read(self._format, item, types) for item in items]

    async def secure(self) -> None:
        for part in list(self._parts.values()):
            part.flush()
            await asyncio.to_thread(os.fsync, part.fileno())

    async def assemble(self, table: str, segments: int, definition: TableDefinition | None) -> None:
        await self.secure()
        parts = [self._part(table, segment) for segment in range(segments)]
        await asyncio.to_thread(assemble, self._file(table), parts)
        if TABLE in self.place and definition is not None:
            self._definition_file(table).write_text(json.dumps(definition.as_json(), indent=2) + "\n")
            sync_path(self._path.parent)

    async def restore_internal(self, table: str, model: Table) -> None:
        """They are created when the file is copied into a table."""

    async def finish(self, table: str, definition: TableDefinition | None) -> list[str]:
        return []

    def tidy(self, table: str, segments: int) -> None:
        for segment in range(segments):
            part = self._parts.pop((table, segment), None)
            if part is not None:
                part.close()
            self._part(table, segment).unlink(missing_ok=True)

    async def existing_items(self, table: str, keys: Sequence[Item]) -> list[Item]:
        raise TransferError("a file is always replaced as a whole; use --into-existing for tables only")


def _stem(name: str) -> str:
    return name.removesuffix(".gz").rpartition(".")[0]


def exported_files(folder: Path) -> list[Path]:
    """The files of an export of Amazon DynamoDB to S3."""
    return sorted([*folder.glob("*.json.gz"), *folder.glob("data/*.json.gz")])
