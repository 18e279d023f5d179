"""Rules about writes and reactions to them: conditions, retries, events and counters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablewright.design.lint.field_traits import FieldTraits, words
from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import Occurrence, Severity, rule
from tablewright.model import ItemWrite, Write

_COUNTING = re.compile(r"(?:increment|decrement|increase|decrease|bump|count)\b", re.IGNORECASE)


@rule("phantom-item", "An update that creates a missing item", "error")
def phantom_item(context: LintContext) -> Iterator[Occurrence]:
    """UpdateItem creates an item if the key has none."""
    for write, item_write in context.item_writes:
        if item_write.action == "update" and not item_write.conditional:
            entity = item_write.entity.__name__
            what = ", ".join(item_write.changed) or "it"
            yield Occurrence(
                write.name,
                f"{write.name} updates {what} of {entity} without a condition. If there is no item with that key, "
                f"DynamoDB creates one with these attributes alone, which is not a valid {entity}.",
                "Require that the item exists: remove conditional=False. The store's update does so, and raises "
                "NotFound.",
                context.where(item_write.entity),
            )


@rule("blind-overwrite", "A create that replaces an existing item", "error")
def blind_overwrite(context: LintContext) -> Iterator[Occurrence]:
    """PutItem replaces an existing item with the same key."""
    for write, item_write in context.item_writes:
        if _replaces_what_was_read(write, item_write):
            name = item_write.entity.__name__
            yield Occurrence(
                write.name,
                f"{write.name} reads {name} and puts it without a condition: what others wrote in between is lost.",
                f"Drop conditional=False, and give {name} a version, or update the fields that change.",
                context.where(item_write.entity),
                "warning",
            )
        if item_write.action == "create" and not item_write.conditional:
            yield Occurrence(
                write.name,
                f"{write.name} creates {item_write.entity.__name__} without a condition, so that it replaces one "
                "that has the same key: a retried or colliding request loses what was there.",
                'Require that there is none: drop conditional=False, or say "put" where replacing is meant.',
                context.where(item_write.entity),
            )


def _replaces_what_was_read(write: Write, item_write: ItemWrite) -> bool:
    """Whether one item is read, changed by the program, and put without a condition."""
    if item_write.action != "put" or item_write.conditional or item_write.count > 1:
        return False
    return any(read.partition(".")[0] == item_write.entity.__name__ for read in write.reads)


@rule("unbounded-retries", "A write that is retried forever", "error")
def unbounded_retries(context: LintContext) -> Iterator[Occurrence]:
    """A failure that does not pass is retried without end."""
    for write in context.design.writes.values():
        if write.retries is None:
            yield Occurrence(
                write.name,
                f"{write.name} is retried until it succeeds, whatever the failure is. A transaction is cancelled for "
                "a duplicate, a conflict, throttling or an invalid request; only some of these pass, and the caller "
                "waits forever on the others.",
                "Limit the retries (retries=5) and check the cancellation reasons: return the first result for a "
                "duplicate, and retry only conflicts and throttling, with backoff.",
            )


@rule("partial-count", "A counter that misses some changes", "error")
def partial_count(context: LintContext) -> Iterator[Occurrence]:
    """Items are created and deleted as well as changed."""
    for reaction in context.design.reactions:
        missing = [event for event in ("INSERT", "MODIFY", "REMOVE") if event not in reaction.events]
        if reaction.effect == "count" and missing:
            yield Occurrence(
                reaction.name,
                f"{reaction.name} counts {reaction.entity.__name__} on {', '.join(sorted(reaction.events))} only. "
                f"Changes by {' and '.join(missing)} are never counted, and the counter drifts from the table.",
                "React to every event, which is the default: omit events=.",
                context.where(reaction.entity),
            )


@rule("counted-twice", "An effect that is repeated when a record is redelivered", "error")
def counted_twice(context: LintContext) -> Iterator[Occurrence]:
    """A stream delivers at least once."""
    for reaction in context.design.reactions:
        if not reaction.once:
            yield Occurrence(
                reaction.name,
                f"{reaction.name} repeats its effect when a record is delivered again. A stream delivers at least "
                "once: after a crash, a timeout or a bisected batch, records are delivered again.",
                "Commit the effect together with the checkpoint, as the store's consumers do, or make it idempotent: "
                "once=True.",
                context.where(reaction.entity),
            )


@rule("published-by-writer", "An event that is published after the write", "error")
def published_by_writer(context: LintContext) -> Iterator[Occurrence]:
    """A process can crash between the two."""
    for reaction in context.design.reactions:
        if reaction.source == "writer":
            yield Occurrence(
                reaction.name,
                f"{reaction.name} is published by the process that has written {reaction.entity.__name__}. If it "
                "crashes in between, the event is lost; if it publishes first, the write may never happen.",
                'Publish it from the stream: omit source=, and give the table `stream="NEW_AND_OLD_IMAGES"`.',
                context.where(reaction.entity),
            )


@rule("stream-missing", "A reaction to a stream that the table does not have", "error")
def stream_missing(context: LintContext) -> Iterator[Occurrence]:
    """Without a stream there are no records; without old images a counter cannot be decremented."""
    for reaction in context.design.reactions:
        stream = reaction.entity.schema_.table.stream
        table = reaction.entity.schema_.table.name
        if reaction.source != "stream":
            continue
        if stream is None:
            message = f"{reaction.name} reads the stream of table {table}, which has none: it never runs."
        elif reaction.effect == "count" and stream != "NEW_AND_OLD_IMAGES":
            message = (
                f"{reaction.name} counts, but the stream of table {table} has {stream}: a record lacks the old or "
                "the new image, so the counter cannot be decremented."
            )
        else:
            continue
        yield Occurrence(
            reaction.name, message, 'Give the table `stream="NEW_AND_OLD_IMAGES"`.', context.where(reaction.entity)
        )


@rule("counter-set", "A counter that is set instead of added to", "error")
def counter_set(context: LintContext) -> Iterator[Occurrence]:
    """Two writers who read the same number both write the next one."""
    for write, item_write in context.item_writes:
        schema = item_write.entity.schema_
        if item_write.action != "update" or schema.version is not None:
            continue  # a version lets only one of them through
        for path in item_write.sets:
            severity = _counting(context, write, item_write, path)
            if severity is not None:
                entity = item_write.entity.__name__
                sets = "sets" if severity == "error" else "sets what seems to be a counter,"
                yield Occurrence(
                    f"{write.name}.{path}",
                    f"{write.name} {sets} {path} of {entity}, which it has to read before. Two writers that "
                    "read the same number both write the next one, and one of them is not counted.",
                    f"Add to it, with `attr({entity}.{path}).add(1)`, and declare {_adding(item_write, path)}. "
                    f"If it is set to a fresh count, give {entity} a version instead.",
                    context.where(item_write.entity),
                    severity,
                )


def _counting(context: LintContext, write: Write, item_write: ItemWrite, path: str) -> Severity | None:
    """How sure it is that an update sets a field to what it has counted; None if nothing indicates it.

    A name says it, or what the design says: a number that begins at 0, or that others add to, is all that is set by a
    write that reads the same entity before, or that creates or deletes an item of another.
    """
    schema = item_write.entity.schema_
    traits = context.traits(schema, path)
    if traits.is_tally or (_COUNTING.match(write.name) and traits.types == {int} and not traits.is_numbered):
        return "error"
    in_keys = {name for key in context.keys(schema) for name in context.fields_of(schema, key.partition + key.sort)}
    if not traits.may_be_tally or path in in_keys:
        return None
    others = [each for each in write.item_writes if each.entity is not item_write.entity]
    counted = [each.entity for each in others if each.action in ("create", "delete") and each.count == 1]
    if any(_is_named_after(path, each.__name__) for each in counted):
        return "warning"
    is_added = any(path in each.adds for _, each in context.item_writes_of(schema))
    if not (traits.begins_at_zero or is_added):
        return None
    if not all(_is_figure(context.traits(schema, each)) for each in item_write.sets):
        return None  # a form that a person has filled in, or a state with what belongs to it
    reads = any(name.partition(".")[0] == item_write.entity.__name__ for name in write.reads)
    if counted or reads:
        return "warning"
    return "advice" if len(write.item_writes) == len(item_write.sets) == 1 else None


def _is_figure(traits: FieldTraits) -> bool:
    """A number, or the time that it is of."""
    return traits.may_be_tally or traits.is_instant or traits.is_day


def _is_named_after(path: str, entity: str) -> bool:
    """Whether a field is named after an entity, whatever the plural is: ``comments``, ``commenti`` of a Commento."""
    name = words(entity)[-1]
    stem = name[: max(4, len(name) - 2)]
    return any(word.startswith(stem) and abs(len(word) - len(name)) <= 2 for word in words(path))


def _adding(item_write: ItemWrite, path: str) -> str:
    """An update that adds to what it sets."""
    changes = {
        "sets": [each for each in item_write.sets if each != path],
        "adds": [*item_write.adds, path],
        "appends": list(item_write.appends),
    }
    entity = item_write.entity.__name__
    texts = [f"{name}=[{', '.join(f'{entity}.{path}' for path in paths)}]" for name, paths in changes.items() if paths]
    return f'`ItemWrite({entity}, "update", {", ".join(texts)})`'
