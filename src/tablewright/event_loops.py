"""The event loop of a server, in a process of its own (``serve``, ``up``) or in a thread of another program.

with server_process_loop() as runner:
    runner.run(main())
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

__all__ = ["new_event_loop", "server_process_loop"]

# The event loop has to reacquire the interpreter lock several times per request, after every system call and every call
# of SQLite; while another thread is working, it waits up to this long each time. With Python's 5 ms, clients wait for
# 16 to 25 ms during each large request of another, with this for 6 or 7; the large one takes about 4 % longer.
_SWITCH_SECONDS: Final = 0.001


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed (it is not available on every platform), else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def server_process_loop() -> asyncio.Runner:
    """For a server that has the process to itself: its threads hand the interpreter over sooner."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    return asyncio.Runner(loop_factory=new_event_loop)
