"""A process that owns a data folder and writes pairs of items, each in one transaction, until it is stopped.

python -m tests.engine.copies.writing_process FOLDER CHECKPOINT_PAGES

It says ``A writer version`` when a pair is acknowledged.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from tablewright.engine import Engine
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, on_demand

TABLES = ("left", "right")
WRITERS = 3


def pair(writer: int, version: int) -> list[dict[str, Any]]:
    return [
        {
            "Put": {
                "TableName": table,
                "Item": {
                    "pk": {"S": f"{writer}-{version % 50}"},
                    "version": {"N": str(version)},
                    "text": {"S": "x" * 700},
                },
            }
        }
        for table in TABLES
    ]


def main(folder: str, checkpoint_pages: int) -> None:
    engine = Engine.open(folder)
    engine._storage.checkpoint_pages = checkpoint_pages
    for table in TABLES:
        engine.call("CreateTable", on_demand(TableName=table, StreamSpecification=NEW_AND_OLD_IMAGES))

    def write(writer: int) -> None:
        version = 0
        while True:
            version += 1
            engine.call("TransactWriteItems", {"TransactItems": pair(writer, version)})
            os.write(1, f"A {writer} {version}\n".encode())

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
