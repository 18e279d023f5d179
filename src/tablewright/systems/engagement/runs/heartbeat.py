"""A lease that is renewed during work, however long a single step takes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tablewright.store import StoreError

_log = logging.getLogger(__name__)


@contextmanager
def kept(renew: Callable[[], bool], every: float) -> Iterator[None]:
    """Renew a lease at an interval, in a thread, until the work has ended or ``renew`` reports that it is lost."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(every):
            try:
                if not renew():
                    return
            except StoreError as error:
                # Some attempts are left before it expires.
                _log.warning("a lease could not be renewed", exc_info=error, extra={"system": "engagement"})

    thread = threading.Thread(target=beat, name="engagement.heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
