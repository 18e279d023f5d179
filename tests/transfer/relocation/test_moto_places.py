"""moto as a place of a relocation: its tables cannot be written to once a stream was turned off, and that is told."""

from __future__ import annotations

import asyncio

import pytest

from tablewright.engine import Engine
from tablewright.store import EndpointBackend, Request
from tablewright.transfer import RelocationOptions, TransferError, open_relocation
from tablewright.wire import serve_in_thread
from tests.systems.moto_process import moto_process
from tests.transfer.samples import ORDERS

KEYS = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}


@pytest.mark.slow
@pytest.mark.requirement("SH6")
@pytest.mark.timeout(120)
def test_moto_is_refused_in_words_before_anything_is_begun() -> None:
    with moto_process() as moto, Engine.open() as engine, serve_in_thread(engine) as ours:
        backend = EndpointBackend("us-east-1", moto, KEYS)
        backend.call(Request("CreateTable", ORDERS))
        engine.call("CreateTable", ORDERS)
        described = engine.call("DescribeTable", {"TableName": "Orders"})

        async def refused(source: str, target: str) -> str:
            async with open_relocation(source, target) as relocation:
                with pytest.raises(TransferError) as raised:
                    await relocation.run(RelocationOptions())
            return str(raised.value)

        for source, target in ((moto, ours), (ours, moto)):
            message = asyncio.run(refused(source, target))
            refusal = "its streams cannot be turned off and on again, with writes in between: "
            assert message.startswith(f"{moto} cannot be used for a relocation, as {refusal}")
            assert message.endswith("; stop the programs, and copy the tables with tablewright copy")
        assert backend.call(Request("ListTables", {}))["TableNames"] == ["Orders"]
        assert engine.call("ListTables", {})["TableNames"] == ["Orders"]
        assert engine.call("DescribeTable", {"TableName": "Orders"}) == described
        backend.close()
