"""Rules about identity: primary keys that several items share, and names that are not unique."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.lint.field_traits import FieldTraits, words
from tablewright.design.lint.lint_context import EntityKey, LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule
from tablewright.design.lint.repair_code import field_code, own_ids, unique_key_repair
from tablewright.model import Schema

# What many things have, by the last word of a name.
_SHARED_NAMES = frozenset(
    ["name", "title", "subject", "city", "country", "category", "label", "tag", "color", "colour", "region", "language"]
)
# Things that sign in, and what they sign in with.
_PEOPLE = frozenset(["user", "account", "customer", "member", "person", "employee", "subscriber", "profile", "player"])
_LOGINS = frozenset(["email", "mail", "username", "login", "handle", "nickname"])

# What names a thing in an address, so that there is one of each.
_OWN_NAMES = frozenset(["slug", "handle", "permalink"])


def _may_be_shared(traits: FieldTraits) -> bool:
    """Whether two items may have the same value, by what is known of a field."""
    if traits.is_unique or traits.is_numbered:
        return False
    if traits.few is not None or traits.is_instant or traits.is_day or traits.is_measure:
        return True
    return traits.is_plain_text and traits.name.split("_")[-1] in _SHARED_NAMES


@rule("key-not-unique", "A primary key that is not unique", "error")
def key_not_unique(context: LintContext) -> Iterator[Occurrence]:
    """The second item replaces the first."""
    for schema in context.schemas:
        key = EntityKey(schema, None)
        if context.all_instants(schema, key.sort or key.partition):
            continue  # time-as-identity says it
        fields = context.fields_of(schema, schema.table.key)
        ids = own_ids(schema)
        if not fields or any(name in ids or context.traits(schema, name).is_unique for name in fields):
            continue
        sorted_by = [context.traits(schema, name) for name in context.fields_of(schema, key.sort)]
        is_certain = True
        if sorted_by:
            measured = all(trait.is_measure for trait in sorted_by)
            found = all(map(_may_be_shared, sorted_by)) and (bool(ids) or measured)
            if not found and ids and len(sorted_by) == 1:
                # COMMENT#{author_id}: the key says that it is a comment, and has the id of another entity.
                found = _is_of_another(context, schema, key) or _is_nobodys_name(context, schema, sorted_by[0])
                is_certain = False
        else:
            # One item for each of something else, although it has an id of its own.
            found = bool(ids) and all(words(name)[-1:] == ["id"] for name in fields)
        if not found:
            continue
        attribute = (key.sort or key.partition)[-1]
        yield Occurrence(
            f"{schema.entity.__name__}.{attribute}",
            f"The primary key of {schema.entity.__name__} is made of {' and '.join(fields)}, which two items "
            "can have in common: the second one replaces the first, or is refused.",
            unique_key_repair(schema, attribute, ids),
            context.where(schema.entity),
            None if sorted_by and is_certain else "warning",
        )


def _is_of_another(context: LintContext, schema: Schema, key: EntityKey) -> bool:
    """Whether a sort key has the name of the entity, and the id of another one."""
    template = context.key_template(schema, key.sort[0])
    if template is None or words(template.fields[0])[-1:] != ["id"] or len(words(template.fields[0])) < 2:
        return False
    head = words(template.head)
    return bool(head) and head == words(schema.entity.__name__)[-len(head) :]


def _is_nobodys_name(context: LintContext, schema: Schema, sorted_by: FieldTraits) -> bool:
    """Whether a sort key is of a text or a number that no read takes for a name of one item."""
    if sorted_by.is_unique or sorted_by.is_numbered or sorted_by.is_hand_counted or sorted_by.is_formatted:
        return False
    if words(sorted_by.path)[-1:] == ["id"] or not (sorted_by.is_plain_text or sorted_by.types == {int}):
        return False
    return not any(owner is schema and get.index is None for _, owner, get, _ in context.gets())


@rule("login-not-unique", "A lookup by a name that is not unique", "warning")
def login_not_unique(context: LintContext) -> Iterator[Occurrence]:
    """Two people who sign up at the same time both succeed."""
    for schema in context.schemas:
        is_person = not _PEOPLE.isdisjoint(words(schema.entity.__name__)[-1:])
        primary = context.fields_of(schema, schema.table.key)
        # Of a Get, index-not-unique says it.
        for place, owner, pattern, key in context.queries():
            if owner is not schema or pattern.index is None:
                continue
            fields = context.fields_of(schema, key.partition)
            if len(fields) != 1:
                continue
            traits = context.traits(schema, fields[0])
            named = traits.name in _OWN_NAMES or (is_person and traits.name.split("_")[-1] in _LOGINS)
            if named and not traits.is_unique and fields[0] not in primary:
                yield Occurrence(
                    f"{schema.entity.__name__}.{fields[0]}",
                    f"{place} finds a {schema.entity.__name__} by {fields[0]}, but nothing prevents two of them "
                    "from having the same value: an index does not enforce uniqueness, and a read before the write "
                    "is a race.",
                    f"Mark it as unique, {field_code(schema, fields[0], marker='Unique()') or 'with Unique()'}; a "
                    "guard in the same transaction enforces it.",
                    context.where(schema.entity),
                )
                break
