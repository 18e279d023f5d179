"""Copies of tables from one place to another: ``tablewright copy``.

    place ──▶ segments, read in parallel ──▶ filter, transform ──▶ place
                                                │
                     state file: what is done, with counts and checksums ──▶ verification

places              what SOURCE and TARGET may be, and what a source and a target are
place_opening       both of them, opened and closed
table_place         tables: a data folder, an endpoint, Amazon DynamoDB
file_place          files, and folders of files
file_formats        DynamoDB JSON, JSON Lines, CSV and Parquet
plain_values        attribute values as plain JSON, with types from the design
table_definition    what a table is created from: keys, indexes, billing; and what is turned on at the end
copying             the copy itself: segments, read-ahead, state
copy_state          the state file, from which a copy that was stopped goes on
item_digests        counts and checksums that do not depend on any order
comparing           verification: what is in the target, and which items differ
item_changes        which items are copied, and what is made of them
where_expression    a condition with its values written out
patient_calls       requests that wait for a busy service, and keep to a rate
unit_rate           so many units a second
"""

from tablewright.transfer.copying import CopyOptions, CopyProgress, TableCopy, copy_tables
from tablewright.transfer.errors import TransferError
from tablewright.transfer.item_changes import ItemChanges
from tablewright.transfer.item_digests import ItemDifference
from tablewright.transfer.place_opening import open_places
from tablewright.transfer.places import Page, Source, Target

__all__ = [
    "CopyOptions",
    "CopyProgress",
    "ItemChanges",
    "ItemDifference",
    "Page",
    "Source",
    "TableCopy",
    "Target",
    "TransferError",
    "copy_tables",
    "open_places",
]
