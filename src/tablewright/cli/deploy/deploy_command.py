"""``deploy``: the stack of a design or of a system, for an AWS account, and the steps from the previous one.

FOLDER/template.yaml     the stack
FOLDER/design.json       its design as a snapshot, and the template: the next version is compared with them
FOLDER/step-1.yaml ...   deployed before, if a table gets or loses more than one index
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablewright.cli.argument_parser import Commands, UsageError, unwritable

if TYPE_CHECKING:
    from tablewright.deploy import BuiltStack, StackSteps
    from tablewright.model import Design
    from tablewright.runtime import System

TEMPLATE = "template.yaml"
_DEPLOYED = "design.json"
# What systems have at least one of.
_PROGRAMS = ("AWS::Lambda::Function", "AWS::ECS::TaskDefinition")
_HEADING = "A step to template.yaml, by `tablewright deploy`: one index of a table at a time."


def register(commands: Commands) -> None:
    deploy = commands.add_parser(
        "deploy",
        help="write the CloudFormation stack of a design or a system, with everything that it needs",
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
    deploy.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a setting of the functions or containers, such as cors_origins=https://desk.example.org; may be "
        "repeated. With --after, those of the deployed version are kept; NAME= removes one",
    )
    deploy.add_argument("--out", required=True, metavar="FOLDER", help="folder that the stack is written to")
    deploy.add_argument(
        "--after",
        metavar="FOLDER",
        help="folder of the version that is deployed now: refuse changes that would strand its data, and write "
        "the steps in between",
    )
    deploy.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="PLACE",
        help="accept the change at this place as already handled (with --after); may be repeated",
    )
    deploy.set_defaults(command=_deploy, parser=deploy)


def add_subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        metavar="SUBJECT",
        help="a system that comes with Tablewright (tasks), the module of your own, or the module or file of a design",
    )


def _deploy(options: argparse.Namespace) -> int:
    from tablewright.deploy import to_yaml

    if options.accept and options.after is None:
        raise UsageError("--accept is for changes since the previous version: add --after FOLDER")
    settings = _settings(options)
    built, design = _built(options, settings)
    folder = Path(options.out)
    wanted = _steps(options, built, design)
    steps = {f"step-{number}.yaml": each for number, each in enumerate([*wanted.first, *wanted.then], 1)}
    first = [*steps][: len(wanted.first)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("step-*.yaml"):
            old.unlink()
        (folder / TEMPLATE).write_text(built.yaml, "utf-8")
        (folder / _DEPLOYED).write_text(_deployed_text(built, design, settings, options.region), "utf-8")
        for name, template in steps.items():
            (folder / name).write_text(to_yaml(template, {}, _HEADING), "utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to: {unwritable(error)}") from None
    resources = built.template["Resources"]
    print(f"{folder / TEMPLATE}: {built.name}, {len(resources)} resources in {options.environment}")
    for about, names in (("the programs that are running", first), ("the new programs", [*steps][len(first) :])):
        if names:
            print(f"  first, with {about}, one after the other: {', '.join(names)}")
    print(f"  aws cloudformation deploy --template-file {folder / TEMPLATE} --stack-name {_stack_name(built.name)} \\")
    print("    --s3-bucket BUCKET --capabilities CAPABILITY_IAM --parameter-overrides ...")
    needed = [name for name, each in built.template["Parameters"].items() if "Default" not in each]
    print(f"  parameters without a default: {', '.join(needed)}")
    return 0


def _deployed_text(built: BuiltStack, design: Design, settings: dict[str, str], region: str) -> str:
    from tablewright.design.diff import snapshot_text

    made = {
        **json.loads(snapshot_text([design])),
        "settings": settings,
        "region": region,
        "template": built.template,
    }
    return json.dumps(made, indent=1) + "\n"


def _settings(options: argparse.Namespace) -> dict[str, str]:
    """Those of the deployed version, with what the options change."""
    found: dict[str, str] = {}
    if options.after is not None:
        try:
            kept = json.loads((Path(options.after) / _DEPLOYED).read_text("utf-8")).get("settings", {})
            found = {str(name): str(value) for name, value in kept.items()}
        except (OSError, ValueError, AttributeError):
            # ``_steps`` says what is wrong with the file.
            found = {}
    for each in options.settings:
        name, is_given, value = each.partition("=")
        if not is_given:
            raise UsageError(
                f"--setting {each}: give a name and a value, such as cors_origins=https://desk.example.org"
            )
        name = name.strip().lower()
        if value:
            found[name] = value
        else:
            found.pop(name, None)
    return found


def _steps(options: argparse.Namespace, built: BuiltStack, design: Design) -> StackSteps:
    """The steps to deploy before; UsageError if data would be stranded."""
    from tablewright.deploy import StackSteps, stack_steps

    if options.after is None:
        return StackSteps([], [])
    from tablewright.design import DesignError
    from tablewright.design.diff import Impact, changes, read_snapshots, snapshot

    path = Path(options.after) / _DEPLOYED
    if path.parent.resolve() == Path(options.out).resolve():
        raise UsageError("--out is the folder of the previous version, which is still needed; choose another one")
    try:
        (before,) = read_snapshots(path)
        deployed = json.loads(path.read_text("utf-8"))
        template: dict[str, Any] = deployed["template"]
        _check_place(options, template["Parameters"]["Environment"]["Default"], deployed.get("region"))
        found = changes(before, snapshot(design))
        unknown = {*options.accept} - {change.place for change in found}
        if unknown:
            raise UsageError(f"--accept {', '.join(sorted(unknown))}: no change at this place")
        waiting = [
            change
            for change in found
            if change.impact not in (Impact.FREE, Impact.NEW_INDEX) and change.place not in options.accept
        ]
        if waiting:
            listed = "; ".join(f"{change.place}: {change.what} ({change.impact})" for change in waiting)
            raise UsageError(
                f"the data of {options.after} is not ready for this version: {listed}. `tablewright diff {path} "
                f"{options.path}` prints what to do; add --accept PLACE for what you have done"
            )
        _check_internal_tables(options, template, design)
        return stack_steps(template, built.template)
    except DesignError as error:
        raise UsageError(str(error)) from None
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f"{path} was not written by tablewright deploy; write the stack of the previous version to a folder again"
        ) from None


def _check_place(options: argparse.Namespace, environment: str, region: str | None) -> None:
    """Refuse the version of another environment or region: its tables are others."""
    # The region has not always been written.
    for name, was, now in (
        ("environment", environment, options.environment),
        ("region", region or options.region, options.region),
    ):
        if was != now:
            raise UsageError(
                f"the stack in {options.after} is of the {name} {was}, and this one would be of {now}; add --{name} "
                f"{was}, or name another folder with --after"
            )


def _check_internal_tables(options: argparse.Namespace, deployed: dict[str, Any], design: Design) -> None:
    """Refuse to leave out the internal tables of the stack that is deployed, or to add those of another one."""
    from tablewright.design import logical_names

    wanted = {f"{name}Table" for name in logical_names(design.internal_tables).values()}
    had = sorted(wanted & deployed["Resources"].keys())
    if had and not options.internal_tables:
        raise UsageError(
            f"the stack in {options.after} has {' and '.join(had)}, which no stack would manage any more; leave out "
            "--no-internal-tables"
        )
    is_system = any(each["Type"] in _PROGRAMS for each in deployed["Resources"].values())
    if wanted and not had and is_system and options.internal_tables:
        raise UsageError(
            f"the stack in {options.after} was written with --no-internal-tables, as the internal tables are in "
            "another stack; add --no-internal-tables"
        )


def _stack_name(name: str) -> str:
    """A name for the stack, with what CloudFormation allows."""
    words = re.findall("[a-z0-9]+", name.lower())
    return "-".join(words if words and words[0][0].isalpha() else ["stack", *words])


def _built(options: argparse.Namespace, settings: dict[str, str]) -> tuple[BuiltStack, Design]:
    from tablewright.cli.infrastructure_commands import chosen
    from tablewright.deploy import check_stack, design_stack, needs_of, system_stack
    from tablewright.design import DesignError, NoModuleError, module_at
    from tablewright.design.infra import Deployment
    from tablewright.systems import NAMES

    found = system_at(options.path)
    try:
        deployment = Deployment(options.environment, options.region, internal_tables=options.internal_tables)
        if found is None:
            if options.container:
                raise UsageError(f"{options.path} has no System for containers to run; remove --container")
            if settings:
                raise UsageError(f"{options.path} has no System that settings would be for; remove --setting")
            module_at(options.path)
            design = chosen(options)
            built = design_stack(design, deployment)
        else:
            system, place = found
            design = system.design
            built = system_stack(needs_of(system, place), deployment, container=options.container, settings=settings)
    except NoModuleError as error:
        near = get_close_matches(options.path, NAMES, 1)
        said = f"there is no system or module {options.path!r}; did you mean {near[0]}?" if near else str(error)
        raise UsageError(said) from None
    except DesignError as error:
        raise UsageError(str(error)) from None
    for finding in check_stack(built.template):
        print(f"tablewright: warning: {finding}", file=sys.stderr)
    return built, design


def system_at(path: str) -> tuple[System, str] | None:
    """The system of a name or a module, and its module; None if there is none.

    UsageError if a module cannot be imported.
    """
    from tablewright.systems import NAMES, load

    if path in NAMES:
        (system,) = load(path)
        return system, f"tablewright.systems.{path}.{path}_system:system"
    if not all(part.isidentifier() for part in path.split(".")):
        return None
    from tablewright.design import DesignError, NoModuleError, module_at
    from tablewright.runtime import System

    try:
        module = module_at(path)
    except NoModuleError:
        return None
    except DesignError as error:
        raise UsageError(str(error)) from None

    systems = {name: value for name, value in vars(module).items() if isinstance(value, System)}
    if len(systems) > 1:
        raise UsageError(f"{path} has several systems, {', '.join(systems)}; give a module that has one")
    for name, system in systems.items():
        return system, f"{path}:{name}"
    return None
