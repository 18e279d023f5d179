"""Copying data between places: ``tablewright copy`` and ``relocate`` do it, ``check`` tests an endpoint first.

    place ──▶ segments, read in parallel ──▶ filter, transform ──▶ place
                                                │
                     state file: what is done, with counts and checksums ──▶ verification

copying             the copy itself: segments, read-ahead, state
blob_copies         large values that items refer to, from one blob store to another
copy_state          the state file, from which a stopped copy continues
item_digests        counts and checksums that do not depend on the order of items
comparing           verification: what is in the target, and which items differ
places/             what SOURCE and TARGET may be: tables of a data folder, an endpoint, Amazon DynamoDB; files
files/              DynamoDB JSON, JSON Lines, CSV and Parquet, with types from the design
relocation/         moving tables while they are in use, and moving them back
acceptance/         what an endpoint can do, and which of its features a design needs
changes/            conditions, pseudonyms, and user functions
"""

from tablewright.transfer.acceptance.design_needs import needs_of
from tablewright.transfer.acceptance.endpoint_check import (
    CAPABILITIES,
    CapabilityResult,
    EndpointReport,
    check_endpoint,
)
from tablewright.transfer.blob_copies import BlobCopies
from tablewright.transfer.changes.item_changes import ItemChanges
from tablewright.transfer.changes.pseudonyms import Pseudonyms
from tablewright.transfer.copying import CopyOptions, CopyProgress, TableCopy, copy_tables
from tablewright.transfer.errors import TransferError
from tablewright.transfer.item_digests import ItemDifference
from tablewright.transfer.places.place_opening import open_places
from tablewright.transfer.places.place_protocols import Page, Source, Target
from tablewright.transfer.places.table_place import endpoint_backend
from tablewright.transfer.relocation.relocation import (
    Relocation,
    RelocationEvent,
    RelocationOptions,
    open_relocation,
)
from tablewright.transfer.relocation.relocation_state import RelocationState

__all__ = [
    "CAPABILITIES",
    "BlobCopies",
    "CapabilityResult",
    "CopyOptions",
    "CopyProgress",
    "EndpointReport",
    "ItemChanges",
    "ItemDifference",
    "Page",
    "Pseudonyms",
    "Relocation",
    "RelocationEvent",
    "RelocationOptions",
    "RelocationState",
    "Source",
    "TableCopy",
    "Target",
    "TransferError",
    "check_endpoint",
    "copy_tables",
    "endpoint_backend",
    "needs_of",
    "open_places",
    "open_relocation",
]
