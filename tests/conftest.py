"""What every test runs under: no time limit per Hypothesis example, and no AWS account in reach."""

import gc
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.examples import THOROUGH, examples

if TYPE_CHECKING:
    from tests.ui.screen_browser import Screens

# Two workers share two cores, and a commit waits for the disk: the time of one example says nothing.
# `make test` tries the same examples every time, so that a failure belongs to a change; `make test-slow` tries others.
settings.register_profile("tablewright", deadline=None, max_examples=examples(150), derandomize=not THOROUGH)
settings.load_profile("tablewright")

# Set once and before any client exists, for the processes that tests start as well.
os.environ.update(
    AWS_ACCESS_KEY_ID="AKIAIOSFODNN7EXAMPLE",
    AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_CONFIG_FILE=os.devnull,
    AWS_SHARED_CREDENTIALS_FILE=os.devnull,
    AWS_EC2_METADATA_DISABLED="true",
)
for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
    os.environ.pop(name, None)


@pytest.fixture
def screens(request: pytest.FixtureRequest) -> "Iterator[Screens]":
    """The systems and a browser, for tests of screens; windows are closed after the test."""
    from tests.ui.screen_browser import shared_screens

    found = shared_screens(getattr(request, "param", "embedded"))
    try:
        yield found
    finally:
        found.close()


# Collection makes half a million objects that stay: looking for garbage among them takes a fifth of its time.
gc.disable()


def pytest_collection_finish() -> None:
    """No garbage collection has to visit them again, and there are few of them: they were a twentieth of the work."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
