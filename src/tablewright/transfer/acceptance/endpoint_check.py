"""What an endpoint can and cannot do: each capability is tested, in tables of the check's own.

    yes        it responds as DynamoDB does
    no         it refuses the request, with the error shown
    differs    it responds differently

Tables have their own prefix, and are deleted at the end, also after Ctrl-C. Any that remain are named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from tablewright.store import Backend, StoreError
from tablewright.transfer.acceptance import item_probes, store_probe, table_probes, transaction_probes
from tablewright.transfer.acceptance.probe_tables import ProbeTables, Unmet

__all__ = ["CAPABILITIES", "CapabilityResult", "EndpointReport", "check_endpoint"]

Outcome = Literal["yes", "no", "differs"]
_PROBE_SECONDS = 180.0

CAPABILITIES: dict[str, Callable[[ProbeTables], Awaitable[None]]] = {
    "every type of value": item_probes.values,
    "numbers of 38 digits": item_probes.numbers,
    "items of 400 KB": item_probes.item_size,
    "conditions": item_probes.conditions,
    "update expressions": item_probes.updates,
    "consistent reads": item_probes.consistent_reads,
    "queries": item_probes.queries,
    "parallel scans": item_probes.scans,
    "batches": item_probes.batches,
    "transactions": transaction_probes.atomic,
    "transactions once by token": transaction_probes.tokens,
    "transactions of 100 actions and 4 MB": transaction_probes.limits,
    "isolation of transactions": transaction_probes.isolation,
    "global indexes": table_probes.global_indexes,
    "global indexes added later": table_probes.added_indexes,
    "local indexes": table_probes.local_indexes,
    "streams": table_probes.streams,
    "time to live": table_probes.time_to_live,
    "point-in-time recovery": table_probes.recovery,
    "backups": table_probes.backups,
    "PartiQL": item_probes.partiql,
    "tags": table_probes.tags,
    "consumed capacity": item_probes.capacity,
    "the store": store_probe.store,
}
"""The probes, by capability."""


@dataclass(frozen=True, slots=True)
class CapabilityResult:
    """One capability, whether the endpoint has it, and what it does instead."""

    name: str
    outcome: Outcome
    detail: str = ""


@dataclass(slots=True)
class EndpointReport:
    """What an endpoint can do."""

    results: list[CapabilityResult] = field(default_factory=list)
    # Tables and backups that could not be deleted.
    left_over: list[str] = field(default_factory=list)

    @property
    def lacking(self) -> dict[str, CapabilityResult]:
        """What it cannot do, or does differently, by name."""
        return {result.name: result for result in self.results if result.outcome != "yes"}


async def check_endpoint(
    backend: Backend, on_result: Callable[[CapabilityResult], None] = lambda _: None
) -> EndpointReport:
    """Test all capabilities of an endpoint, one after the other."""
    tables = ProbeTables(backend)
    report = EndpointReport()
    # Whether the endpoint responds at all.
    await tables.call("ListTables", Limit=1)
    try:
        for name, probe in CAPABILITIES.items():
            result = await _tried(name, probe, tables)
            report.results.append(result)
            on_result(result)
    finally:
        report.left_over = await tables.clean()
    return report


async def _tried(name: str, probe: Callable[[ProbeTables], Awaitable[None]], tables: ProbeTables) -> CapabilityResult:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            await probe(tables)
    except Unmet as error:
        return CapabilityResult(name, "differs", str(error))
    except StoreError as error:
        return CapabilityResult(name, "no", " ".join(str(error).split()).rstrip(":"))
    except TimeoutError:
        return CapabilityResult(name, "no", f"it did not finish within {_PROBE_SECONDS:.0f} seconds")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return CapabilityResult(name, "differs", f"unexpected response: {type(error).__name__}: {error}")
    return CapabilityResult(name, "yes")
