"""Design: findings with their repair, the document with its diagrams, what changed since a snapshot, files.

/design                      the first design
/design/{design}?part=...    findings, document, diff or files
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from nicegui import ui

from tablewright.design import DesignError
from tablewright.design.diff import DesignChange, Impact, changes, read_snapshots, snapshot, snapshot_text
from tablewright.design.document import document
from tablewright.design.iam import MAINTENANCE, Grant, all_grants, arns, call_grants, consumers
from tablewright.design.iam import document as policy_document
from tablewright.design.infra import (
    Deployment,
    aws_cli_script,
    boto3_script,
    cloudformation_template,
    terraform_configuration,
)
from tablewright.design.lint import LintFinding, lint
from tablewright.design.report import to_html, to_html_body, to_markdown
from tablewright.design.workbench import model as workbench_model
from tablewright.model import Design, ModelError
from tablewright.studio.studio_page import StudioPage
from tablewright.studio.studio_parts import code_block
from tablewright.ui.api_calls import Refused
from tablewright.ui.components import Tone, box, button, card, empty, pill, text
from tablewright.ui.forms import file_button, select

__all__ = ["design_view", "files_of", "policies_of"]

_File = tuple[str, Callable[[], str]]

_TONES: dict[str, Tone] = {"error": "bad", "warning": "warn", "advice": "info"}
_IMPACTS: dict[Impact, Tone] = {
    Impact.FREE: "good",
    Impact.NEW_INDEX: "info",
    Impact.BACKFILL: "warn",
    Impact.RE_KEY: "warn",
    Impact.UNSAFE: "bad",
}
_MOST_SNAPSHOT = 2_000_000
_ACCOUNT = "123456789012"


async def design_view(page: StudioPage, design: str = "") -> None:
    t, designs = page.t, page.database.designs
    await page.look_at("")
    if not designs:
        empty(t("studio.no_design"), t("studio.no_design_about"), "flag")
        return
    found = next((each for each in designs if each.name == design), designs[0] if not design else None)
    if found is None:
        empty(t("shell.not_found"), t("shell.not_found_about"))
        return
    parts = {"findings": _draw_findings, "document": _draw_document, "diff": _draw_diff, "files": _draw_files}
    part = page.query.get("part", "")
    part = part if part in parts else "findings"
    with box("tw-body"):
        with box("tw-row tw-wrap"):
            if len(designs) > 1:
                options = {each.name: each.name for each in designs}
                select(
                    options,
                    found.name,
                    lambda chosen: page.go(_address(page, chosen, part)),
                    label=t("designs.design"),
                ).classes("st-design-select")
            with box("tw-menu-group").style("padding: 0"):
                for each in parts:
                    pressed = str(each == part).lower()
                    href = _address(page, found.name, each)
                    with box("tw-choice", "a", href=href, data_go=True, role="button", aria_pressed=pressed):
                        text(t(f"designs.{each}"))
        parts[part](page, found)


def _address(page: StudioPage, design: str, part: str) -> str:
    return page.path(f"/design/{quote(design, safe='')}", part=part)


def _draw_findings(page: StudioPage, design: Design) -> None:
    t = page.t
    found = lint(design)
    open_ = [each for each in found if each.accepted is None]
    if not open_:
        empty(t("designs.no_findings"), t("designs.no_findings_about"), "check")
    for each in open_:
        _draw_finding(each)
    accepted = [each for each in found if each.accepted is not None]
    if accepted:
        text(t("designs.accepted"), "tw-section-title", "h2")
        for each in accepted:
            with card(), box("tw-stack-tight"):
                text(f"{each.place} · {each.rule}", "tw-mono")
                text(each.accepted or "", "tw-mute")


def _draw_finding(found: LintFinding) -> None:
    with card(), box("tw-stack-tight"):
        with box("tw-row tw-wrap"):
            pill(found.severity, _TONES[found.severity])
            text(found.place, "tw-mono tw-strong")
            text(found.rule, "tw-mute tw-small")
            if found.where is not None:
                text(found.where, "tw-mute tw-small tw-mono")
        text(found.message)
        text(found.repair, "st-repair")


def _draw_document(page: StudioPage, design: Design) -> None:
    # Of the model, not of data; and escaped where it is made.
    body = to_html_body(document(design))
    for tag in ("table", "pre"):
        # They scroll on a phone, so that keys have to get there.
        body = body.replace(f"<{tag}>", f'<{tag} tabindex="0">')
    ui.html(body, sanitize=False).classes("st-document tw-card")


def _draw_diff(page: StudioPage, design: Design) -> None:
    t = page.t
    text(t("designs.diff_about"), "tw-mute", "p")
    place = box("tw-stack")

    async def compare(_: str, __: str, content: bytes) -> None:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(content)
            file.flush()
            try:
                older = read_snapshots(Path(file.name))
            except DesignError as error:
                raise Refused(400, "snapshot", str(error).replace(file.name, t("designs.the_file")), {}) from None
        old = next((each for each in older if each["name"] == design.name), None)
        if old is None:
            raise Refused(400, "snapshot", t("designs.not_in_snapshot", name=design.name), {})
        place.clear()
        with place:
            found = changes(old, snapshot(design))
            if not found:
                empty(t("designs.no_changes"), "", "check")
            for each in found:
                _draw_change(each)

    with box("tw-row"):
        file_button(t, t("designs.compare"), compare, most=_MOST_SNAPSHOT)
        name = f"{_slug(design)}.snapshot.json"
        button(
            t("designs.take_snapshot"),
            lambda: ui.download.content(snapshot_text([design]), name),
            icon_name="download",
            small=True,
        )
    place.move(target_index=-1)


def _draw_change(change: DesignChange) -> None:
    with card(), box("tw-stack-tight"):
        with box("tw-row tw-wrap"):
            pill(change.impact.value, _IMPACTS[change.impact])
            text(change.place, "tw-mono tw-strong")
        text(change.what)
        for step in change.steps:
            text(f"· {step}", "tw-mute")
        if change.declaration:
            code_block(change.declaration)


def files_of(design: Design) -> dict[str, _File]:
    """A download of a design: its title, the file name, and the function that makes its content."""
    name, deployment = _slug(design), Deployment()
    return {
        "CloudFormation": (f"{name}.template.json", lambda: _json(cloudformation_template(design, deployment))),
        "Terraform": (f"{name}.tf.json", lambda: _json(terraform_configuration(design, deployment))),
        "AWS CLI": (f"{name}.sh", lambda: aws_cli_script(design, deployment)),
        "boto3": (f"{name}.py", lambda: boto3_script(design, deployment)),
        "CloudFormation with IAM policies": (
            f"{name}.policies.template.json",
            lambda: _json(cloudformation_template(design, deployment, policies=True)),
        ),
        "NoSQL Workbench": (f"{name}.workbench.json", lambda: _json(workbench_model(design, datetime.now(UTC)))),
        "Markdown": (f"{name}.md", lambda: to_markdown(document(design))),
        "HTML": (f"{name}.html", lambda: to_html(document(design))),
        "Snapshot": (f"{name}.snapshot.json", lambda: snapshot_text([design])),
    }


def policies_of(design: Design, account: str) -> tuple[dict[str, _File], dict[str, _File]]:
    """The IAM policies of a design, each as a file: for its roles and consumers, and for each pattern and write.

    Nothing is written for those that need no permission.
    """
    name, arn = _slug(design), arns(Deployment().region, account)

    def file(title: str, granted: Callable[[], list[Grant]]) -> _File:
        return f"{name}.{_file_part(title)}.policy.json", lambda: _json(policy_document(granted(), arn))

    roles = dict.fromkeys([*design.roles, *consumers(design), MAINTENANCE])
    calls = [*design.patterns, *design.writes]
    return (
        {each: file(each, partial(_of_role, design, each)) for each in roles},
        {each: file(each, partial(call_grants, design, each)) for each in calls if call_grants(design, each)},
    )


def _of_role(design: Design, role: str) -> list[Grant]:
    return all_grants(design, roles=[role])[role]


def _draw_files(page: StudioPage, design: Design) -> None:
    t = page.t
    text(t("designs.files_about"), "tw-mute", "p")
    _draw_cards(page, files_of(design))
    # The account is not known without asking another service.
    roles, calls = policies_of(design, _ACCOUNT)
    text(t("designs.policies"), "tw-section-title", "h2")
    text(t("designs.policies_about", account=_ACCOUNT), "tw-mute", "p")
    _draw_cards(page, roles)
    with box("", "details"):
        text(t("designs.policies_of_calls"), "tw-link", "summary")
        _draw_cards(page, calls)


def _draw_cards(page: StudioPage, files: dict[str, _File]) -> None:
    t = page.t
    with box("tw-grid"):
        for title, (name, make) in files.items():

            def send(name: str = name, make: Callable[[], str] = make) -> None:
                try:
                    ui.download.content(make(), name)
                except (DesignError, ModelError) as error:
                    raise Refused(400, "design", str(error), {}) from None

            with card(), box("tw-row-between"):
                with box("tw-stack-tight"):
                    text(title, "tw-strong")
                    text(name, "tw-mute tw-small tw-mono")
                button(t("designs.download", name=title), send, icon_name="download", only_icon=True)


def _json(content: object) -> str:
    return json.dumps(content, indent=2, default=str) + "\n"


def _slug(design: Design) -> str:
    return _file_part(design.name.lower()) or "design"


def _file_part(text: str) -> str:
    """A text as a part of the name of a file."""
    return "-".join("".join(c if c.isalnum() else " " for c in text).split())
