"""What a page says, and hears, lasts as long as the page."""

from __future__ import annotations

import gc
import weakref
from zoneinfo import ZoneInfo

import pytest
from nicegui import Client, ui

from tablewright.ui.feedback import speak, toast
from tablewright.ui.forms import follow_choices, select
from tablewright.ui.texts import Texts

pytestmark = pytest.mark.requirement("AP2")


class Drawn:
    """A page with all that refers back to it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        with client:
            speak(Texts({}, "en", ZoneInfo("UTC")), self.leave)
            follow_choices()
            select({"a": "A"}, "a", self.chosen)

    def leave(self) -> None: ...

    def chosen(self, _: str) -> None: ...


def test_nothing_of_a_page_is_kept_when_its_browser_has_gone() -> None:
    client = Client(ui.page("/anywhere"), request=None)
    drawn = weakref.ref(Drawn(client))
    gc.collect()
    assert drawn() is not None
    client.delete()
    with client:
        # Said by what was still under way.
        toast("done")
    del client
    gc.collect()
    assert drawn() is None
