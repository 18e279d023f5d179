"""People: users and their roles; admins add, change, deactivate and reactivate them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablewright.store import AnyChange, Change
from tablewright.systems.tasks.model import Group, User, UserStatus, task_management
from tablewright.ui.components import Column, avatar, box, button, empty, pill, table, text, time
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import LANGUAGE_NAMES, parsed_time

__all__ = ["people"]

_PAGE = 100
UserBody = dict[str, Any]


async def people(page: Page) -> None:
    """Draw the people with a status."""
    view = _People(page)
    await page.live(task_management, view.changed)
    page.on_navigate(view.load)
    if page.may("create_user"):
        with page.actions:
            button(page.t("tasks.new_person"), view.add, kind="primary", icon_name="plus", key="n")
    await view.load()


class _People:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._cursor: str | None = None
        self._drawn: object = None
        self._body = box("tw-body")

    async def changed(self, changes: Sequence[AnyChange] | None) -> None:
        if changes is None or any(isinstance(each, Change) and each.entity is User for each in changes):
            await self.load()

    async def load(self) -> None:
        page, t = self._page, self._page.t
        status = UserStatus.DEACTIVATED if page.query.get("status") == UserStatus.DEACTIVATED else UserStatus.ACTIVE
        cursor = page.query.get("cursor")
        answer = await page.api.call("list_users", status=status, limit=_PAGE, cursor=cursor)
        drawn = status, cursor, answer.body
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self._body.clear()
        with self._body:
            with box("tw-row"):
                for each in UserStatus:
                    current = "page" if each is status else None
                    path = page.path("/people", status=each)
                    with box("tw-tab", "a", href=path, data_go=True, aria_current=current):
                        text(t(f"tasks.{each}"))
            users = answer.body["users"]
            if users:
                table(self._columns(), users, caption=t("tasks.people"))
            else:
                empty(t("tasks.nobody_here"), icon_name="users")
            if answer.body.get("cursor"):
                path = page.path("/people", status=status, cursor=answer.body["cursor"])
                with box("tw-more"), box("tw-btn", "a", href=path, data_go=True):
                    text(t("shell.more"))

    def _columns(self) -> list[Column[UserBody]]:
        t = self._page.t
        return [
            Column(t("tasks.person"), self._draw_name),
            Column(t("tasks.email"), lambda user: user["email"]),
            Column(t("tasks.groups"), self._draw_groups),
            Column(t("tasks.since"), lambda user: time(t, parsed_time(user["createdAt"]))),
            Column("", self._draw_actions, end=True, controls=True),
        ]

    def _draw_name(self, user: UserBody) -> object:
        with box("tw-row") as made:
            avatar(user["userId"])
            text(user["userId"], "tw-strong")
        return made

    def _draw_groups(self, user: UserBody) -> object:
        with box("tw-row tw-wrap") as made:
            for group in user["groups"]:
                pill(self._page.t(f"tasks.{group}"), "violet" if group == Group.ADMINS else "neutral")
        return made

    def _draw_actions(self, user: UserBody) -> object:
        t, page = self._page.t, self._page
        with box("tw-row").style("justify-content: flex-end") as made:
            if user["userId"] != page.user_id:
                if user["status"] == UserStatus.ACTIVE and page.may("deactivate_user"):
                    button(t("tasks.deactivate"), lambda: self._set_active(user, False), small=True)
                elif user["status"] != UserStatus.ACTIVE and page.may("reactivate_user"):
                    button(t("tasks.reactivate"), lambda: self._set_active(user, True), small=True)
            if page.may("change_user"):
                label = t("tasks.edit_person", who=user["userId"])
                button(label, lambda: self._edit(user), icon_name="edit", only_icon=True, small=True, kind="quiet")
        return made

    async def _set_active(self, user: UserBody, is_active: bool, *, is_undo: bool = False) -> None:
        t, user_id = self._page.t, user["userId"]
        call = "reactivate_user" if is_active else "deactivate_user"
        await self._page.api.call(call, userId=user_id)
        undo = None if is_undo else (t("shell.undo"), lambda: self._set_active(user, not is_active, is_undo=True))
        toast(t("tasks.reactivated" if is_active else "tasks.deactivated", who=user_id), undo=undo)
        await self.load()

    def add(self) -> None:
        t = self._page.t

        async def create(values: dict[str, Any], key: str) -> None:
            await self._page.api.call("create_user", body=values, key=key)
            made.close()
            toast(t("tasks.person_added", who=values["userId"]))

        with dialog(t("tasks.new_person")) as made:
            form = Form(t, submit=create, action=t("tasks.add_person"), cancel=made.close)
            form.text("userId", t("tasks.user_id"), most=128, hint=t("tasks.user_id_hint"))
            form.text("email", t("tasks.email"), kind="email")
            form.choice("language", t("shell.mail_language"), LANGUAGE_NAMES, value=t.language)
            self._group_field(form, (Group.MEMBERS,))
            form.end()

    async def _edit(self, user: UserBody) -> None:
        t, api = self._page.t, self._page.api
        seen = await api.call("get_user", userId=user["userId"])

        async def change(values: dict[str, Any], _: str) -> None:
            changes = {name: value for name, value in values.items() if value != seen.body[name]}
            if changes:
                await api.call("change_user", userId=user["userId"], body=changes, seen=seen.etag)
                toast(t("tasks.changed"))
            made.close()

        with dialog(t("tasks.edit_person", who=user["userId"])) as made:
            form = Form(t, submit=change, action=t("shell.save"), cancel=made.close)
            form.text("email", t("tasks.email"), value=seen.body["email"], kind="email")
            self._group_field(form, tuple(seen.body["groups"]))
            form.end()

    def _group_field(self, form: Form, value: tuple[str, ...]) -> None:
        t = self._page.t
        form.choices("groups", t("tasks.groups"), {each: t(f"tasks.{each}") for each in Group}, value=value)
