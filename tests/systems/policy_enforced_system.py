"""A system behind a proxy that enforces the policies that ``tablewright iam`` prints for it, role by role.

Tables are made by the requests that ``tablewright infra`` prints, with an administrator's key. Requests, consumers and
maintenance then have a key each, with the policies of their roles and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import botocore.session

from tablewright.cli import main
from tablewright.design import table_name
from tablewright.model import Table
from tablewright.systems import load
from tests.policy_proxy import ACCOUNT, REGION, PolicyProxy
from tests.systems.harness import Served, serving

REQUESTS, CONSUMERS, MAINTENANCE = "AKIAREQUESTS", "AKIACONSUMERS", "AKIAMAINTENANCE"
RELOCATION = "AKIARELOCATION"
ADMINISTRATOR = "AKIAADMINISTRATOR"
# What a process that serves has; the other roles are those of consumers, maintenance and customers.
OF_REQUESTS = ("api", "desk", "runtime", "administration")
OF_CUSTOMERS = ("customer",)

Policy = dict[str, Any]


@dataclass(slots=True)
class Guarded:
    """A system whose tables are there and whose policies are attached."""

    name: str
    environment: str
    proxy: PolicyProxy
    policies: Mapping[str, Policy]

    def table_name(self, table: Table) -> str:
        return table_name(table, self.environment)

    def attached(self, access_key: str) -> list[Policy]:
        """The policies of the roles that an access key stands for."""
        return [policy for role, policy in self.policies.items() if key_of(role) == access_key]

    def granted(self, access_key: str) -> set[tuple[str, str]]:
        """The actions and resources that an access key is granted."""
        return {
            (action, resource)
            for policy in self.attached(access_key)
            for statement in policy["Statement"]
            for action in statement["Action"]
            for resource in statement["Resource"]
        }

    def client(self, access_key: str, service: str = "dynamodb") -> Any:
        return client(self.proxy.url, access_key, service)


def key_of(role: str) -> str | None:
    if role in OF_REQUESTS:
        return REQUESTS
    if role in OF_CUSTOMERS:
        return None
    return {"maintenance": MAINTENANCE, "relocation": RELOCATION}.get(role, CONSUMERS)


def client(url: str, access_key: str, service: str = "dynamodb") -> Any:
    return botocore.session.Session().create_client(
        service, REGION, endpoint_url=url, aws_access_key_id=access_key, aws_secret_access_key="secret"
    )


def printed(*arguments: str) -> Any:
    """The JSON that a command prints."""
    with redirect_stdout(StringIO()) as out:
        assert main(arguments) == 0
    return json.loads(out.getvalue())


def guard(proxy: PolicyProxy, name: str, environment: str, target: PolicyProxy | None = None) -> Guarded:
    """Create a system's tables, and attach its policies to the access keys of its roles.

    With a target, they are those of a relocation to it, in both places.
    """
    module = f"tablewright.systems.{name}"
    place = ["--environment", environment, "--region", REGION]
    admin = client(proxy.url, ADMINISTRATOR)
    labels: dict[str, str] = {}
    for request in printed("infra", module, "--format", "boto3", "--json", *place):
        operation = botocore.xform_name(request["operation"])
        response = getattr(admin, operation)(**request["request"])
        stream = response.get("TableDescription", {}).get("LatestStreamLabel")
        if stream is not None:
            labels[request["request"]["TableName"].removeprefix(f"{environment}-")] = stream
    own = {table.name.partition("-")[2]: table.name for system in load(name) for table in system.design.all_tables}
    if target is None:
        options = [f"--stream-label={own.get(table, table)}={label}" for table, label in labels.items()]
    else:
        options = ["--relocation"]
    command = ["iam", module, "--json", "--account", ACCOUNT, *place, *options]
    policies = {**printed(*command), **printed(*command, "--role", "maintenance")}
    if target is None:
        of_people = [each for each in command if not each.startswith("--stream-label")]
        policies |= printed(
            *["tablewright.runtime.identity.administration" if each == module else each for each in of_people]
        )
    guarded = Guarded(name, environment, proxy, policies)
    for guarding in (proxy, *([] if target is None else [target])):
        for access_key in (REQUESTS, CONSUMERS, MAINTENANCE, RELOCATION):
            guarding.attach(access_key, *guarded.attached(access_key))
    return guarded


@contextmanager
def credentials(folder: Path) -> Iterator[None]:
    """The environment of a process: the key of its requests, and profiles for consumers and maintenance."""
    profiles = {"consumers": CONSUMERS, "maintenance": MAINTENANCE}
    lines: Sequence[str] = [
        f"[{profile}]\naws_access_key_id = {key}\naws_secret_access_key = secret" for profile, key in profiles.items()
    ]
    file = folder / "credentials"
    file.write_text("\n".join(lines) + "\n")
    variables = {
        "AWS_ACCESS_KEY_ID": REQUESTS,
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SHARED_CREDENTIALS_FILE": str(file),
    }
    with patch.dict("os.environ", variables):
        yield


@contextmanager
def serving_guarded(guarded: Guarded, folder: Path, **settings: Any) -> Iterator[Served]:
    """Run the system with the credentials of its roles."""
    settings = {
        "data": folder,
        "endpoint": guarded.proxy.url,
        "region": REGION,
        "environment": guarded.environment,
        "consumer_profile": "consumers",
        "maintenance_profile": "maintenance",
        "batch_window": 0,
        **settings,
    }
    with credentials(folder), serving(load(guarded.name), **settings) as served:
        yield served
