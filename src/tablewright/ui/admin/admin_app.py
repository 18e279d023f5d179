"""Admin (``app``): the screens for administrators."""

from __future__ import annotations

from collections.abc import Sequence

from tablewright.ui.admin.admin_texts import texts
from tablewright.ui.admin.consumers_view import consumers
from tablewright.ui.admin.directory_view import directory
from tablewright.ui.admin.health_view import health
from tablewright.ui.admin.privacy_view import personal_data
from tablewright.ui.admin.records_view import events, refused_mail, unreadable_items
from tablewright.ui.applications import Application, Waiting
from tablewright.ui.screen_page import Page

__all__ = ["app"]

app = Application("runtime", title="admin.title", icon="settings", texts=texts)
app.view("/health", title="admin.health", tab=True, needs=["consumers", "search_indexes"])(health)
app.view("/people", title="admin.people", tab=True, needs=["people"])(directory)
app.view("/consumers", "/consumers/{name}", title="admin.consumers", tab=True, needs=["consumers"])(consumers)
app.view("/events", title="admin.events", tab=True, needs=["events"])(events)
app.view("/mail", title="admin.mail", tab=True, needs=["dead_mail"])(refused_mail)
app.view("/unreadable", title="admin.unreadable", tab=True, needs=["unreadable"])(unreadable_items)
app.view("/privacy", title="admin.privacy", tab=True, needs=["find_personal_data", "erase_personal_data"])(
    personal_data
)


async def waiting(page: Page) -> Sequence[Waiting]:
    """What is failing, and what needs attention."""
    t, api = page.t, page.api_of("runtime")
    found = (await api.call("consumers")).body
    path = page.path_in("runtime", "/consumers")
    failing = [each for each in found if each["failing"]]
    letters = sum(each["dead_letters"] for each in found)
    return [
        Waiting(t("admin.waiting_failing"), len(failing), path, "bad"),
        Waiting(t("admin.waiting_dead"), letters, path, "warn"),
    ]


app.waiting = waiting
