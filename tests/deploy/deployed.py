"""A system as its stack deploys it, without an account.

    stack ──▶ moto (CloudFormation)     bucket, bus, queues, roles, functions as resources
    tables ──▶ our own engine           behind a proxy that enforces the policy of each function's role
    functions ──▶ processes             behind Lambda's runtime interface, with the variables of the stack
    tokens ──▶ an issuer's keys         fetched from a server, as those of a user pool

What a function is allowed is what the template's role says, with references resolved.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt

from tablewright.deploy import SystemNeeds
from tablewright.deploy.local_deployment import LocalDeployment
from tablewright.deploy.resources.data_resources import BUCKET, SECRET
from tablewright.deploy.resources.function_resources import function_name
from tablewright.deploy.stack_template import logical
from tablewright.deploy.system_needs import FunctionNeeds
from tablewright.design import table_name
from tablewright.design.infra import Deployment, requests
from tablewright.engine import Engine
from tablewright.runtime.identity.local_issuer import AUDIENCE, ISSUER
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime
from tablewright.wire import serve_in_thread
from tests.deploy.account_proxy import AccountProxy
from tests.deploy.moto_account import PARAMETERS, client, create_stack, known_part, moto_server
from tests.deploy.stacks import needs, stack
from tests.policy_proxy import ACCOUNT, REGION, PolicyProxy
from tests.systems.harness import Clock, Served

ENVIRONMENT = "dev"
_MINUTE = 0.3
# The others are used by Lambda, for the function.
_USED_BY_FUNCTIONS = ("s3", "ses", "events", "secretsmanager")
_SECRET = "s" * 64


@dataclass(slots=True)
class Deployed:
    """A deployment: who calls its API, what it was denied, and the account that it is in."""

    needs: SystemNeeds
    served: Served
    local: LocalDeployment
    proxy: PolicyProxy
    account_proxy: AccountProxy
    engine: Engine
    account: str
    resources: Mapping[str, str]

    def key(self, function: FunctionNeeds) -> str:
        return access_key(function)

    def used(self, function: FunctionNeeds) -> set[tuple[str, str]]:
        return {
            (action, resource.partition(":table/")[2].removeprefix(f"{ENVIRONMENT}-"))
            for action, resource in self.proxy.used_by(access_key(function))
        }


def access_key(function: FunctionNeeds) -> str:
    return f"AKIA{logical(function.name).upper()}"


def policy_of(template: Mapping[str, Any], function: FunctionNeeds) -> dict[str, Any]:
    """The policy of a function's role, as far as it is about tables."""
    return policy_of_role(template, _role_of(template, function))


def _role_of(template: Mapping[str, Any], function: FunctionNeeds) -> str:
    role: str = template["Resources"][function_name(function)]["Properties"]["Role"]["Fn::GetAtt"][0]
    return role


def account_policy_of(template: Mapping[str, Any], function: FunctionNeeds, names: Mapping[str, str]) -> dict[str, Any]:
    """The policy of a function's role, as far as it is about what the function itself uses beside tables.

    ``names`` are the ARNs and names of what the template refers to.
    """
    (policy,) = template["Resources"][_role_of(template, function)]["Properties"]["Policies"]
    statements = []
    for each in policy["PolicyDocument"]["Statement"]:
        if each["Action"][0].partition(":")[0] in _USED_BY_FUNCTIONS:
            resources = each["Resource"] if isinstance(each["Resource"], list) else [each["Resource"]]
            statements.append({**each, "Resource": [_resolved(resource, names) for resource in resources]})
    return {"Version": "2012-10-17", "Statement": statements}


