"""``calls verify``: whether the times of all calls are booked, and no others."""

from __future__ import annotations

import argparse

from tablewright.cli.argument_parser import Commands, UsageError, refused


def register(commands: Commands) -> None:
    calls = commands.add_parser("calls", help="check the booked times of users and providers")
    inner = Commands(calls)
    verify = inner.add_parser(
        "verify",
        help="compare the booked times of users and providers with their calls",
        epilog="Exit codes: 0 all bookings are correct, or were repaired; 1 something is wrong.",
    )
    verify.add_argument("--data", metavar="DIR", help="data folder (default: ./data), not in use by `tablewright up`")
    verify.add_argument("--endpoint", metavar="URL", help="a DynamoDB endpoint instead of the embedded engine")
    verify.add_argument("--region", help="Amazon DynamoDB in this region, or the region of the endpoint")
    verify.add_argument("--repair", action="store_true", help="book times that are missing, and free those left over")
    verify.set_defaults(command=_verify, parser=verify)


def _verify(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.cli.service_commands import open_runtime, read_settings
    from tablewright.store import StoreError
    from tablewright.systems import load
    from tablewright.systems.calls.booking_check import check_bookings

    settings = read_settings(data=options.data, endpoint=options.endpoint, region=options.region)
    if settings.is_embedded and not (settings.data / "tablewright.db").exists():
        raise UsageError(f"there is no database in {settings.data}; choose the data folder with --data")
    with StepProgress() as steps:
        steps.begin("opening the database")
        runtime = open_runtime(settings, load("calls"))
        try:
            steps.begin("comparing calls and booked times")
            found = check_bookings(
                runtime.sync_store,
                lambda done, of: steps.update("comparing calls and booked times", done, of),
                repair=options.repair,
            )
        except StoreError as error:
            raise refused(error) from None
        finally:
            runtime.close()
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
