"""Rules about writes and what follows them: conditions, retries, events and counters."""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.lint.lint_context import LintContext
from tablewright.design.lint.lint_findings import Occurrence, rule


@rule("phantom-item", "An update that creates what is not there", "error")
def phantom_item(context: LintContext) -> Iterator[Occurrence]:
    """UpdateItem creates an item under a key that has none."""
    for write, item_write in context.item_writes:
        if item_write.action == "update" and not item_write.conditional:
            entity = item_write.entity.__name__
            what = ", ".join([*item_write.appends, *item_write.sets]) or "it"
            yield Occurrence(
                write.name,
                f"{write.name} updates {what} of {entity} without a condition. For an id that does not exist DynamoDB "
                f"creates an item with these attributes alone: a phantom that is no {entity}.",
                "Require that the item is there: drop conditional=False; the store's update does, and answers that "
                "there is none.",
                context.where(item_write.entity),
            )


@rule("blind-overwrite", "A create that replaces what is there", "error")
def blind_overwrite(context: LintContext) -> Iterator[Occurrence]:
    """PutItem replaces the item under a key that has one."""
    for write, item_write in context.item_writes:
        if item_write.action == "create" and not item_write.conditional:
            yield Occurrence(
                write.name,
                f"{write.name} creates {item_write.entity.__name__} without a condition, so that it replaces one that "
                "has the same key: a retried or colliding request loses what was there.",
                'Require that there is none: drop conditional=False, or say "put" where replacing is meant.',
                context.where(item_write.entity),
            )


@rule("unbounded-retries", "A write that is tried again for ever", "error")
def unbounded_retries(context: LintContext) -> Iterator[Occurrence]:
    """What fails for a reason that stays is never done."""
    for write in context.design.writes.values():
        if write.retries is None:
            yield Occurrence(
                write.name,
                f"{write.name} is tried again until it succeeds, whatever the failure was. A cancelled transaction may "
                "be a duplicate, a conflict, a lack of capacity or a wrong request; only some of them pass, and the "
                "caller waits or the stack overflows on the others.",
                "Bound it (retries=5) and look at the reasons of the cancellation: a duplicate is answered with the "
                "first result, only conflicts are tried again, with back-off.",
            )


@rule("partial-count", "A counter that does not see every change", "error")
def partial_count(context: LintContext) -> Iterator[Occurrence]:
    """Items come and go as well as change."""
    for reaction in context.design.reactions:
        missing = [kind for kind in ("INSERT", "MODIFY", "REMOVE") if kind not in reaction.events]
        if reaction.effect == "count" and missing:
            yield Occurrence(
                reaction.name,
                f"{reaction.name} counts {reaction.entity.__name__} on {', '.join(sorted(reaction.events))} only. What "
                f"{' and '.join(missing)} would change is never counted, and the figure drifts from the table.",
                'Count every event: events=frozenset(["INSERT", "MODIFY", "REMOVE"]), which is the default.',
                context.where(reaction.entity),
            )


@rule("counted-twice", "An effect that a replay repeats", "error")
def counted_twice(context: LintContext) -> Iterator[Occurrence]:
    """A stream delivers at least once."""
    for reaction in context.design.reactions:
        if not reaction.once:
            yield Occurrence(
                reaction.name,
                f"{reaction.name} has its effect again when a record comes again. A stream delivers at least once: "
                "every crash, time-out and bisected batch brings records a second time.",
                "Commit the effect together with the place up to which the stream is read, as the store's consumers "
                "do, or remember what was done: once=True.",
                context.where(reaction.entity),
            )


@rule("published-by-writer", "An event that is published after the write", "error")
def published_by_writer(context: LintContext) -> Iterator[Occurrence]:
    """Between the two, a process can die."""
    for reaction in context.design.reactions:
        if reaction.source == "writer":
            yield Occurrence(
                reaction.name,
                f"{reaction.name} is left to whoever has written {reaction.entity.__name__}. A process that dies in "
                "between has written and told nobody, and one that tells first may tell of what was never written.",
                'Let it follow from the stream: source="stream", and stream="NEW_AND_OLD_IMAGES" in the table.',
                context.where(reaction.entity),
            )


@rule("stream-missing", "A reaction to a stream that the table does not have", "error")
def stream_missing(context: LintContext) -> Iterator[Occurrence]:
    """Without a stream nothing is told; without old images nothing can be taken off a count."""
    for reaction in context.design.reactions:
        stream = reaction.entity.schema_.table.stream
        table = reaction.entity.schema_.table.name
        if reaction.source != "stream":
            continue
        if stream is None:
            message = f"{reaction.name} follows the stream of table {table}, which has none: it never happens."
        elif reaction.effect == "count" and stream != "NEW_AND_OLD_IMAGES":
            message = (
                f"{reaction.name} counts, but the stream of table {table} has {stream}: what an item was before, or is "
                "now, is not told, so that nothing can be taken off."
            )
        else:
            continue
        yield Occurrence(
            reaction.name, message, 'Say stream="NEW_AND_OLD_IMAGES" in the table.', context.where(reaction.entity)
        )
