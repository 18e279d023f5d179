"""Checks of the parameters that an access pattern declares, against the key that it reads."""

from __future__ import annotations

from collections.abc import Sequence

from tablewright.model.errors import ModelError
from tablewright.model.pattern_signature import PatternSignature
from tablewright.model.patterns import BOUNDS, Get, Pattern, Query

__all__ = ["check_parameters", "undeclared"]


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
            raise ModelError(f"{place}: {name} is fixed, so it cannot be a parameter; remove one of them")
        if name in (*needed, *further, *in_states):
            if name in BOUNDS and isinstance(pattern, Query) and pattern.range not in (None, name):
                raise ModelError(f"{place}: {name} is a field of the key and a bound of the range; rename the field")
        elif name not in BOUNDS or not is_bounded:
            others.append(name)
    if others and not signature.returns_filter:
        hint = f"it as {pattern.name}({taken}), or return a filter that uses {others[0]}"
        if others[0] in BOUNDS:
            hint = "range=..."
        raise ModelError(f"{place} takes {others[0]}, which the key that is read does not need; declare {hint}")
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
