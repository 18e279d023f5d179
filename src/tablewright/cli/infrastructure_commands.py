"""``infra``: templates and commands that create a design's tables. ``iam``: the least-privilege policy of each role."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from tablewright.cli.argument_parser import Commands, UsageError

if TYPE_CHECKING:
    from tablewright.design.iam import Grant, Tenant
    from tablewright.design.infra import Deployment
    from tablewright.design.report import Block, DesignReport
    from tablewright.model import Design, Table

_FORMATS = ("cloudformation", "cli", "boto3", "terraform")
# How far capacity is scaled where it is not said.
_SCALE = 10


def register(commands: Commands) -> None:
    infra = commands.add_parser("infra", help="write templates, commands or requests that create a design's tables")
    add_design(infra)
    infra.add_argument("--format", choices=_FORMATS, default="cloudformation", help="default: cloudformation")
    _add_place(infra)
    infra.add_argument("--kms-key", metavar="ARN", help="KMS key for the tables that the design declares as encrypted")
    infra.add_argument(
        "--provisioned",
        nargs=2,
        type=int,
        metavar=("READ", "WRITE"),
        help="provisioned capacity units (default: on demand)",
    )
    infra.add_argument(
        "--max-capacity",
        nargs=2,
        type=int,
        metavar=("READ", "WRITE"),
        help=f"capacity units to scale up to (default: {_SCALE} times --provisioned)",
    )
    infra.add_argument(
        "--target-utilization",
        type=int,
        default=70,
        metavar="PERCENT",
        help="target utilization of autoscaling (default: 70)",
    )
    infra.add_argument(
        "--policies", action="store_true", help="include a managed policy for each role (cloudformation only)"
    )
    _add_checkpoints(infra)
    infra.add_argument(
        "--no-internal-tables",
        action="store_false",
        dest="internal_tables",
        help="leave out the internal tables, which another system has created already",
    )
    infra.add_argument("--json", action="store_true", help="print commands (cli) or requests (boto3) as JSON")
    infra.set_defaults(command=_infra, parser=infra)

    iam = commands.add_parser("iam", help="show what each role may do, or print its policy with --json")
    add_design(iam)
    iam.add_argument("--role", action="append", metavar="NAME", help="this role only; may be repeated")
    iam.add_argument(
        "--tenant",
        metavar="FIELD[=VARIABLE]",
        help="limit the role to the items of its own tenant, by this field (default variable: a principal tag)",
    )
    iam.add_argument(
        "--relocation",
        action="store_true",
        help="what each role needs while its tables are being relocated, and what relocating them needs",
    )
    _add_checkpoints(iam)
    iam.add_argument("--account", metavar="ID", help="AWS account of the tables, for --json")
    _add_place(iam)
    iam.add_argument(
        "--stream-label",
        action="append",
        default=[],
        metavar="TABLE=LABEL",
        help="label of a table's stream, as in the stream's ARN; may be repeated",
    )
    iam.add_argument("--json", action="store_true", help="print policy documents, by role")
    iam.set_defaults(command=_iam, parser=iam)


def add_design(parser: argparse.ArgumentParser) -> None:
    """The arguments that select a design."""
    parser.add_argument("path", metavar="PATH", help="module or file of a design, such as shop.model or ./model.py")
    parser.add_argument("--design", metavar="NAME", help="which design, if the module has several")


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--environment",
        metavar="NAME",
        help="prefix of the table names, such as dev (default: the names of the design)",
    )
    parser.add_argument("--region", default="us-east-1", help="default: us-east-1")


def _add_checkpoints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checkpoints",
        metavar="TABLE",
        help="where consumers store their checkpoints (default: a table of the design whose stream they do not read)",
    )


def _checkpoints(design: Design, options: argparse.Namespace) -> Table | None:
    """The table of consumers' checkpoints that was named: one of the design, or one of which only the name is known."""
    from tablewright.model import ModelError, Table

    if options.checkpoints is None:
        return None
    known = next((table for table in design.all_tables if table.name == options.checkpoints), None)
    try:
        return known or Table(options.checkpoints, "PK", "SK")
    except ModelError as error:
        raise UsageError(f"--checkpoints {options.checkpoints}: {error}") from None