def _resolved(resource: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if "Ref" in resource:
        return names[resource["Ref"]]
    if "Fn::GetAtt" in resource:
        return names[".".join(resource["Fn::GetAtt"])]
    return re.sub(r"\$\{([\w.:]+)\}", lambda found: names[found[1]], resource["Fn::Sub"])


def policy_of_role(template: Mapping[str, Any], role: str) -> dict[str, Any]:
    """The policy of a role, as far as it is about tables, with what it refers to in its place."""
    (policy,) = template["Resources"][role]["Properties"]["Policies"]
    statements = [
        {**each, "Resource": [_arn(template, resource) for resource in each["Resource"]]}
        for each in policy["PolicyDocument"]["Statement"]
        if each["Action"][0].startswith("dynamodb:")
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _arn(template: Mapping[str, Any], resource: Any) -> str:
    if isinstance(resource, str):
        return resource
    if "Fn::GetAtt" in resource:
        name, attribute = resource["Fn::GetAtt"]
        return _table_arn(template, name) + ("" if attribute == "Arn" else "/stream/*")
    found = re.fullmatch(r"\$\{(\w+)\.Arn\}(/index/.+)", resource["Fn::Sub"])
    assert found is not None, resource
    return _table_arn(template, found[1]) + found[2]


def _table_arn(template: Mapping[str, Any], name: str) -> str:
    bare = template["Resources"][name]["Properties"]["TableName"]["Fn::Sub"].replace("${Environment}", ENVIRONMENT)
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{bare}"


@contextmanager
def deployed(name: str, folder: Path) -> Iterator[Deployed]:
    """Deploy a system."""
    system, built = needs(name), stack(name)
    with ExitStack() as open_things:
        account = open_things.enter_context(moto_server())
        parameters = {key: value for key, value in PARAMETERS.items() if key in built.template["Parameters"]}
        resources = create_stack(account, name, json.dumps(known_part(built.template)), parameters)
        # moto does not tell the name of a bus, which is that of the stack.
        resources["EventBus"] = name
        secret_id = client(account, "secretsmanager").create_secret(Name="master", SecretString=_SECRET)["ARN"]
        client(account, "ses").verify_domain_identity(Domain="example.org")
        client(account, "ses").verify_email_identity(EmailAddress="tasks@example.org")
        engine = open_things.enter_context(Engine.open())
        proxy = open_things.enter_context(PolicyProxy(open_things.enter_context(serve_in_thread(engine))))
        for request in requests(system.design, Deployment(environment=ENVIRONMENT)):
            engine.call(request.operation, request.body)
        for function in system.functions:
            proxy.attach(access_key(function), policy_of(built.template, function))
        account_proxy = open_things.enter_context(AccountProxy(account))
        known = {
            **PARAMETERS,
            **resources,
            "AWS::Partition": "aws",
            "AWS::Region": REGION,
            "AWS::AccountId": ACCOUNT,
            f"{BUCKET}.Arn": f"arn:aws:s3:::{resources.get(BUCKET)}",
            "EventBus.Arn": f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{name}",
            SECRET: secret_id,
            # moto's CloudFormation does not create it.
            "MailConfiguration": resources.get("MailConfiguration", f"{name}-mail"),
        }
        for function in system.functions:
            account_proxy.attach(access_key(function), account_policy_of(built.template, function, known))
        # Signs tokens, and tells where files are; it serves nothing.
        own_settings: dict[str, Any] = {"data": folder, "endpoint": proxy.url, "environment": ENVIRONMENT}
        runtime = Runtime.open(Settings(**own_settings), [system.system])
        open_things.callback(runtime.close)
        keys = open_things.enter_context(_issuer(runtime))
        variables = {
            **_settings(built.template, resources),
            "TABLEWRIGHT_ENDPOINT": proxy.url,
            "TABLEWRIGHT_AWS_ENDPOINT": account_proxy.url,
            "TABLEWRIGHT_SECRET_ID": secret_id,
            "TABLEWRIGHT_ISSUER": ISSUER,
            "TABLEWRIGHT_AUDIENCE": AUDIENCE,
            "TABLEWRIGHT_JWKS_URL": keys,
            "TABLEWRIGHT_PUBLIC_URL": "https://api.example.org",
            "TABLEWRIGHT_SOURCES": str(folder / "sources"),
            # The model that programs of the tests ask for.
            "TABLEWRIGHT_EXTENSIONS": "tests.systems.engagement.engagement_fixtures" if name == "engagement" else "",
            "TABLEWRIGHT_LOG_LEVEL": "WARNING",
            "TABLEWRIGHT_RATE_LIMIT": "1000000",
            "TABLEWRIGHT_RATE_BURST": "1000000",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
        own = {each.name: {"AWS_ACCESS_KEY_ID": access_key(each)} for each in system.functions}
        local = LocalDeployment(
            system,
            engine,
            variables,
            own=own,
            minute=_MINUTE,
            table_name=lambda table: table_name(table, ENVIRONMENT),
        )
        open_things.enter_context(local)
        served = Served(local.url, runtime, Clock(), [system.system], has_search=False)
        open_things.callback(served.close_clients)
        yield Deployed(system, served, local, proxy, account_proxy, engine, account, resources)


def _settings(template: Mapping[str, Any], resources: Mapping[str, str]) -> dict[str, str]:
    """The variables of the API's function in the template, as CloudFormation would resolve them."""
    found = {}
    pseudo = {"AWS::Region": REGION, "Environment": ENVIRONMENT, **PARAMETERS, **resources}
    for name, value in template["Resources"]["ApiFunction"]["Properties"]["Environment"]["Variables"].items():
        if isinstance(value, str):
            found[name] = value
        elif "Ref" in value and value["Ref"] in pseudo:
            found[name] = pseudo[value["Ref"]]
    return found


@contextmanager
def _issuer(runtime: Runtime) -> Iterator[str]:
    """The keys of the issuer, at a URL."""
    assert runtime.issuer is not None
    token = runtime.issuer.token("nobody")
    key_id = jwt.get_unverified_header(token)["kid"]
    public = asyncio.run(runtime.issuer.keys())[key_id].key
    content = json.dumps({"keys": [{**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public)), "kid": key_id}]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/jwks.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
