"""The command: `python -m benchmarks [PART ...]`."""

import argparse
import time

from benchmarks import (
    browsers,
    copies,
    engagement,
    in_process,
    over_http,
    over_http_256,
    relocation,
    remote,
    report,
    scale,
    screens,
    services,
    services_postgres,
    startup,
    store,
    studio,
    support,
    waits,
)

MODULES = (
    in_process,
    over_http,
    over_http_256,
    waits,
    store,
    remote,
    services,
    services_postgres,
    support,
    engagement,
    browsers,
    screens,
    studio,
    copies,
    relocation,
    scale,
    startup,
)
PARTS = {module.PART: module.measure for module in MODULES}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure and write docs/benchmarks.md.")
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"one of {', '.join(PARTS)}; all by default")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one measurement (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each figure (default 5)")
    arguments = parser.parse_args()
    if strange := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(strange))}; there are {', '.join(PARTS)}")
    for part in arguments.parts or PARTS:
        started = time.monotonic()
        section = PARTS[part](arguments.seconds, arguments.rounds)
        report.write(section, list(PARTS))
        report.progress(f"[{part}] done in {time.monotonic() - started:.0f} s\n\n{section.render()}\n")


if __name__ == "__main__":
    main()
