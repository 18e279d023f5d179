"""Evaluates whether a policy allows a request, by the rules of IAM, for tests.

    is_allowed(policy, "dynamodb:Query", arn, {"dynamodb:LeadingKeys": ["CUSTOMER#c-1"]})

A request is allowed if a statement allows it and none denies it. It has a context: condition keys, each with one or
more values. Supported are the operators on strings, booleans and existence, with ``IfExists``, ``ForAllValues`` (every
value of the request matches; true without values) and ``ForAnyValue`` (some value matches; false without values). Other
operators raise an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

__all__ = ["is_allowed"]

Context = Mapping[str, str | Sequence[str]]

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LITERAL = ("*", "?", "$")


def is_allowed(
    policies: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    action: str,
    resource: str,
    context: Context | None = None,
) -> bool:
    """Whether policies, taken together, allow an action on a resource."""
    if isinstance(policies, Mapping):
        policies = [policies]
    known = {
        name.lower(): [value] if isinstance(value, str) else list(value) for name, value in (context or {}).items()
    }
    allowed = False
    for policy in policies:
        for statement in _several(policy["Statement"]):
            if _applies(statement, action, resource, known):
                if statement["Effect"] == "Deny":
                    return False
                allowed = True
    return allowed


def _applies(statement: Mapping[str, Any], action: str, resource: str, context: Mapping[str, list[str]]) -> bool:
    return (
        _meets(statement, "Action", lambda pattern: _like(pattern.lower(), action.lower(), {}))
        and _meets(statement, "Resource", lambda pattern: _like(pattern, resource, context))
        and all(
            _holds(operator, key, _several(values), context)
            for operator, conditions in statement.get("Condition", {}).items()
            for key, values in conditions.items()
        )
    )


def _meets(statement: Mapping[str, Any], member: str, matches: Callable[[str], bool]) -> bool:
    if f"Not{member}" in statement:
        return not any(matches(pattern) for pattern in _several(statement[f"Not{member}"]))
    return any(matches(pattern) for pattern in _several(statement[member]))


def _holds(operator: str, key: str, wanted: Sequence[Any], context: Mapping[str, list[str]]) -> bool:
    quantifier, colon, name = operator.rpartition(":")
    optional = name.endswith("IfExists")
    name = name.removesuffix("IfExists")
    values = context.get(key.lower())
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in wanted]
    if name == "Null":
        return (values is None or not values) == (texts[0] == "true")
    if name not in _OPERATORS:
        raise ValueError(f"the condition operator {operator} is not supported")
    matches, negated = _OPERATORS[name]

    def one(value: str) -> bool:
        found = any(matches(pattern, value, context) for pattern in texts)
        return found != negated

    if quantifier == "ForAllValues":
        return all(map(one, values or ()))
    if quantifier == "ForAnyValue":
        return any(map(one, values or ()))
    if colon:
        raise ValueError(f"the condition operator {operator} is not supported")
    if not values:
        return optional or negated
    return all(map(one, values)) if negated else any(map(one, values))


# -- texts ----------------------------------------------------------------------------------------------------------


def _equal(pattern: str, value: str, context: Mapping[str, list[str]]) -> bool:
    return _resolved(pattern, context) == value


def _equal_ignoring_case(pattern: str, value: str, context: Mapping[str, list[str]]) -> bool:
    text = _resolved(pattern, context)
    return text is not None and text.lower() == value.lower()


def _like(pattern: str, value: str, context: Mapping[str, list[str]]) -> bool:
    """``*`` and ``?`` are wildcards in the policy, and literal in the value of a variable."""
    expression = ""
    position = 0
    for match in _VARIABLE.finditer(pattern):
        text = _value(match[1], context)
        if text is None:
            return False
        expression += _wild(pattern[position : match.start()]) + re.escape(text)
        position = match.end()
    return re.fullmatch(expression + _wild(pattern[position:]), value, re.DOTALL) is not None


def _wild(text: str) -> str:
    return re.escape(text).replace(r"\*", ".*").replace(r"\?", ".")


def _resolved(pattern: str, context: Mapping[str, list[str]]) -> str | None:
    """A string with its variables replaced; None if one has no value."""
    values = {match[1]: _value(match[1], context) for match in _VARIABLE.finditer(pattern)}
    if None in values.values():
        return None
    return _VARIABLE.sub(lambda match: values[match[1]] or "", pattern)


def _value(variable: str, context: Mapping[str, list[str]]) -> str | None:
    if variable in _LITERAL:
        return variable
    name, comma, default = (part.strip() for part in variable.partition(","))
    values = context.get(name.lower())
    if values:
        return values[0]
    return default.strip("'") if comma else None


Matcher = Callable[[str, str, Mapping[str, list[str]]], bool]

_OPERATORS: dict[str, tuple[Matcher, bool]] = {
    "StringEquals": (_equal, False),
    "StringNotEquals": (_equal, True),
    "StringEqualsIgnoreCase": (_equal_ignoring_case, False),
    "StringNotEqualsIgnoreCase": (_equal_ignoring_case, True),
    "StringLike": (_like, False),
    "StringNotLike": (_like, True),
    "ArnEquals": (_like, False),
    "ArnLike": (_like, False),
    "Bool": (_equal_ignoring_case, False),
}


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]
