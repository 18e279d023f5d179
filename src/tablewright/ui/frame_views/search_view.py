"""The results of a search: what each application finds that the user may read, with the words that were found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tablewright.ui.api_calls import Refused
from tablewright.ui.applications import Application, View
from tablewright.ui.components import banner, box, card, empty, failed, pill, text
from tablewright.ui.feedback import error_text
from tablewright.ui.screen_page import Page

__all__ = ["search_results"]

_MOST = 20
# An index that is further behind than this says so.
_BEHIND = 5.0


async def search_results(page: Page) -> None:
    """Draw the results, application by application."""
    t, query = page.t, page.query.get("q", "").strip()[:200]
    searched = [each for each in page.applications if each.search and page.api_of(each.name).may("search")]
    answers = await asyncio.gather(*(_search(page, each, query) for each in searched)) if query else []
    with box("tw-body tw-body-narrow"):
        found = 0
        for application, answer in zip(searched, answers, strict=bool(query)):
            if isinstance(answer, Refused):
                failed(t(application.title), error_text(answer, t))
                continue
            if answer["is_building"]:
                banner(t("shell.search_building", name=t(application.title)))
            elif answer["behind_seconds"] > _BEHIND:
                banner(t("shell.search_behind", name=t(application.title), seconds=int(answer["behind_seconds"])))
            results = [each for each in answer["results"] if each["kind"] in application.search]
            found += len(results)
            if results:
                with card(t(application.title)):
                    for each in results:
                        _draw(page, application, each)
        if not found:
            empty(t("shell.search_none", query=query), t("shell.search_hint"), "search")


async def _search(page: Page, application: Application, query: str) -> Any:
    try:
        return (await page.api_of(application.name).call("search", q=query, limit=_MOST)).body
    except Refused as error:
        return error


def _draw(page: Page, application: Application, result: Mapping[str, Any]) -> None:
    ids = {name: quote(value, safe="") for name, value in result["ids"].items()}
    paths = application.search[result["kind"]]
    views = page.shell.views_of(application, page.session)
    leading = [each for each in ([paths] if isinstance(paths, str) else paths) if _leads(application, each, views)]
    path = page.path_in(application.name, (leading or [""])[0].format_map(ids))
    with box("tw-item", "a", href=path, data_go=True, data_row=True):
        with box("tw-row-between"):
            _draw_passage(result["title"], "tw-item-title tw-clip")
            pill(page.t(f"shell.kind_{result['kind']}"))
        if result["excerpt"]["matches"] or result["excerpt"]["text"] != result["title"]["text"]:
            _draw_passage(result["excerpt"], "tw-mute tw-small")


def _leads(application: Application, path: str, views: Sequence[View]) -> bool:
    """Whether a path leads to one of some views."""
    found = application.find(path)
    return found is not None and found[0] in views


def _draw_passage(passage: Mapping[str, Any], classes: str) -> None:
    """A text, with the words that were found marked."""
    shown, place = passage["text"], 0
    with box(classes):
        for first, last in [*passage["matches"], [len(shown), len(shown)]]:
            if first > place:
                text(shown[place:first])
            if last > first:
                text(shown[first:last], "tw-found", "mark")
            place = last
