"""``deploy``: the stack of a design or of a system, for an AWS account."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError

if TYPE_CHECKING:
    from tablewright.deploy import BuiltStack
    from tablewright.runtime import System

TEMPLATE = "template.yaml"


def register(commands: Commands) -> None:
    deploy = commands.add_parser(
        "deploy",
        help="write the stack of a design or a system: all that it needs of an AWS account",
        epilog="Nothing is sent anywhere; docs/deploy.md says how the stack is created, upgraded and removed.",
    )
    add_subject(deploy)
    deploy.add_argument("--design", metavar="NAME", help="which design, if the module has several")
    deploy.add_argument(
        "--environment", default="prod", metavar="NAME", help="prefix of the table names, such as dev (default: prod)"
    )
    deploy.add_argument("--region", default="us-east-1", help="default: us-east-1")
    deploy.add_argument(
        "--container",
        action="store_true",
        help="containers on Fargate instead of functions; the screens of the applications need them",
    )
    deploy.add_argument(
        "--no-internal-tables",
        action="store_false",
        dest="internal_tables",
        help="leave out the internal tables, which another system has created already",
    )
    deploy.add_argument("--out", required=True, metavar="FOLDER", help="folder that the stack is written to")
    deploy.set_defaults(command=_deploy, parser=deploy)


def add_subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        metavar="SUBJECT",
        help="a system that comes with Tablewright (tasks), the module of your own, or the module or file of a design",
    )


def _deploy(options: argparse.Namespace) -> int:
    built = _built(options)
    folder = Path(options.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / TEMPLATE).write_text(built.yaml, "utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to: {error.strerror}") from None
    resources = built.template["Resources"]
    print(f"{folder / TEMPLATE}: {built.name}, {len(resources)} resources in {options.environment}")
    print(f"  aws cloudformation deploy --template-file {folder / TEMPLATE} --stack-name {_stack_name(built.name)} \\")
    print("    --s3-bucket BUCKET --capabilities CAPABILITY_IAM --parameter-overrides ...")
    needed = [name for name, each in built.template["Parameters"].items() if "Default" not in each]
    print(f"  parameters without a default: {', '.join(needed)}")
    return 0


def _stack_name(name: str) -> str:
    return "-".join(name.lower().split())


def _built(options: argparse.Namespace) -> BuiltStack:
    from tablewright.cli.infrastructure_commands import chosen
    from tablewright.deploy import check_stack, design_stack, needs_of, system_stack
    from tablewright.design import DesignError
    from tablewright.design.infra import Deployment

    found = system_at(options.path)
    try:
        deployment = Deployment(options.environment, options.region, internal_tables=options.internal_tables)
        if found is None:
            if options.container:
                raise UsageError(f"{options.path} has no System, which containers would run; leave out --container")
            built = design_stack(chosen(options), deployment)
        else:
            system, place = found
            built = system_stack(needs_of(system, place), deployment, container=options.container)
    except DesignError as error:
        raise UsageError(str(error)) from None
    for finding in check_stack(built.template):
        print(f"tablewright: warning: {finding}", file=sys.stderr)
    return built


def system_at(path: str) -> tuple[System, str] | None:
    """The system that a name or a module is about, and where it is; None if there is none."""
    from tablewright.systems import NAMES, load

    if path in NAMES:
        (system,) = load(path)
        return system, f"tablewright.systems.{path}.{path}_system:system"
    if not all(part.isidentifier() for part in path.split(".")):
        return None
    from importlib import import_module

    sys.path.insert(0, str(Path.cwd()))
    try:
        module = import_module(path)
    except ImportError:
        # What is wrong with it is said by whoever loads it as a design.
        return None
    finally:
        sys.path.pop(0)
    from tablewright.runtime import System

    systems = {name: value for name, value in vars(module).items() if isinstance(value, System)}
    if len(systems) > 1:
        raise UsageError(f"{path} has several systems, {', '.join(systems)}; give a module that has one")
    for name, system in systems.items():
        return system, f"{path}:{name}"
    return None