def chosen(options: argparse.Namespace) -> Design:
    """The design that the arguments select."""
    from tablewright.design import DesignError, load

    try:
        designs = load(options.path)
    except DesignError as error:
        raise UsageError(str(error)) from None
    names = [design.name for design in designs]
    if options.design is not None:
        if options.design not in names:
            raise UsageError(f"{options.path} has no design {options.design!r}; it has {', '.join(names)}")
        return designs[names.index(options.design)]
    if len(designs) > 1:
        raise UsageError(f"{options.path} has several designs; choose one with --design: {', '.join(names)}")
    return designs[0]


# -- infra ----------------------------------------------------------------------------------------------------------


def _infra(options: argparse.Namespace) -> int:
    from tablewright.design import DesignError

    design = chosen(options)
    if options.policies and options.format != "cloudformation":
        raise UsageError("--policies needs --format cloudformation; `tablewright iam` prints policies alone")
    if options.provisioned is None and options.max_capacity is not None:
        raise UsageError("--max-capacity needs --provisioned READ WRITE")
    try:
        print(_written(design, _deployment(options), options), end="")
    except DesignError as error:
        raise UsageError(str(error)) from None
    return 0


def _deployment(options: argparse.Namespace) -> Deployment:
    from tablewright.design.infra import Deployment, ProvisionedCapacity

    capacity = None
    if options.provisioned is not None:
        read, write = options.provisioned
        max_read, max_write = options.max_capacity or (read * _SCALE, write * _SCALE)
        capacity = ProvisionedCapacity(read, write, max_read, max_write, options.target_utilization)
    return Deployment(options.environment, options.region, capacity, options.kms_key, options.internal_tables)


def _written(design: Design, deployment: Deployment, options: argparse.Namespace) -> str:
    from tablewright.design import iam
    from tablewright.design.infra import (
        aws_cli_commands,
        aws_cli_script,
        boto3_script,
        cloudformation_template,
        terraform_configuration,
    )
    from tablewright.design.infra import requests as requests_of

    if options.format == "cloudformation":
        checkpoints = _checkpoints(design, options)
        written = _json(
            cloudformation_template(design, deployment, policies=options.policies, checkpoints_in=checkpoints)
        )
        for role, grants in iam.all_grants(design, checkpoints).items() if options.policies else ():
            if not grants:
                print(
                    f"tablewright: warning: role {role} has no permissions, so no policy is written for it",
                    file=sys.stderr,
                )
        return written
    if options.format == "terraform":
        return _json(terraform_configuration(design, deployment))
    if options.format == "cli":
        return _json(aws_cli_commands(design, deployment)) if options.json else aws_cli_script(design, deployment)
    if not options.json:
        return boto3_script(design, deployment)
    requests = requests_of(design, deployment)
    return _json([{"service": each.service, "operation": each.operation, "request": each.body} for each in requests])


def _json(content: Any) -> str:
    return json.dumps(content, indent=2) + "\n"


# -- iam ------------------------------------------------------------------------------------------------------------


