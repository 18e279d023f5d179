"""Policy documents, from grants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tablewright.design.design_loading import DesignError
from tablewright.design.iam.grants import Grant, Resource
from tablewright.design.table_names import check_place, table_name

__all__ = ["arns", "document", "words"]

_VERSION = "2012-10-17"
_LEADING = "dynamodb:LeadingKeys"
_STREAM_LABEL = "STREAM-LABEL"


def arns(
    region: str,
    account: str,
    *,
    environment: str | None = None,
    stream_labels: Mapping[str, str] | None = None,
    partition: str = "aws",
) -> Callable[[Resource], str]:
    """Makes the ARNs of resources. A stream has the label given for its table, or a placeholder."""
    check_place(region, environment)
    labels = stream_labels or {}

    def arn(resource: Resource) -> str:
        name = table_name(resource.table, None if resource.shared else environment)
        text = f"arn:{partition}:dynamodb:{region}:{account}:table/{name}"
        if resource.stream:
            return f"{text}/stream/{labels.get(resource.table.name, _STREAM_LABEL)}"
        return text if resource.index is None else f"{text}/index/{resource.index}"

    return arn


def document(grants: Iterable[Grant], arn: Callable[[Resource], Any]) -> dict[str, Any]:
    """The policy that allows exactly what is granted."""
    actions: dict[tuple[tuple[str, ...], Resource], set[str]] = {}
    for grant in grants:
        actions.setdefault((grant.leading, grant.resource), set()).add(grant.action)
    # Resources with the same actions share a statement.
    together: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Resource]] = {}
    for (leading, resource), allowed in actions.items():
        together.setdefault((leading, tuple(sorted(allowed))), []).append(resource)
    statements = []
    for number, ((leading, names), resources) in enumerate(together.items(), 1):
        statement: dict[str, Any] = {
            "Sid": f"{''.join(word[0].upper() + word[1:] for word in words(str(resources[0])))}{number}",
            "Effect": "Allow",
            "Action": [f"dynamodb:{action}" for action in names],
            "Resource": ["*" if resource.everything else arn(resource) for resource in resources],
        }
        if leading:
            operator = "StringLike" if any(text.endswith("*") for text in leading) else "StringEquals"
            statement["Condition"] = {
                f"ForAllValues:{operator}": {_LEADING: list(leading)},
                "Null": {_LEADING: "false"},
            }
        statements.append(statement)
    if not statements:
        raise DesignError(
            "a role without permissions has no policy, as IAM refuses one without statements; give it patterns or "
            "writes, or remove it"
        )
    return {"Version": _VERSION, "Statement": statements}


def words(text: str) -> list[str]:
    """The words of a name that are allowed in the name of a policy."""
    return re.findall(r"[A-Za-z0-9]+", text) or ["Policy"]
