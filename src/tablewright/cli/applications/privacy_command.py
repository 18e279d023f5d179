"""``privacy export``, ``privacy erase``: a person's data across the systems."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.service_commands import add_place_options, check_database, opened_runtime, place_settings

if TYPE_CHECKING:
    from tablewright.runtime.privacy.privacy import PrivacyReport


def register(commands: Commands) -> None:
    privacy = commands.add_parser("privacy", help="export or erase a person's data across the systems")
    inner = Commands(privacy)
    for name, about in (
        ("export", "write everything that is about a person, was written by them or mentions them, as JSON"),
        ("erase", "delete what is about a person, and replace them with a pseudonym everywhere else"),
    ):
        parser = inner.add_parser(
            name,
            help=about,
            epilog="Exit codes: 0 done; 1 some items were not erased; the report lists them. To resume an "
            "interrupted erasure, run the same command again.",
        )
        parser.add_argument("person", nargs="+", metavar="PERSON", help="an id, mail address or phone number of theirs")
        add_place_options(parser, alone=True)
        if name == "export":
            parser.add_argument("--out", metavar="FILE", help="file to write (default: standard output)")
        else:
            parser.add_argument(
                "--yes", action="store_true", help="erase without asking for confirmation; it cannot be undone"
            )
        parser.set_defaults(command=_export if name == "export" else _erase, parser=parser)


def _export(options: argparse.Namespace) -> int:
    report = _done(options, "export")
    text = json.dumps(
        {"person": options.person[0], "ids": list(report.ids), "items": report.items}, indent=2, ensure_ascii=False
    )
    if options.out is None:
        print(text)
        _print_report(report, sys.stderr)
    else:
        descriptor = os.open(Path(options.out), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        _print_report(report, sys.stdout)
    return 0


def _erase(options: argparse.Namespace) -> int:
    if not options.yes:
        raise UsageError(f"erasing cannot be undone: add --yes to erase {', '.join(options.person)}")
    report = _done(options, "erase")
    _print_report(report, sys.stdout)
    print(f"{options.person[0]} is now {report.pseudonym}")
    return 1 if any(finding.action == "remaining" for finding in report.findings) else 0


def _done(options: argparse.Namespace, action: str) -> PrivacyReport:
    from tablewright.cli.progress import StepProgress
    from tablewright.runtime import Invalid
    from tablewright.systems import load

    settings = place_settings(options)
    check_database(settings)
    with StepProgress() as steps, opened_runtime(settings, load(), steps) as runtime:
        steps.begin("reading")

        def on_read(step: str, number: int) -> None:
            steps.update(step, number, None)

        try:
            if action == "export":
                return runtime.privacy.export(options.person, on_read)
            return runtime.privacy.erase(options.person, by="command line", on_read=on_read)
        except Invalid as error:
            raise UsageError(str(error)) from None


def _print_report(report: PrivacyReport, stream: TextIO) -> None:
    for each in report.findings:
        note = f" ({each.note})" if each.note else ""
        where = f"{each.system}: {each.entity or each.table}"
        print(f"{where}, {each.why}: {each.items} {each.action}{note}", file=stream)
    if not report.findings:
        print("nothing was found", file=stream)
    for line in report.kept_elsewhere:
        print(f"kept elsewhere: {line}", file=stream)
