"""Verify and repair: stored items, compared with the model.

    scan, page by page ──▶ items: key attributes, type, schema version, key ──▶ guards and counters that belong to them
                      └──▶ guards: does the owner exist, and does it have the value?

Everything that is derived from an item's fields is derived again and compared. So the same pass finds drift, fills in
the attributes of a new index, redistributes items when the number of shards has changed, moves items whose key template
has changed, upgrades older schema versions, and replaces items of retired entities (``retired_items``).

A repair changes an item only on condition that what it was derived from is unchanged; an item that others change
meanwhile is read again (see ``repair_pass``). An apparent error that may come from reading two things at different
moments is checked again, in one transaction (``unique_repair``). A finding that needs a decision (a value that two
items have, an item that is unreadable) is reported and left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions, all_equal, compare, missing
from tablewright.model import Entity, Schema, Table
from tablewright.model.items.field_spec import FieldSpec
from tablewright.store.argument_checks import A_SCOPE, is_entity_class, wrong_argument
from tablewright.store.blobs.blob_loading import load_blobs
from tablewright.store.blobs.blob_references import missing_references, without_blob_values
from tablewright.store.blobs.blob_store import blob_prefix
from tablewright.store.blobs.offload import Offload
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, BlobLost
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import backoff, retrying
from tablewright.store.item_description import describe_item
from tablewright.store.maintenance.counter_repair import counters_of_pass
from tablewright.store.maintenance.findings import Fault, Finding, Progress, Remedy, Report, compared
from tablewright.store.maintenance.repair_pass import MAX_REPAIR_ATTEMPTS, Changed, RepairPass, has_changed
from tablewright.store.maintenance.retired_items import replace_retired, retired_form
from tablewright.store.maintenance.unique_repair import guards_of, strays
from tablewright.store.maintenance.write_back import plan_upgrade
from tablewright.store.read.batch_get import batch_get
from tablewright.store.read.cursor import seal, unseal
from tablewright.store.write.move import plan_move, unchanged_conditions
from tablewright.store.write.planning.item_conditions import is_older
from tablewright.store.write.planning.operation import Attempt, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition
from tablewright.store.write.sequence import COUNT
from tablewright.store.write.unique_values import OWNER

ProgressHook = Callable[[Progress], None]


def verify(
    context: Context,
    target: Table | type[Entity],
    *,
    cursor: str | None = None,
    limit: int | None = None,
    page_size: int | None = None,
    on_progress: ProgressHook | None = None,
) -> Flow[Report]:
    """Compare stored items with the model; nothing is changed.

    All entities of a table, or one of them; ``limit`` ends the pass after about so many items, and the cursor of its
    progress continues there.
    """
    _check_scope("verify", target)
    return (yield from _Verification(context, target, repairs=False).run(cursor, limit, page_size, on_progress))


def repair(
    context: Context,
    target: Table | type[Entity],
    *,
    dry_run: bool = True,
    cursor: str | None = None,
    limit: int | None = None,
    page_size: int | None = None,
    on_progress: ProgressHook | None = None,
) -> Flow[Report]:
    """Repair what ``verify`` finds. By default it is a dry run, which only reports it."""
    _check_scope("repair", target)
    return (yield from _Verification(context, target, repairs=not dry_run).run(cursor, limit, page_size, on_progress))


def _check_scope(call: str, target: Any) -> None:
    if not isinstance(target, Table) and not is_entity_class(target):
        raise wrong_argument(call, A_SCOPE, target)


@dataclass(slots=True)
class _Verification(RepairPass):
    """A pass over a table, or over the items of one entity in it."""

    done: int = 0

    def run(
        self, cursor: str | None, limit: int | None, page_size: int | None, on_progress: ProgressHook | None
    ) -> Flow[Report]:
        # Not a secret: this cursor is for operators, and for other processes of theirs.
        read = ["verify", self.name, sorted(schema.type_name for schema in self.schemas)]
        start = None if cursor is None else unseal(b"", read, cursor)[0]
        described_table = yield from retrying(self.context, Request("DescribeTable", {"TableName": self.name}))
        total = described_table["Table"].get("ItemCount", 0)
        while True:
            body: dict[str, Any] = {"TableName": self.name, "ConsistentRead": True}
            if start is not None:
                body["ExclusiveStartKey"] = start
            if page_size is not None:
                body["Limit"] = page_size
            response = yield from retrying(self.context, Request("Scan", body, "verify"))
            yield from self._page(response["Items"])
            self.done += len(response["Items"])
            start = response.get("LastEvaluatedKey")
            if start is None:
                yield from counters_of_pass(self)
            cursor = None if start is None else seal(b"", read, [start])
            progress = Progress(self.done, self.found, self.repaired, total, cursor)
            if on_progress is not None:
                on_progress(progress)
            if start is None or (limit is not None and self.done >= limit):
                return Report(self.findings, progress)

    def _page(self, items: Sequence[Item]) -> Flow[None]:
        sound: list[tuple[Schema, Item]] = []
        guards: list[Item] = []
        for item in items:
            if self.table.is_internal(item):
                if "M" in item.get(OWNER, {}) and not self._is_over(item):
                    guards.append(item)
                continue
            form = retired_form(self.target, item) if self.table.retired else None
            if form is not None:
                if not form.is_expired(item, self.context.clock()):
                    sound += yield from replace_retired(self, form, item)
                continue
            schema = next((schema for schema in self.schemas if schema.matches(item)), None)
            if schema is not None:
                repaired = yield from self._item(schema, item)
                if repaired is not None and not schema.is_expired(repaired, self.context.clock()):
                    sound.append((schema, repaired))
        yield from guards_of(self, [(schema, item) for schema, item in sound if schema.unique])
        yield from self._sequences_of([(schema, item) for schema, item in sound if schema.numbered])
        yield from self._blobs_of([(schema, item) for schema, item in sound if schema.large])
        yield from strays(self, guards)

    def _is_over(self, item: Item) -> bool:
        moment = item.get(self.table.ttl or "", {})
        return "N" in moment and float(moment["N"]) <= self.context.clock()

    # -- what is in the item itself -----------------------------------------------------------------------------

    def _item(self, schema: Schema, item: Item) -> Flow[Item | None]:
        """Check one item, and repair it; returns the item as it is then, None if it cannot be trusted."""
        findings: list[Finding] = []
        for attempt in range(1, MAX_REPAIR_ATTEMPTS + 1):
            try:
                item, findings, wanted = yield from self._compared(schema, item)
            except BlobLost as lost:
                self.report([_lost(schema, item, lost)], Remedy.LEFT)
                return None
            if wanted is None:
                self.report(findings, Remedy.LEFT)
                return None
            if not findings:
                return item
            if not self.repairs:
                self.report(findings, Remedy.FOUND)
                return item if self.key(item) == self.key(wanted) else None
            try:
                yield from self.commit(schema, self._repair_plan(schema, item, wanted))
            except AlreadyExists:
                self.report(findings, Remedy.LEFT)
                return None
            except Changed:
                yield backoff(self.context, attempt)
                body = {"TableName": self.name, "Key": self.key(item), "ConsistentRead": True}
                response = yield from retrying(self.context, Request("GetItem", body, "verify"))
                if "Item" not in response or not schema.matches(response["Item"]):
                    return None
                item = response["Item"]
            else:
                self.report(findings, Remedy.REPAIRED)
                return wanted
        self.report(findings, Remedy.BUSY)
        return None

    def _compared(self, schema: Schema, item: Item) -> Flow[tuple[Item, list[Finding], Item | None]]:
        """An item, what is wrong with it, and what it should be, with its large values where they are needed.

        An upgrade may look at them, and an item that moves takes them along.
        """
        if not missing_references(item):
            return item, *compared(schema, item)
        if not is_older(schema, item):
            findings, wanted = compared(schema, item)
            if wanted is None or not self.repairs or self.key(item) == self.key(wanted):
                return item, findings, wanted
        (whole,) = yield from load_blobs(self.context, self.table, [item])
        return (item, [], None) if whole is None else (without_blob_values(whole), *compared(schema, whole))

    def _repair_plan(self, schema: Schema, item: Item, wanted: Item) -> WritePlan:
        if self.key(item) != self.key(wanted):
            attempt = Attempt(self.context, Offload(self.context))
            return plan_move(attempt, schema, item, wanted, self.unchanged(*unchanged_conditions(schema, item)))
        if schema.schema_version_of(item) != schema.schema_version_of(wanted):
            # Its guards are looked at with all the others.
            return plan_upgrade(self.context, schema, item, wanted, has_changed)
        differing = [name for name in {**item, **wanted} if item.get(name) != wanted.get(name)]
        actions = UpdateActions(
            sets={name: wanted[name] for name in differing if name in wanted},
            removes=[name for name in differing if name not in wanted],
        )
        sources = schema.stored_names(source for name in differing for source in schema.sources(name))
        assumed = dict.fromkeys([*differing, *sources])
        same = self.unchanged(*all_equal({name: item.get(name) for name in assumed}))
        return WritePlan([action("Update", self.at(self.key(item)), same, actions)])

    # -- sequences ----------------------------------------------------------------------------------------------

    def _sequences_of(self, items: Sequence[tuple[Schema, Item]]) -> Flow[None]:
        """Check that no item has a number that its sequence has not reached yet."""
        highest: dict[str, tuple[Schema, FieldSpec, Item, Item]] = {}
        for schema, item in items:
            for spec in schema.numbered:
                if "N" not in item.get(spec.attribute, {}):
                    continue
                key = schema.sequence_key(spec, item)
                known = highest.get(str(key))
                if known is None or _number(item, spec.attribute) > _number(known[2], spec.attribute):
                    highest[str(key)] = (schema, spec, item, key)
        addresses = [(self.name, key) for *_, key in highest.values()]
        counters = yield from batch_get(self.context, addresses, "verify", consistent=True)
        for (schema, spec, item, key), counter in zip(highest.values(), counters, strict=True):
            number, given = _number(item, spec.attribute), _number(counter or {}, COUNT)
            if number <= given:
                continue
            name = schema.entity.__name__
            finding = Finding(Fault.SEQUENCE, name, describe_item(schema, item), spec.name, str(number), str(given))
            if self.repairs:
                behind = missing(COUNT) | compare(COUNT, "<", {"N": str(number)})
                raised = UpdateActions(sets={COUNT: {"N": str(number)}})
                try:
                    update = action("Update", self.at(key), [Precondition(behind, has_changed)], raised)
                    yield from self.commit(schema, WritePlan([update]))
                except Changed:
                    # It has been raised by others meanwhile.
                    continue
            self.report([finding], Remedy.REPAIRED if self.repairs else Remedy.FOUND)

    # -- large values -------------------------------------------------------------------------------------------

    def _blobs_of(self, items: Sequence[tuple[Schema, Item]]) -> Flow[None]:
        """Read the blobs that items refer to: whether they exist, contain what was written, and belong to the table.

        A table that was restored from another one refers to that table's blobs, which are deleted once the other one
        does not need them: a repair copies them.
        """
        if self.context.blobs is None:
            return
        for schema, item in items:
            if not missing_references(item):
                continue
            try:
                # What has been superseded just now is read again.
                (whole,) = yield from load_blobs(self.context, self.table, [item])
            except BlobLost as lost:
                self.report([_lost(schema, item, lost)], Remedy.LEFT)
                continue
            own = blob_prefix(self.name)
            foreign = [
                Finding(Fault.BLOB, schema.entity.__name__, describe_item(schema, item), name, f"{own}...", found.blob)
                for attribute, found in missing_references(item).items()
                if not found.blob.startswith(own) and (name := schema.field_path(attribute))
            ]
            if not foreign or whole is None:
                continue
            if not self.repairs:
                self.report(foreign, Remedy.FOUND)
                continue
            try:
                stored = without_blob_values(whole)
                yield from self.commit(schema, plan_upgrade(self.context, schema, stored, whole, has_changed))
            except Changed:
                self.report(foreign, Remedy.BUSY)
            else:
                self.report(foreign, Remedy.REPAIRED)


def _lost(schema: Schema, item: Item, lost: BlobLost) -> Finding:
    return Finding(Fault.BLOB, schema.entity.__name__, describe_item(schema, item), lost.field, lost.blob, None)


def _number(item: Item, attribute: str) -> int:
    return int(item.get(attribute, {"N": "0"})["N"])
