"""Rules about fields that are not keys: money, times to live that nothing acts on, and personal data without an end."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from tablewright.design.lint.field_traits import field_paths, words
from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import field_code
from tablewright.model import Retain, personal_fields

# Things of which a total is money.
_BILLS = frozenset(["invoice", "order", "cart", "basket", "payment", "bill", "receipt", "purchase", "quote", "sale"])
_TTL_NAMES = frozenset(["ttl", "time_to_live", "expire_at", "expires_on_ttl", "ttl_seconds"])
# What is there for a while only, and when it ends.
_PASSING = frozenset(
    ["session", "token", "cache", "cached", "otp", "nonce", "lock", "lease", "challenge", "captcha", "verification"]
)
_ENDS = frozenset(["expires_at", "expires", "expiry", "expires_on", "expiration", "expiration_time", "valid_until"])


@rule("money-type", "Money that is a float, or text", "error")
def money_type(context: LintContext) -> Iterator[Occurrence]:
    """Floats round, and text can neither be added to nor compared."""
    for schema in context.schemas:
        is_bill = not _BILLS.isdisjoint(words(schema.entity.__name__))
        fields = {path: context.traits(schema, path) for path in field_paths(schema.entity)}
        # What has a currency has an amount in it, whatever that is called.
        has_amount = any(Decimal in each.types or each.is_money for each in fields.values())
        lacks_amount = any(each.is_currency for each in fields.values()) and not has_amount
        for path, traits in fields.items():
            named = traits.is_money or (is_bill and traits.name.split("_")[-1] in ("total", "sum"))
            if not named and not (lacks_amount and traits.types == {float}):
                continue
            if float in traits.types:
                why = "is a float: 0.1 + 0.2 is 0.30000000000000004, and sums are off by cents"
            elif traits.is_plain_text and not traits.is_formatted:
                why = "is text: it cannot be added to or compared, and 9.90 and 9.9 are different"
            else:
                continue
            yield Occurrence(
                f"{schema.entity.__name__}.{path}",
                f"{path} {why}.",
                f"Declare {field_code(schema, path, 'Decimal') or f'{path} as Decimal'}, which is stored exactly as "
                "DynamoDB's numbers are, or as an int of cents.",
                context.where(schema.entity),
                None if named and float in traits.types else "warning",
            )


@rule("ttl-not-enabled", "A time to live that has no effect", "warning")
def ttl_not_enabled(context: LintContext) -> Iterator[Occurrence]:
    """Without ttl= of the table, nothing expires."""
    for schema in context.schemas:
        own, attribute = schema.expiry, schema.table.ttl
        if own is not None or attribute in schema.by_attribute:
            continue
        is_passing = not _PASSING.isdisjoint(words(schema.entity.__name__))
        for name in schema.fields:
            called = context.traits(schema, name).name
            if attribute is None and (called in _TTL_NAMES or (is_passing and called in _ENDS)):
                yield Occurrence(
                    f"{schema.entity.__name__}.{name}",
                    f"{name} looks like a time to live, but table {schema.table.name} has none: nothing expires.",
                    f'Give the table `ttl="{schema.fields[name].attribute}"`, and declare `{name}: ExpiresAt = None`.',
                    context.where(schema.entity),
                )
            elif is_passing and called in _ENDS:
                yield Occurrence(
                    f"{schema.entity.__name__}.{name}",
                    f"{name} is a time to live by its name, and that of table {schema.table.name} is in {attribute}: "
                    f"no {schema.entity.__name__} expires.",
                    f'Declare `{name}: Annotated[ExpiresAt, AttributeName("{attribute}")] = None`.',
                    context.where(schema.entity),
                )


@rule("no-retention", "Personal data that is kept forever, while other personal data expires", "warning")
def no_retention(context: LintContext) -> Iterator[Occurrence]:
    """Where a design declares retention, an entity about a person without one was forgotten, or should say why."""
    if not any(schema.expiry is not None and schema.expiry.marker(Retain) is not None for schema in context.schemas):
        return
    for schema in context.schemas:
        if schema.expiry is not None:
            continue
        for name, marker in personal_fields(schema).items():
            if marker.kind == "subject" and not marker.keep:
                yield Occurrence(
                    f"{schema.entity.__name__}.{name}",
                    f"items are about the person in {name}, and are kept forever, while other personal data of "
                    "the design expires.",
                    "Declare `ttl: Annotated[ExpiresAt, Retain(days=365)] = None`, or say why they are kept: "
                    f'`{name}: Annotated[str, Personal("subject", keep="tax law")]`.',
                    context.where(schema.entity),
                )
