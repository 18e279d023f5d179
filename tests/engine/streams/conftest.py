"""A clock that tests of streams set."""

import pytest

from tests.clocks import Clock
from tests.engine.streams.music_stream import START


@pytest.fixture
def clock() -> Clock:
    return Clock(START)
