"""``calls verify``: whether the times of all calls are booked, and no others."""

from __future__ import annotations

import argparse

from tablewright.cli.argument_parser import Commands
from tablewright.cli.service_commands import add_place_options, check_database, opened_runtime, place_settings


def register(commands: Commands) -> None:
    calls = commands.add_parser("calls", help="check the booked times of users and providers")
    inner = Commands(calls)
    verify = inner.add_parser(
        "verify",
        help="compare the booked times of users and providers with their calls",
        epilog="Exit codes: 0 all bookings are correct, or were repaired; 1 something is wrong.",
    )
    add_place_options(verify, alone=True)
    verify.add_argument("--repair", action="store_true", help="book times that are missing, and free those left over")
    verify.set_defaults(command=_verify, parser=verify)


def _verify(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.systems import load
    from tablewright.systems.calls.booking_check import check_bookings

    settings = place_settings(options)
    check_database(settings)
    with StepProgress() as steps, opened_runtime(settings, load("calls"), steps) as runtime:
        steps.begin("comparing calls and booked times")
        found = check_bookings(
            runtime.sync_store,
            lambda done, of: steps.update("comparing calls and booked times", done, of),
            repair=options.repair,
        )
    for finding in found:
        print(finding)
    left = [finding for finding in found if not finding.is_repaired]
    if left and not options.repair:
        print(f"{len(left)} bookings are wrong; --repair corrects what it can")
    elif left:
        print(f"{len(left)} bookings need a decision: reschedule or cancel one of the calls")
    else:
        print("all bookings are correct" if not found else f"{len(found)} bookings were repaired")
    return 1 if left else 0
