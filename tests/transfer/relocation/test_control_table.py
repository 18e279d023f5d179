"""Who may write: a process that was taken for dead changes nothing, and nothing is applied a second time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from tablewright.engine import Engine
from tablewright.store import EmbeddedBackend, PlaceSwitch
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.table_place import TablePlace
from tablewright.transfer.relocation.control_table import ControlTable, TakenOver
from tests.transfer.samples import ORDERS, items_of, orders

pytestmark = pytest.mark.requirement("SH6")

FIRST, SECOND, THIRD = ([{"Put": {"TableName": "Orders", "Item": item}}] for item in orders(3))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        engine.call("CreateTable", ORDERS)
        yield engine


def control(engine: Engine) -> ControlTable:
    calls = PatientCalls(EmbeddedBackend(engine, owned=False))
    return ControlTable(TablePlace("here", calls), calls)


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]  # it is an async function


def test_a_process_that_was_taken_over_from_writes_nothing(engine: Engine) -> None:
    async def work() -> None:
        old, new = control(engine), control(engine)
        await old.ensure()
        await old.take_over(await old.next_owner())
        lane = await old.set_lane("shard", {"after": None})
        await old.advance(lane, {"after": "1"}, FIRST)
        await new.take_over(await new.next_owner())
        for attempt in (
            old.advance(lane, {"after": "2"}, SECOND),
            old.write(SECOND),
            old.set_lane("another", {"after": None}),
            old.update_main({"phase": {"S": "following"}}),
            old.set_switch(PlaceSwitch("open", 1), await old.switch()),
            old.step(PlaceSwitch.opening(1, ["Orders"])),
            old.take_over(old.owner),
            old.clear(),
        ):
            with pytest.raises(TakenOver):
                await attempt
        assert items_of(engine, "Orders") == orders(1)
        (found,) = await new.lanes()
        assert found.position == {"after": "1"}
        await new.advance(found, {"after": "2"}, SECOND)
        assert items_of(engine, "Orders") == orders(2)

    run(work)


def test_what_got_through_is_not_applied_again(engine: Engine) -> None:
    async def work() -> None:
        mine = control(engine)
        await mine.ensure()
        await mine.take_over(await mine.next_owner())
        lane = await mine.set_lane("shard", {"after": None})
        (again,) = await mine.lanes()
        await mine.advance(lane, {"after": "1"}, FIRST)
        # Its response got lost: the same batch, from the position before.
        await mine.advance(again, {"after": "1"}, SECOND)
        assert items_of(engine, "Orders") == orders(1)
        with pytest.raises(TakenOver):
            await mine.advance(await mine.set_lane("x", {"after": "0"}), {"after": "2"}, [*THIRD, *_impossible()])

    def _impossible() -> list[dict[str, object]]:
        return [
            {
                "Delete": {
                    "TableName": "Orders",
                    "Key": {"pk": {"S": "no"}, "sk": {"N": "1"}},
                    "ConditionExpression": "attribute_exists(pk)",
                }
            }
        ]

    run(work)


def test_a_request_is_taken_in_its_phases_only(engine: Engine) -> None:
    async def work() -> None:
        mine = control(engine)
        await mine.ensure()
        await mine.create_main({"phase": {"S": "reversing"}})
        await mine.create_main({"phase": {"S": "copying"}})
        assert not await mine.ask("cut", ["copying", "following"])
        assert await mine.ask("back", ["reversing"])
        main = await mine.main()
        assert main is not None
        assert (main["phase"], main["asked"]) == ({"S": "reversing"}, {"S": "back"})
        await mine.withdraw("cut")
        assert "asked" in (await mine.main() or {})
        await mine.withdraw("back")
        assert "asked" not in (await mine.main() or {})

    run(work)
