"""The names of files for the names of tables, and back.

    Orders       Orders.json, and its definition Orders.table.json
    .hidden      %2Ehidden.json, as files that begin with a dot are not listed
    foo.table    foo%2Etable.json, as foo.table.json is the definition of foo

No table of DynamoDB has a % in its name, so no other table has such a file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tablewright.transfer.errors import TransferError

__all__ = ["DEFINITION", "check_file_names", "stem_of", "table_of"]

DEFINITION = ".table.json"
# A dot at the beginning, and one that would make the file of a table the definition of another one; in any case, as
# file systems may not distinguish it.
_SPECIAL = re.compile(r"^\.|\.(?=table$)", re.IGNORECASE)
_ESCAPED = "%2E"
_MAX_BYTES = 255
# The longest name that a copy uses beside that of the file itself.
_LONGEST = ".{}.part-9999"


def stem_of(table: str) -> str:
    """What stands for a table in the names of its files."""
    return _SPECIAL.sub(_ESCAPED, table)


def table_of(stem: str) -> str:
    """The table whose files these are; the name as it is if ``stem_of`` has not made it."""
    table = stem.replace(_ESCAPED, ".")
    return table if stem_of(table) == stem else stem


def check_file_names(table: str, file: Path, definition: Path) -> None:
    """TransferError if the files of a table cannot have their names."""
    remedy = f"give the table another name with --rename {table}=NEW"
    if not table or "/" in table or "\0" in table:
        raise TransferError(f"{table!r} is not the name of a table; {remedy}")
    if any(len(os.fsencode(name)) > _MAX_BYTES for name in (_LONGEST.format(file.name), definition.name)):
        raise TransferError(f"the name of the table {table} is too long for files; {remedy}")
