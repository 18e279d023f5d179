"""A proxy in front of an account that enforces the policies of roles on what functions use beside tables.

Permissions are those that the services need for the requests that our code makes: S3's by method and path, the
others' by operation. Any other request fails the test that makes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, unquote, urlsplit

from tablewright.design.iam import Permission
from tests.policy_proxy import ACCOUNT, REGION, EnforcingProxy, Received

_OF_OBJECTS = {"GET": "s3:GetObject", "HEAD": "s3:GetObject", "PUT": "s3:PutObject", "DELETE": "s3:DeleteObject"}


class AccountProxy(EnforcingProxy):
    """In front of S3, SES, EventBridge and Secrets Manager."""

    def permissions(self, request: Received) -> Iterator[Permission]:
        if request.operation == "GetSecretValue":
            yield Permission("secretsmanager:GetSecretValue", json.loads(request.body)["SecretId"])
        elif request.operation == "PutEvents":
            for bus in {each["EventBusName"] for each in json.loads(request.body)["Entries"]}:
                yield Permission("events:PutEvents", f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{bus}")
        elif request.body.startswith(b"Action=") or b"&Action=" in request.body:
            yield from _of_mail(parse_qs(request.body.decode()))
        else:
            yield _of_storage(request)

    def denial(self, message: str) -> tuple[int, str, bytes]:
        return 403, "text/xml", f"<Error><Code>AccessDenied</Code><Message>{message}</Message></Error>".encode()


def _of_mail(form: dict[str, list[str]]) -> Iterator[Permission]:
    """Of the identity of the sender, which is that of its domain, and the configuration set."""
    (action,) = form["Action"]
    place = f"arn:aws:ses:{REGION}:{ACCOUNT}"
    yield Permission(f"ses:{action}", f"{place}:identity/{form['Source'][0].partition('@')[2]}")
    for name in form.get("ConfigurationSetName", ()):
        yield Permission(f"ses:{action}", f"{place}:configuration-set/{name}")


def _of_storage(request: Received) -> Permission:
    parts = urlsplit(request.path)
    bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
    query = parse_qs(parts.query, keep_blank_values=True)
    # SDKs name the operation in the query as well.
    if key and {*query} <= {"x-id"}:
        return Permission(_OF_OBJECTS[request.method], f"arn:aws:s3:::{bucket}/{key}")
    assert (request.method, query.get("list-type")) == ("GET", ["2"]), request.path
    return Permission("s3:ListBucket", f"arn:aws:s3:::{bucket}")