def _iam(options: argparse.Namespace) -> int:
    from tablewright.cli.terminal import show
    from tablewright.design import DesignError, iam

    design = chosen(options)
    try:
        granted = _granted(design, options)
    except DesignError as error:
        raise UsageError(str(error)) from None
    if not options.json:
        show(_page(design, granted))
        return 0
    if options.account is None or not (options.account.isdigit() and len(options.account) == 12):
        raise UsageError("a policy contains the account id: add --account with its 12 digits")
    for role, grants in granted.items():
        if not grants:
            others = [f"--role {shlex.quote(name)}" for name, allowed in granted.items() if allowed]
            choice = f"choose other roles: {' '.join(others)}" if others else "remove it from the design"
            raise UsageError(f"role {role} has no permissions, and IAM refuses a policy without statements; {choice}")
    labels = _labels(design, options.stream_label)
    if _switch(options) is not None:
        # A stream has another label whenever it is turned on, as it is by each cut.
        labels = {table.name: "*" for table in design.all_tables} | labels
    try:
        arn = iam.arns(options.region, options.account, environment=options.environment, stream_labels=labels)
        policies = {role: iam.document(grants, arn) for role, grants in granted.items()}
    except DesignError as error:
        raise UsageError(str(error)) from None
    streams = {grant.resource.table.name for grants in granted.values() for grant in grants if grant.resource.stream}
    if missing := sorted(streams - labels.keys()):
        needed = " ".join(f"--stream-label {shlex.quote(name)}=LABEL" for name in missing)
        raise UsageError(
            f"a policy contains the label of each stream: add {needed}, with the LatestStreamLabel from "
            "aws dynamodb describe-table, or use tablewright infra --policies"
        )
    print(_json(policies), end="")
    return 0


def _granted(design: Design, options: argparse.Namespace) -> dict[str, list[Grant]]:
    from tablewright.design import iam

    tenant = _tenant(options.tenant)
    if tenant is not None and not options.role:
        raise UsageError(f"--tenant needs --role, of {', '.join(design.roles) or 'none'}")
    checkpoints, switch = _checkpoints(design, options), _switch(options)
    if tenant is not None:
        return {role: iam.grants(design, role, tenant, switch_in=switch) for role in options.role}
    found = iam.all_grants(design, checkpoints, options.role, switch_in=switch)
    if switch is not None and not options.role:
        found |= iam.all_grants(design, checkpoints, [iam.RELOCATION], switch_in=switch)
    if not found:
        raise UsageError(f"{design.name} has no roles; declare them: Design(..., roles={{'api': [...]}})")
    return found


def _switch(options: argparse.Namespace) -> Table | None:
    """The table of a relocation's switch, if it is asked about."""
    from tablewright.design import iam

    if not options.relocation and iam.RELOCATION not in (options.role or ()):
        return None
    from tablewright.model import Table
    from tablewright.store import PlaceSwitch

    partition, sort = PlaceSwitch.KEY
    return Table(PlaceSwitch.TABLE, partition, sort)


def _tenant(text: str | None) -> Tenant | None:
    from tablewright.design.iam import Tenant

    if text is None:
        return None
    field, _, variable = text.partition("=")
    if variable and not (variable.startswith("${") and variable.endswith("}")):
        raise UsageError(f"a policy variable looks like ${{cognito-identity.amazonaws.com:sub}}, not {variable!r}")
    return Tenant(field, variable or None)


def _labels(design: Design, given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, label = text.partition("=")
        if not equals or name not in {table.name for table in design.all_tables}:
            known = ", ".join(table.name for table in design.all_tables)
            raise UsageError(f"--stream-label {text}: expected TABLE=LABEL, where TABLE is one of {known}")
        found[name] = label
    return found


def _page(design: Design, granted: dict[str, list[Grant]]) -> DesignReport:
    from tablewright.design.report import DesignReport, Grid, Heading, Text

    blocks: list[Block] = []
    for role, grants in granted.items():
        blocks.append(Heading(role))
        rows: dict[tuple[str, str], list[str]] = {}
        for grant in grants:
            rows.setdefault((str(grant.resource), grant.action), []).append(grant.reason)
        if not rows:
            blocks.append(Text("No permissions."))
            continue
        blocks.append(
            Grid(["resource", "action", "for"], [[*key, ", ".join(reasons)] for key, reasons in rows.items()])
        )
        keys = sorted({key for grant in grants for key in grant.leading})
        if keys:
            blocks.append(Text(f"Only items with the partition key {', '.join(f'`{key}`' for key in keys)}"))
    return DesignReport(f"Permissions in {design.name}", blocks)
