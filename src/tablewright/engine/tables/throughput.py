"""Changes to the throughput of tables and global indexes.

A holder is the description of a table or of a global index. Each change is made to two of them: ``stored``, the new
state, and ``response``, which partly still has the old values: the service responds before it has finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tablewright.dynamo import LimitExceededException, ValidationException
from tablewright.engine.tables.table_checks import ON_DEMAND, PROVISIONED, invalid
from tablewright.engine.tables.table_description import decreases_today, set_billing_mode

Holder = dict[str, Any]

_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")
_WARM_UNITS = ("ReadUnitsPerSecond", "WriteUnitsPerSecond")
_INITIAL_ON_DEMAND = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000}
_FREE_DECREASES = 4
_DECREASE_INTERVAL = 3600.0


def change_capacity(stored: Holder, response: Holder, wanted: Mapping[str, int], now: float) -> None:
    """Other units for a provisioned table or index. The response still shows the old ones."""
    current = stored["ProvisionedThroughput"]
    if all(wanted[unit] == current[unit] for unit in _UNITS):
        raise ValidationException(_no_change(stored.get("IndexName"), current, wanted))
    changed = {**current, **{unit: wanted[unit] for unit in _UNITS}}
    stamps: dict[str, float] = {}
    if any(wanted[unit] < current[unit] for unit in _UNITS):
        changed["NumberOfDecreasesToday"] = _count_decrease(current, now)
        stamps["LastDecreaseDateTime"] = now
    if any(wanted[unit] > current[unit] for unit in _UNITS):
        stamps["LastIncreaseDateTime"] = now
    stored["ProvisionedThroughput"] = {**changed, **stamps}
    response["ProvisionedThroughput"] = {
        **current,
        **stamps,
        "NumberOfDecreasesToday": decreases_today(current, now),
    }
    _warm_up(stored, dict(zip(_WARM_UNITS, (wanted[unit] for unit in _UNITS), strict=True)))


def _no_change(index: str | None, current: Mapping[str, int], wanted: Mapping[str, int]) -> str:
    what, where = (f"the index {index}", f"index {index}") if index else ("the table", "the table")
    units = "".join(
        f"Current {unit} provisioned for {where}: {current[unit]}. Requested {unit}: {wanted[unit]}. "
        for unit in _UNITS
    )
    return (
        f"The provisioned throughput for {what} will not change. "
        f"The requested value equals the current value. {units}"
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )


def _count_decrease(throughput: Mapping[str, Any], now: float) -> int:
    """The number of today's decreases including this one: four are free, then one per hour."""
    today = decreases_today(throughput, now)
    if today >= _FREE_DECREASES:
        last = throughput["LastDecreaseDateTime"]
        following = min(last + _DECREASE_INTERVAL, (now // 86400 + 1) * 86400)
        if now < following:
            raise LimitExceededException(
                "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given "
                f"UTC day. After the first {_FREE_DECREASES} decreases, each subsequent decrease in the same "
                f"UTC day can be performed at most once every {_DECREASE_INTERVAL:.0f} seconds. "
                f"Number of decreases today: {today}. Last decrease at {_in_words(last)}. "
                f"Next decrease can be made at {_in_words(following)}."
            )
    return today + 1


def _in_words(moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return (
        f"{at:%A}, {at:%B} {at.day}, {at.year} at {at.hour % 12 or 12}:{at:%M:%S} "
        f"{'AM' if at.hour < 12 else 'PM'} Coordinated Universal Time"
    )


def set_capacity(holder: Holder, wanted: Mapping[str, int]) -> None:
    """Units for a table or index that was on demand until now; this is neither an increase nor a decrease."""
    holder["ProvisionedThroughput"] = {
        **holder["ProvisionedThroughput"],
        **{unit: wanted[unit] for unit in _UNITS},
    }


def switch_to_on_demand(stored: Holder, response: Holder, now: float) -> None:
    """A provisioned table, with its indexes, becomes an on-demand one."""
    none = dict.fromkeys(_UNITS, 0)
    throughput = response["ProvisionedThroughput"]
    throughput["NumberOfDecreasesToday"] = decreases_today(throughput, now)
    for holder in (stored, response):
        set_capacity(holder, none)
    response["ProvisionedThroughput"]["LastDecreaseDateTime"] = now
    response["BillingModeSummary"] = {**response.get("BillingModeSummary", {}), "BillingMode": ON_DEMAND}
    response["TableThroughputModeSummary"] = {
        **response.get("TableThroughputModeSummary", {}),
        "TableThroughputMode": ON_DEMAND,
    }
    set_billing_mode(stored, ON_DEMAND, now)
    _warm_up(stored, _INITIAL_ON_DEMAND)
    for index in stored.get("GlobalSecondaryIndexes", ()):
        throughput = index["ProvisionedThroughput"]
        throughput["NumberOfDecreasesToday"] = decreases_today(throughput, now) + 1
        throughput["LastDecreaseDateTime"] = now
        set_capacity(index, none)
        _warm_up(index, _INITIAL_ON_DEMAND)
    for index in response.get("GlobalSecondaryIndexes", ()):
        index["IndexStatus"] = "UPDATING"
        set_capacity(index, none)


def switch_to_provisioned(stored: Holder, response: Holder, wanted: Mapping[str, int], now: float) -> None:
    """An on-demand table becomes a provisioned one. Its ceilings are removed; its warm throughput stays."""
    for holder in (stored, response):
        set_capacity(holder, wanted)
        set_billing_mode(holder, PROVISIONED, now)
        holder.pop("OnDemandThroughput", None)
        for index in holder.get("GlobalSecondaryIndexes", ()):
            index.pop("OnDemandThroughput", None)


def change_ceilings(stored: Holder, response: Holder, wanted: Mapping[str, int]) -> None:
    """Ceilings for on-demand use, member by member; the response shows even the -1 that removes one."""
    response["OnDemandThroughput"] = {**stored.get("OnDemandThroughput", {}), **wanted}
    left = {member: units for member, units in response["OnDemandThroughput"].items() if units != -1}
    if left:
        stored["OnDemandThroughput"] = left
    else:
        stored.pop("OnDemandThroughput", None)


def change_warm_throughput(stored: Holder, response: Holder, wanted: Mapping[str, int]) -> None:
    owner = f"index {stored['IndexName']}" if "IndexName" in stored else "table"
    current = stored["WarmThroughput"]
    for member in _WARM_UNITS:
        if wanted.get(member, current[member]) < current[member]:
            raise invalid(
                f"Requested {member} for WarmThroughput for {owner} is lower than current WarmThroughput, "
                "decreasing WarmThroughput is not supported"
            )
    stored["WarmThroughput"] = {**current, **wanted}
    response["WarmThroughput"]["Status"] = "UPDATING"


def _warm_up(holder: Holder, units: Mapping[str, int]) -> None:
    """The warm throughput of a table or index never decreases."""
    warm = holder["WarmThroughput"]
    holder["WarmThroughput"] = {
        **warm,
        **{member: max(warm[member], units[member]) for member in _WARM_UNITS},
    }
