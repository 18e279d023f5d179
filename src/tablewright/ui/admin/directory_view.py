"""People: who has signed in or was invited, and their roles in each system; deactivating and reactivating them."""

from __future__ import annotations

from typing import Any

from tablewright.ui.components import Column, Tone, avatar, box, button, empty, pill, table, text, time
from tablewright.ui.feedback import dialog, toast
from tablewright.ui.forms import Form
from tablewright.ui.screen_page import Page
from tablewright.ui.texts import LANGUAGE_NAMES, parsed_time

__all__ = ["directory"]

_PAGE = 100
_TONES: dict[str, Tone] = {"INVITED": "info", "ACTIVE": "good", "DEACTIVATED": "bad"}
Body = dict[str, Any]


async def directory(page: Page) -> None:
    """Draw the people."""
    view = _Directory(page, (await page.api.call("roles")).body)
    page.on_navigate(view.load)
    page.on_search(view.filter, typed=view.filter)
    with page.actions:
        button(page.t("admin.invite"), view.invite, kind="primary", icon_name="plus", key="n")
    await view.load()


class _Directory:
    def __init__(self, page: Page, roles: list[Body]) -> None:
        self._page = page
        self._roles = {each["name"]: each for each in roles}
        self._people: list[Body] = []
        self._cursor: str | None = None
        self._words: list[str] = []
        self._drawn: object = None
        self._body = box("tw-body")

    async def load(self) -> None:
        answer = await self._page.api.call("people", limit=_PAGE, cursor=self._page.query.get("cursor"))
        self._people, self._cursor = answer.body["people"], answer.body["cursor"]
        self._draw()

    def filter(self, looked_for: str) -> None:
        self._words = looked_for.casefold().split()
        self._draw()

    def _draw(self) -> None:
        t, page = self._page.t, self._page
        shown = [each for each in self._people if self._is_looked_for(each)]
        drawn = shown, self._cursor
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self._body.clear()
        with self._body:
            if shown:
                table(self._columns(), shown, caption=t("admin.people"))
            else:
                empty(t("admin.nobody"), t("admin.nobody_about"), "users")
            if self._cursor:
                path = page.path("/people", cursor=self._cursor)
                with box("tw-more"), box("tw-btn", "a", href=path, data_go=True):
                    text(t("shell.more"))

    def _is_looked_for(self, person: Body) -> bool:
        searchable = f"{person['person_id']} {person['email'] or ''} {' '.join(_roles_of(person))}".casefold()
        return all(word in searchable for word in self._words)

    def _columns(self) -> list[Column[Body]]:
        t = self._page.t
        return [
            Column(t("admin.person"), self._draw_name),
            Column(t("admin.status"), lambda each: pill(t(f"admin.{each['status']}"), _TONES[each["status"]])),
            Column(t("admin.roles"), self._draw_roles),
            Column(t("admin.signed_in"), self._draw_signed_in),
            Column("", self._draw_actions, end=True, controls=True),
        ]

    def _draw_name(self, person: Body) -> object:
        with box("tw-row") as made:
            avatar(person["person_id"])
            with box("tw-stack-tight"):
                with box("tw-row"):
                    text(person["person_id"], "tw-strong")
                    if person["person_id"] == self._page.user_id:
                        pill(self._page.t("admin.you"), "violet")
                if person["email"]:
                    text(person["email"], "tw-mute tw-small tw-break")
        return made

    def _draw_roles(self, person: Body) -> object:
        t = self._page.t
        with box("tw-row tw-wrap").style("gap: 4px") as made:
            for name in _roles_of(person):
                pill(name, "violet" if name == "runtime:Admins" else "neutral")
            if not _roles_of(person):
                text(t("admin.no_roles"), "tw-mute")
            if person["roles"] is None:
                text(t("admin.by_token"), "tw-mute tw-small")
        return made

    def _draw_signed_in(self, person: Body) -> object:
        if person["signed_in_at"] is None:
            return text(self._page.t("admin.never"), "tw-mute tw-small")
        return time(self._page.t, parsed_time(person["signed_in_at"]))

    def _draw_actions(self, person: Body) -> object:
        t = self._page.t
        with box("tw-row").style("justify-content: flex-end") as made:
            if person["person_id"] != self._page.user_id:
                if person["status"] == "DEACTIVATED":
                    button(t("admin.activate"), lambda: self._set_active(person, True), small=True)
                else:
                    button(t("admin.deactivate"), lambda: self._set_active(person, False), small=True)
            label = t("admin.edit_roles", who=person["person_id"])
            button(label, lambda: self._edit(person), icon_name="edit", only_icon=True, small=True, kind="quiet")
        return made

    async def _set_active(self, person: Body, is_active: bool, *, is_undo: bool = False) -> None:
        t, who = self._page.t, person["person_id"]
        await self._page.api.call("activate_person" if is_active else "deactivate_person", person_id=who)
        undo = None if is_undo else (t("shell.undo"), lambda: self._set_active(person, not is_active, is_undo=True))
        toast(t("admin.activated" if is_active else "admin.deactivated", who=who), undo=undo)
        await self.load()

    def invite(self) -> None:
        t = self._page.t

        async def send(values: dict[str, Any], key: str) -> None:
            await self._page.api.call("invite_person", body=values, key=key)
            made.close()
            toast(t("admin.invited", who=values["person_id"]))
            await self.load()

        with dialog(t("admin.invite_title")) as made:
            form = Form(t, submit=send, action=t("admin.invite"), cancel=made.close)
            form.text("person_id", t("admin.person_id"), most=200, hint=t("admin.person_id_hint"))
            form.text("email", t("admin.email"), kind="email", empty_is_none=True)
            form.choice("language", t("shell.mail_language"), LANGUAGE_NAMES, value=t.language)
            self._role_field(form, ())
            form.end()

    async def _edit(self, person: Body) -> None:
        t, api, who = self._page.t, self._page.api, person["person_id"]
        seen = await api.call("get_person", person_id=who)

        async def change(values: dict[str, Any], _: str) -> None:
            roles = None if values["from"] == "token" else values["roles"]
            if roles != seen.body["roles"]:
                await api.call("change_roles", person_id=who, body={"roles": roles}, seen=seen.etag)
                toast(t("admin.roles_changed", who=who))
            made.close()
            await self.load()

        with dialog(t("admin.edit_roles", who=who)) as made:
            form = Form(t, submit=change, action=t("shell.save"), cancel=made.close)
            sources = {"here": t("admin.from_here"), "token": t("admin.from_token")}
            source = "here" if seen.body["roles"] is not None or who == self._page.user_id else "token"
            form.choice("from", t("admin.roles_from"), sources, value=source)
            self._role_field(form, tuple(_roles_of(seen.body)))
            form.end()

    def _role_field(self, form: Form, value: tuple[str, ...]) -> None:
        # Roles of a system that does not run here stay visible.
        names = [*self._roles, *(name for name in value if name not in self._roles)]
        form.choices("roles", self._page.t("admin.roles"), {name: name for name in names}, value=value)


def _roles_of(person: Body) -> list[str]:
    roles: list[str] = person["token_roles"] if person["roles"] is None else person["roles"]
    return roles
