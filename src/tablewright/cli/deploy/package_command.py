"""``package``: the code that a stack runs, for Lambda as a zip, for containers as an image."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tablewright.cli.argument_parser import Commands, UsageError, unwritable
from tablewright.cli.deploy.deploy_command import system_at

# The Python of a stack's functions: the parameter Python.
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_PYTHON = "3.13"
_ARCHITECTURES = ("arm64", "x86_64")


def register(commands: Commands) -> None:
    package = commands.add_parser(
        "package",
        help="build what a stack runs: a zip for Lambda, or an image, with only what the system needs",
        epilog="pip downloads the wheels, in the versions of this environment. Builds are reproducible: the "
        "same versions give the same bytes.",
    )
    package.add_argument(
        "path", metavar="SYSTEM", help="a system that comes with Tablewright (tasks), or the module of your own"
    )
    package.add_argument("--out", required=True, metavar="FOLDER", help="folder that the files are written to")
    package.add_argument(
        "--architecture",
        action="append",
        choices=_ARCHITECTURES,
        help="processor of the functions; may be repeated (default: arm64)",
    )
    package.add_argument(
        "--python",
        default=_PYTHON,
        metavar="VERSION",
        help=f"Python of the functions, and of the stack's parameter Python (default: {_PYTHON})",
    )
    package.add_argument(
        "--image",
        action="store_true",
        help="build an OCI image for containers instead, with the Python of this machine and for its processor",
    )
    package.set_defaults(command=_package, parser=package)


def _package(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress
    from tablewright.deploy.package.building import build_image, build_zip
    from tablewright.deploy.package.bytecode import can_compile_for
    from tablewright.deploy.package.wheels import PackageError
    from tablewright.systems import NAMES

    found = system_at(options.path)
    if found is None:
        raise UsageError(
            f"{options.path} is not a system; give {', '.join(NAMES)}, or the module of a System of your own"
        )
    if options.python not in _PYTHONS:
        raise UsageError(f"--python {options.python}: Lambda runs Tablewright on {', '.join(_PYTHONS)}")
    folder = Path(options.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with StepProgress() as steps:
            if options.image:
                steps.begin("building the image, with wheels that pip downloads")
                built = [build_image(options.path, found[1], folder)]
            else:
                built = []
                for each in dict.fromkeys(options.architecture or _ARCHITECTURES[:1]):
                    steps.begin(f"building the zip for {each}, with wheels that pip downloads")
                    built.append(build_zip(found[1], each, options.python, folder))
    except PackageError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to: {unwritable(error)}") from None
    if not options.image and not can_compile_for(options.python):
        print(
            f"tablewright: warning: sources are not compiled, so every cold start of a function takes a second "
            f"or more longer; run this with Python {options.python} to compile them",
            file=sys.stderr,
        )
    for made in built:
        print(f"{made.path}: {made.size / 2**20:.1f} MB, {made.unpacked / 2**20:.1f} MB unpacked")
        print(f"  {', '.join(made.distributions)}")
    return 0
