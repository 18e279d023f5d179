"""Customers that a run could not process: a record for each, so that a resumed run retries them.

The record is written in the transaction that counts the customer as failed, and deleted in the one that counts the
customer otherwise. It has the attempt of the run that failed, so that a run retries each of them once each time it is
resumed, even if it is interrupted meanwhile. The rows themselves are read from the source again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256

from tablewright.store import TolerantReader
from tablewright.systems.engagement.model import FailedCustomer, Run
from tablewright.systems.engagement.scoring.prospects import Prospect

# Maximum records in memory; their source is read once for each such batch.
MAX_HELD = 10_000
_PAGE = 500

Place = tuple[str, str, str]


def failed_customer(run: Run, connector: int, prospect: Prospect, reason: str, expires: datetime) -> FailedCustomer:
    """The record of a failed customer."""
    digest = sha256("\x00".join(map(_escaped, prospect.place)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    customer, type_, id_ = prospect.place
    return FailedCustomer(
        program_id=run.program_id,
        marketplace_id=run.marketplace_id,
        run_id=run.run_id,
        connector=connector,
        customer_id=customer,
        subject_type=type_,
        subject_id=id_,
        digest=digest,
        reason=reason,
        attempt=run.attempt,
        ttl=expires,
    )


def _escaped(text: str) -> str:
    """The text with NULs escaped, so that a NUL can separate several texts."""
    return text.replace("\x01", "\x01\x01").replace("\x00", "\x01\x02")


def failed_before(reader: TolerantReader, run: Run) -> Iterator[tuple[int, dict[Place, FailedCustomer]]]:
    """Customers who failed in an earlier attempt of a run, by connector and position, up to the maximum in memory."""
    held: dict[Place, FailedCustomer] = {}
    connector = 0
    for each in failures(reader, run.program_id, run.marketplace_id, run.run_id):
        if each.attempt >= run.attempt:
            continue
        if held and (each.connector != connector or len(held) == MAX_HELD):
            yield connector, held
            held = {}
        connector = each.connector
        held[each.place] = each
    if held:
        yield connector, held


def failures(reader: TolerantReader, program_id: str, marketplace_id: str, run_id: str) -> Iterator[FailedCustomer]:
    """All failed customers of a run, in the order of connectors."""
    selection = FailedCustomer.of_run(program_id, marketplace_id, run_id)
    cursor = None
    while True:
        page = reader.page(selection, limit=_PAGE, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def among(
    chunks: Iterable[list[Prospect]], wanted: Mapping[Place, FailedCustomer], size: int
) -> Iterator[list[Prospect]]:
    """The wanted rows of a source, in chunks; it is read no further than the last of them."""
    left = set(wanted)
    found: list[Prospect] = []
    for chunk in chunks:
        for prospect in chunk:
            if prospect.place in left:
                left.discard(prospect.place)
                found.append(prospect)
        if len(found) >= size or not left:
            yield found
            found = []
        if not left:
            return
    if found:
        yield found
