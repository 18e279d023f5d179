"""The definition that a table is created from, taken from its description or from the model.

A stream, time to live, recovery and deletion protection are enabled at the end: copying creates no stream records, and
no item expires during the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from tablewright.model import Table

__all__ = ["TableDefinition"]

_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")
_STANDARD = "STANDARD"


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table without its name and its items."""

    # The CreateTable request without a name.
    create: dict[str, Any]
    ttl: str | None = None
    # The view type of the stream.
    stream: str | None = None
    recovery: bool = False
    protected: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The key attributes, the partition key first."""
        return tuple(part["AttributeName"] for part in self.create["KeySchema"])

    @property
    def typed_key(self) -> tuple[tuple[str, str], ...]:
        """The key attributes with their types."""
        types = self.attribute_types
        return tuple((name, types[name]) for name in self.key)

    @property
    def attribute_types(self) -> dict[str, str]:
        """The types of all attributes in a key of the table or of an index."""
        return {each["AttributeName"]: each["AttributeType"] for each in self.create["AttributeDefinitions"]}

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """From ``as_json``; TypeError, ValueError or KeyError if it is not of that form."""
        found = cls(**content)
        if not found.typed_key:
            raise ValueError("it has no key")
        return found

    @classmethod
    def described(cls, description: Mapping[str, Any], *, ttl: str | None, recovery: bool) -> Self:
        """From the responses of DescribeTable and of other requests."""
        on_demand = description.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST"
        create: dict[str, Any] = {
            "AttributeDefinitions": description["AttributeDefinitions"],
            "KeySchema": description["KeySchema"],
            "BillingMode": "PAY_PER_REQUEST" if on_demand else "PROVISIONED",
        }
        if not on_demand:
            create["ProvisionedThroughput"] = _throughput(description)
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            indexes = [
                {
                    **{name: index[name] for name in ("IndexName", "KeySchema", "Projection")},
                    **({} if on_demand or member[0] == "L" else {"ProvisionedThroughput": _throughput(index)}),
                }
                for index in description.get(member) or ()
            ]
            if indexes:
                create[member] = indexes
        table_class = description.get("TableClassSummary", {}).get("TableClass", _STANDARD)
        if table_class != _STANDARD:
            create["TableClass"] = table_class
        stream = description.get("StreamSpecification", {})
        return cls(
            create,
            ttl=ttl,
            stream=stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
            recovery=recovery,
            protected=bool(description.get("DeletionProtectionEnabled")),
        )

    @classmethod
    def modelled(cls, table: Table) -> Self:
        """From the model."""
        create = table.create_request()
        for member in ("TableName", "StreamSpecification", "DeletionProtectionEnabled"):
            create.pop(member, None)
        return cls(
            create,
            ttl=table.ttl,
            stream=table.stream,
            recovery=table.point_in_time_recovery,
            protected=table.deletion_protection,
        )


def _throughput(description: Mapping[str, Any]) -> dict[str, int]:
    found = description.get("ProvisionedThroughput", {})
    return {unit: max(1, found.get(unit, 1)) for unit in _UNITS}
