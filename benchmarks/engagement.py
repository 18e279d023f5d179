"""What engagement does in a second: candidates of a batch run, and reads of the best hundred of a million.

A run is that of the demo: two models, their cache, three filters and two channels, durable, in a folder of its own for
each round. The list of a million is filled through the store; each read is a query of the hundred best.
"""

import statistics
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.cache import data_folder
from benchmarks.report import Section, progress

PART = "engagement"
CUSTOMERS, CANDIDATES, BEST = 3_000, 1_000_000, 100
_AT_ONCE = 5_000


def measure(seconds: float, rounds: int) -> Section:
    rates = []
    for turn in range(rounds):
        with data_folder() as folder:
            rates.append(_run(folder, CUSTOMERS))
        progress(f"[engagement] run {turn + 1}/{rounds}: {rates[-1]:,.0f} candidates/s")
    with data_folder() as folder:
        costs = _best(folder, CANDIDATES, seconds, rounds)
    rows = [
        ["customers of a run, scored, filtered and written", f"{statistics.median(rates):,.0f} /s"],
        [f"the best {BEST} of {CANDIDATES:,} candidates", f"{statistics.median(costs) * 1000:.2f} ms"],
    ]
    notes = [
        f"A run has {CUSTOMERS:,} customers, two models without an endpoint, three filters and two channels, in one "
        "thread. Each customer is five items: two scores, the candidate, and an entry for each channel."
    ]
    return Section(PART, "Engagement", notes, ["", "Tablewright"], rows)


def _run(folder: Path, customers: int) -> float:
    """Customers a second that a run deals with."""
    from tablewright.runtime.settings import Settings
    from tablewright.runtime.system import Runtime
    from tablewright.systems.engagement.engagement_system import system
    from tablewright.systems.engagement.model import Program, ProgramVersion
    from tablewright.systems.engagement.platform import Platform
    from tablewright.systems.engagement.sources.demo_customers import write_customers

    settings: dict[str, Any] = {"data": folder, "log_level": "WARNING"}
    runtime = Runtime.open(Settings(**settings), [system])
    try:
        runtime.sync_store.ensure_tables(*system.tables)
        write_customers(folder / "sources" / "customers.csv", customers)
        configuration = _configuration()
        values = {name: getattr(configuration, name) for name in type(configuration).model_fields}
        program = runtime.sync_store.create(Program(program_id="coffee", marketplace_id="EU", **values))
        runtime.sync_store.create(
            ProgramVersion(
                program_id="coffee",
                marketplace_id="EU",
                number=program.version,
                configuration=configuration,
                changed_by="benchmark",
                at=runtime.now(),
            )
        )
        runs = Platform(runtime).runs
        began = time.perf_counter()
        run = runs.execute(runs.begin(program))
        assert (run.state, run.counts.read) == ("completed", customers)
        return customers / (time.perf_counter() - began)
    finally:
        runtime.close()


def _configuration() -> Any:
    from tablewright.systems.engagement.configuration import Configuration

    return Configuration.model_validate(
        {
            "programName": "Coffee lovers",
            "dataConnectors": [
                {"type": "files", "tables": {"customers": "customers.csv"}, "query": "SELECT * FROM customers"}
            ],
            "scoringModels": [{"modelId": "propensity-v1", "weight": 0.7}, {"modelId": "value-v1", "weight": 0.3}],
            "filterChain": {
                "filters": ["frequency", "eligibility", "preference"],
                "settings": {"eligibility": {"rule": {"attribute": "age", "op": "ge", "value": 16}}},
            },
            "channels": [{"channelId": "email", "priority": 1}, {"channelId": "push", "priority": 2}],
        }
    )


def _best(folder: Path, candidates: int, seconds: float, rounds: int) -> list[float]:
    """Seconds that a read of the best takes, in each round."""
    from tablewright.store import Store
    from tablewright.systems.engagement.model import ChannelEntry, Subject
    from tablewright.systems.engagement.model import candidates as table

    now = datetime.now(UTC)
    subject = Subject(type="program", id="p")

    def entry(number: int) -> ChannelEntry:
        return ChannelEntry(
            customer_id=f"c-{number:07}",
            program_id="p",
            marketplace_id="EU",
            subject=subject,
            channel_id="email",
            # All different, in no order.
            score=Decimal(number * 7919 % candidates) / candidates,
            created=now,
            ttl=now + timedelta(days=30),
        )

    with Store.open(folder) as store:
        store.ensure_tables(table)
        for start in range(0, candidates, _AT_ONCE):
            store.write_many(entry(number) for number in range(start, min(start + _AT_ONCE, candidates)))
            if start % 100_000 == 0:
                progress(f"[engagement] {start:,} of {candidates:,} candidates")
        selection = ChannelEntry.top(program_id="p", channel_id="email")
        found = [each.score for each in store.query(selection, limit=BEST).items]
        assert found == sorted(found, reverse=True)
        assert found[0] == Decimal(candidates - 1) / candidates
        costs = []
        for turn in range(rounds):
            reads, began = 0, time.perf_counter()
            while time.perf_counter() - began < seconds:
                assert len(store.query(selection, limit=BEST).items) == BEST
                reads += 1
            costs.append((time.perf_counter() - began) / reads)
            progress(f"[engagement] best {BEST} {turn + 1}/{rounds}: {costs[-1] * 1000:.2f} ms")
        return costs
