"""The folder for what a run installs and writes: peers from npm, PyPI and Maven, and data of file-backed targets."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".bench-cache"


@contextmanager
def data_folder() -> Iterator[Path]:
    """A folder for one run, on the repository's disk: the system's temporary folder may be memory."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="data-", dir=CACHE) as folder:
        yield Path(folder)
