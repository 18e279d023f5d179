"""The consumers of a stream, shown below its tail: how far they are behind, where they run, their dead letters, and
replay.

A dead letter is retried by the process that runs its consumer: by this one if the studio is part of `up`.
Otherwise the studio explains how to do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from shlex import quote

from tablewright.store import DeadLetter
from tablewright.studio.observe.item_history import draw_images
from tablewright.studio.observe.stream_consumers import ConsumerState, FoundConsumers, consumers_of, images_of
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block
from tablewright.ui.components import Column, Tone, box, button, pill, text
from tablewright.ui.components import table as draw_table
from tablewright.ui.feedback import dialog, toast

__all__ = ["StreamConsumers"]


class StreamConsumers:
    """The consumers of one stream in one browser tab."""

    def __init__(self, page: StudioPage, arn: str, key: Sequence[str]) -> None:
        self._page = page
        self._arn = arn
        self._key = key
        # What is drawn: consumers change all the time, and dead letters have buttons that are clicked meanwhile.
        self._states: object = None
        self._letters: object = None
        with box("tw-card st-consumers"):
            text(page.t("observe.consumers"), "tw-h2", "h2")
            self._table = box("")
            self._list = box("")

    async def show(self) -> None:
        """Draw the consumers; unchanged parts are not redrawn."""
        found = await consumers_of(self._page.database, self._page.tables, self._arn)
        shown = [(each.name, self._behind(each), self._lease(each), _count(each)) for each in found.consumers]
        if shown != self._states:
            self._states = shown
            self._table.clear()
            with self._table:
                self._draw_states(found.consumers)
        letters = [letter for each in found.consumers for letter in each.letters]
        if (letters, found.is_complete) != self._letters:
            self._letters = letters, found.is_complete
            self._list.clear()
            with self._list:
                self._draw_letters(letters, found)

    def _draw_states(self, consumers: Sequence[ConsumerState]) -> None:
        t = self._page.t
        if not consumers:
            text(t("observe.no_consumers"), "tw-mute")
            return
        columns: list[Column[ConsumerState]] = [
            Column(t("observe.consumer"), lambda state: text(state.name, "tw-mono tw-strong")),
            Column(t("observe.behind"), lambda state: pill(*self._behind(state))),
            Column(t("observe.lease"), lambda state: text(*self._lease(state))),
            Column(t("observe.dead_letters"), lambda state: pill(_count(state), "bad" if state.letters else "good")),
        ]
        draw_table(columns, consumers, caption=t("observe.consumers"))

    def _behind(self, state: ConsumerState) -> tuple[str, Tone]:
        t = self._page.t
        if state.is_rebuilding:
            return t("observe.rebuilding"), "info"
        if state.behind is None:
            return t("observe.behind_unknown"), "warn"
        if not state.behind:
            return t("observe.caught_up"), "good"
        return t("observe.seconds_behind", seconds=f"{state.behind:,.0f}"), "warn"

    def _lease(self, state: ConsumerState) -> tuple[str, str]:
        if state.owner is None or state.leased_until is None or state.leased_until < datetime.now(UTC):
            return self._page.t("observe.nobody_runs"), "tw-mute"
        return state.owner, "tw-mono tw-small"

    # -- dead letters -----------------------------------------------------------------------------------------------

    def _draw_letters(self, letters: Sequence[DeadLetter], found: FoundConsumers) -> None:
        for letter in letters:
            self._draw_letter(letter)
        if not all(self._can_replay(letter.consumer) for letter in letters):
            self._say_how()
        if not found.is_complete:
            text(self._page.t("observe.consumers_cut"), "tw-mute tw-small", "p")

    def _draw_letter(self, letter: DeadLetter) -> None:
        t = self._page.t
        with box("st-record st-letter"):
            with box("tw-row tw-wrap"):
                pill(t("observe.dead_letter"), "bad")
                text(letter.consumer, "tw-mono tw-strong")
                text(t("observe.tried", number=letter.attempts), "tw-mute tw-small")
                box("st-grow")
                text(letter.failed_at.strftime("%Y-%m-%d %H:%M:%S"), "tw-mute tw-small tw-num")
                if self._can_replay(letter.consumer):
                    button(t("observe.replay"), lambda: self._replay(letter), icon_name="refresh", small=True)
            text(letter.error, "st-error tw-mono tw-small")
            with box("", "details"):
                text(t("observe.images"), "tw-small tw-link", "summary")
                draw_images(t, *images_of(letter), self._key)

    def _can_replay(self, consumer: str) -> bool:
        return self._page.may_write and self._page.database.runs(consumer)

    def _say_how(self) -> None:
        """How to retry dead letters that this studio cannot retry."""
        t, database = self._page.t, self._page.database
        if database.consumers is not None:
            text(t("observe.replay_read_only"), "tw-mute tw-small", "p")
            return
        text(t("observe.replay_about"), "tw-mute tw-small", "p")
        is_endpoint = database.engine is None
        place = f"--endpoint {quote(database.name)}" if is_endpoint else f"--data {quote(database.name)}"
        if database.name.startswith("aws"):
            place = f"--region {quote(database.name.partition(':')[2] or 'REGION')}"
        code_block(f"tablewright up {place} --studio-write", t)

    async def _replay(self, letter: DeadLetter) -> None:
        """Ask, have the consumer handle the change again, and say what came of it."""
        page, t = self._page, self._page.t
        page.database.check_may_write()
        with page.client, dialog(t("observe.replay")) as made:
            text(t("observe.will_replay", consumer=letter.consumer), "tw-mute", "p")
            text(letter.error, "st-error tw-mono tw-small")
            draw_images(t, *images_of(letter), self._key)
            with box("tw-form-foot"):
                button(t("shell.cancel"), lambda: made.submit(False))
                button(t("observe.replay"), lambda: made.submit(True), kind="primary", data_submit=True)
        if not await made:
            return
        try:
            await page.database.replay(letter, page.user_id)
            toast(t("observe.replayed", consumer=letter.consumer))
        finally:
            await self.show()


def _count(state: ConsumerState) -> str:
    return f"{len(state.letters)}{'+' if state.has_more else ''}"
