"""Tests whether the streams of a place do what a relocation needs, in a table of its own, before anything is begun.

A stream is enabled with each cut and disabled on the way back, and a place is written to while it is disabled. Not
every server with streams supports that: with moto, writes fail once a stream was disabled. This must be known before a
cut, which holds requests. The streams of Amazon DynamoDB are known to support it, and take a minute for it.
"""

from __future__ import annotations

from contextlib import suppress

from tablewright.store import PlaceSwitch, Request, ServiceError
from tablewright.transfer.errors import TransferError
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.table_place import TablePlace
from tablewright.transfer.relocation.control_table import CONTROL_DEFINITION
from tablewright.transfer.relocation.table_streams import WHOLE_IMAGES, TableStreams

TRIAL_TABLE = f"{PlaceSwitch.TABLE}-check"


async def try_streams(place: TablePlace, calls: PatientCalls) -> None:
    """TransferError with the place's error if its tables cannot be relocated."""
    if place.place.partition(":")[0] == "aws":
        return
    streams = TableStreams(place, calls)
    step = "be turned on"
    try:
        await place.create(TRIAL_TABLE, CONTROL_DEFINITION)
        await streams.turn_on(TRIAL_TABLE, WHOLE_IMAGES[0])
        step = "be turned off and on again, with writes in between"
        await streams.turn_off(TRIAL_TABLE)
        # Without retries: an error is the result.
        await calls.backend.call_async(Request("PutItem", {"TableName": TRIAL_TABLE, "Item": PlaceSwitch.KEY}))
        await streams.turn_on(TRIAL_TABLE, WHOLE_IMAGES[0])
    except (ServiceError, TransferError) as error:
        said = " ".join(str(error).split())[:200]
        raise TransferError(
            f"{place.place} cannot be used for a relocation, as its streams cannot {step}: {said}; stop the "
            "programs, and copy the tables with tablewright copy"
        ) from None
    finally:
        with suppress(ServiceError):
            await calls.call("DeleteTable", {"TableName": TRIAL_TABLE})
