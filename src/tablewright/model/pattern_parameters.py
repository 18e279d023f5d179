"""Checks of the parameters that an access pattern declares, against the key that it reads."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tablewright.model.errors import ModelError
from tablewright.model.pattern_signature import PatternSignature
from tablewright.model.patterns import BOUNDS, Get, Pattern, Query

__all__ = ["bounded_field", "check_parameters", "undeclared"]


def bounded_field(
    place: str,
    taken: Sequence[str],
    in_partition: Sequence[str],
    in_sort: Sequence[str],
    fixed: Container[str] = (),
    buckets: Container[str] = (),
) -> str | None:
    """The field that the bounds of a read are of: the first of the sort key that it neither takes nor fixes.

    A day says which bucket is read, and leaves the sort key free. None: the read takes no bounds.
    """
    bounds = [name for name in taken if name in BOUNDS and name not in in_partition]
    for name in bounds:
        if name in in_sort:
            raise ModelError(
                f"{place} takes {name}, which is a field of the sort key and the name of a bound; rename the field, "
                f'and store it under its name with AttributeName("{name}")'
            )
    if not bounds:
        return None
    for name in in_partition:
        if name not in fixed and name.replace(".", "__") not in taken and name not in buckets:
            raise ModelError(
                f"{place}: {name} is part of the partition key that is read, which needs one value and has no range; "
                "partition by something else and put it into the sort key, or take it as a parameter",
                rule="partition-range",
            )
    for name in in_sort:
        if name not in fixed and (name.replace(".", "__") not in taken or name in buckets):
            return name
    raise ModelError(
        f"{place} takes {bounds[0]}, but no field of the sort key is left to bound: it has "
        f"{', '.join(in_sort) or 'none'}; remove a parameter"
    )


def check_parameters(
    place: str,
    pattern: Get | Query,
    in_partition: Sequence[str],
    in_sort: Sequence[str],
    in_states: Sequence[str],
    buckets: Sequence[str] = (),
) -> None:
    """Check that a pattern takes what its key needs, and nothing else that no filter uses.

    ``in_states`` are fields that the key depends on without containing them (``when(...)``). ``buckets`` are times of
    which the partition key has a part: instead of one, a pattern may take both bounds of a range of them.
    """
    fixed = pattern.fixed if isinstance(pattern, Query) else {}
    is_bounded = isinstance(pattern, Query) and pattern.range is not None
    needed, further = list(in_partition), list(in_sort)
    if isinstance(pattern, Get) and pattern.index is None:
        needed, further = needed + further, []
    taken = ", ".join(["self", *(name for name in dict.fromkeys([*needed, *further]) if name not in fixed)])
    signature = pattern.signature
    if signature is None:
        raise undeclared(place, pattern, taken)
    for name in needed:
        if name in buckets and isinstance(pattern, Query) and pattern.range == name and _has_both_bounds(signature):
            continue
        if name not in fixed and name not in signature.required:
            reason = "gives it a default" if name in signature.parameters else "does not take it"
            raise ModelError(f"{place} needs {name} for the key, and {reason}; declare it as {pattern.name}({taken})")
    _check_several(place, pattern, signature, in_partition, (*in_sort, *in_states))
    others = []
    for name in signature.names:
        if name in fixed:
            raise ModelError(
                f"{place}: {name} is compared with a value of the key, so it cannot be a parameter; remove one of them"
            )
        if name in (*needed, *further, *in_states):
            if name in BOUNDS and is_bounded:
                raise ModelError(f"{place}: {name} is a field of the key and a bound of the range; rename the field")
        elif name not in BOUNDS or not is_bounded:
            others.append(name)
    if others and not signature.returns_filter:
        raise ModelError(
            f"{place} takes {others[0]}, which the key that is read does not need; declare it as "
            f"{pattern.name}({taken}), or return a filter that uses {others[0]}"
        )
    signature.filtered_by = frozenset(others)


def undeclared(place: str, pattern: Pattern, parameters: str) -> ModelError:
    """The error for a pattern without a function that declares its parameters."""
    kind = type(pattern).__name__
    return ModelError(
        f"{place} has no parameters; declare it as `@{kind}(...) def {pattern.name}({parameters}) -> None`"
    )


def _has_both_bounds(signature: PatternSignature) -> bool:
    return bool({"since", "after"} & signature.required) and bool({"until", "before"} & signature.required)


def _check_several(
    place: str, pattern: Get | Query, signature: PatternSignature, in_partition: Sequence[str], elsewhere: Sequence[str]
) -> None:
    """Check that only fields of the partition key take several values."""
    for name in signature.several:
        if name in in_partition and isinstance(pattern, Get):
            raise ModelError(f"{place} reads one item, so it takes one {name}; read several with get_many")
        if name not in in_partition and name in elsewhere:
            raise ModelError(
                f"{place} takes several {name}, which is not part of the partition key; only partitions are merged"
            )
    signature.several &= frozenset(in_partition)
