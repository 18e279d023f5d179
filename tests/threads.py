"""Work in several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_threads(*work: Callable[[], None]) -> None:
    """Runs each in a thread of its own, all from the same moment; what one of them raises is raised here."""
    errors: list[BaseException] = []
    together = threading.Barrier(len(work))

    def run(function: Callable[[], None]) -> None:
        try:
            together.wait()
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
