"""The process that is killed: the workload on an engine of its own.

python -m tests.crash.writer FOLDER FIRST_VERSION SEED
"""

from __future__ import annotations

import os
import sys
import time

from tablewright.engine import Engine
from tablewright.engine.tables import index_backfill
from tests.crash import workload


def main(folder: str, first_version: int, seed: int) -> None:
    # Many steps to be killed between, and many checkpoints to be killed in.
    index_backfill._CHUNK = 20
    engine = Engine.open(folder)
    if seed % 2:
        engine._storage.checkpoint_pages = 40

    def tell(lines: str) -> None:
        # One write to the pipe: whole, or not at all.
        os.write(1, lines.encode())

    workload.prepare(engine.call)
    workload.start(engine.call, tell, first_version, seed)
    while True:
        engine.sweep()
        time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
