"""The partition keys of a tenant, for ``dynamodb:LeadingKeys``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from tablewright.design.design_loading import DesignError
from tablewright.design.iam.grants import Tenant
from tablewright.model import Schema, Template
from tablewright.model.keys.key_forms import Field

__all__ = ["leading_keys"]


def leading_keys(
    name: str, schema: Schema, index_name: str | None, fixed: Mapping[str, Any], tenant: Tenant
) -> tuple[str, ...]:
    """The partition keys with the tenant's value; a key that continues after it ends in ``*``."""
    table = schema.table
    attributes = (table.partition,) if index_name is None else table.index(index_name).partition
    if len(attributes) > 1:
        raise DesignError(
            f"{name} cannot be limited to a tenant: {index_name} has a partition key of several attributes"
        )
    (attribute,) = attributes
    spec = schema.fields.get(tenant.field)
    rule = schema.key_rules.get(attribute)
    if spec is None or spec.types & {"N", "B"}:
        raise DesignError(
            f"{name} cannot be limited to a tenant: {schema.entity.__name__} has no text field {tenant.field!r}"
        )
    if rule is None:
        if spec.attribute == attribute:
            return (tenant.text,)
    else:
        stored = schema.encode_values(fixed)
        texts = [
            _with_tenant(parts, spec.attribute, stored, tenant)
            for case in rule.possible(stored)
            for parts in _lengths(case.template)
        ]
        if None not in texts:
            return tuple(
                text + suffix
                for text in dict.fromkeys(text for text in texts if text is not None)
                for suffix in ([""] if text.endswith("*") else dict.fromkeys(chain(*rule.suffixes)))
            )
    key = f"{attribute} = {rule.text!r}" if rule is not None else attribute
    raise DesignError(
        f"{name} cannot be limited to a tenant: its partition key ({key}) does not begin with {tenant.field}; use "
        "a key that does, or another role"
    )


def _lengths(template: Template) -> list[Sequence[Any]]:
    """The parts of a key, without and with the optional ones."""
    return [template.parts, template.parts + template.optional] if template.optional else [template.parts]


def _with_tenant(parts: Sequence[Any], attribute: str, fixed: Mapping[str, Any], tenant: Tenant) -> str | None:
    text, found = "", False
    for part in parts:
        if not isinstance(part, Field):
            text += re.sub(r"[*?]", lambda match: f"${{{match[0]}}}", part.text)
        elif part.name == attribute:
            text, found = text + tenant.text, True
        elif part.name in fixed:
            text += part.encode(fixed[part.name])
        else:
            return f"{text}*" if found else None
    return text if found else None
