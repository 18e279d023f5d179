"""Verify and repair: what is stored, against what the model says of it.

    scan, page by page ──▶ items: key attributes, type, shape, place ──▶ guards and counters that belong to them
                      └──▶ guards: is the owner there, and has it the value?

Everything that follows from an item's fields is derived again and compared. So the same pass finds drift, fills in the
attributes of a new index, spreads items anew when the number of shards has changed, moves items whose key template is
another one now, and brings older shapes up to date.

A repair changes an item only under the condition that what it was derived from is still the same; an item that others
change meanwhile is read again. What looks wrong because two things were read at two moments is looked at once more, in
one transaction. What needs a decision (a value that two items have, an item that does not fit) is told and left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tablewright.model import Entity, Schema, Table, schema_of
from tablewright.model.fields import FieldSpec
from tablewright.model.schema import Item
from tablewright.store import cursors
from tablewright.store.arguments import A_SCOPE, is_entity_class, not_taken
from tablewright.store.batch_reads import batch_get
from tablewright.store.blobs import head_blobs
from tablewright.store.conditions import described
from tablewright.store.context import Context
from tablewright.store.counters import COUNT
from tablewright.store.effects import Fixed
from tablewright.store.errors import AlreadyExists, BlobLost, Cancelled, StoreError
from tablewright.store.expressions import (
    Changes,
    Compared,
    Condition,
    all_of,
    equals,
    exists,
    missing,
    stored_equal,
    with_condition,
)
from tablewright.store.findings import (
    Fault,
    Finding,
    Progress,
    Remedy,
    Report,
    compared,
    guard_at,
    guard_finding,
    key_text,
)
from tablewright.store.flow import Flow, Request
from tablewright.store.guards import OWNER, expected_guards, guard_changes
from tablewright.store.large import Outside, loaded
from tablewright.store.moves import unchanged
from tablewright.store.operations import Action, WritePlan, execute_all
from tablewright.store.outside import lacking, references, stripped
from tablewright.store.retry import backoff, retrying
from tablewright.store.shapes import Prepared, upgrading
from tablewright.store.targets import is_older
from tablewright.store.visibility import is_expired
from tablewright.store.writes import held

_ATTEMPTS = 5


_MOST_FINDINGS = 1000

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
    """Compare what is stored with the model; nothing is changed.

    All entities of a table, or one of them; ``limit`` ends the pass after about so many items, and the cursor of its
    progress goes on there.
    """
    _check_scope("verify", target)
    return (yield from _Upkeep(context, target, mend=False).run(cursor, limit, page_size, on_progress))


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
    """Mend what ``verify`` finds; a dry run, unless told otherwise, only tells it."""
    _check_scope("repair", target)
    return (yield from _Upkeep(context, target, mend=not dry_run).run(cursor, limit, page_size, on_progress))


def _check_scope(call: str, target: Any) -> None:
    if not isinstance(target, Table) and not is_entity_class(target):
        raise not_taken(call, A_SCOPE, target)


class _Changed(StoreError):
    """An item is not what it was when it was looked at."""


def _has_changed(_: Item | None) -> StoreError:
    return _Changed()


@dataclass(slots=True)
class _Upkeep:
    context: Context
    target: Table | type[Entity]
    mend: bool
    findings: list[Finding] = field(default_factory=list)
    done: int = 0
    found: int = 0
    mended: int = 0

    @property
    def table(self) -> Table:
        return self.target if isinstance(self.target, Table) else schema_of(self.target).table

    @property
    def schemas(self) -> Sequence[Schema]:
        return self.target.entities if isinstance(self.target, Table) else [schema_of(self.target)]

    @property
    def _name(self) -> str:
        return self.context.name_of(self.table)

    def run(
        self, cursor: str | None, limit: int | None, page_size: int | None, on_progress: ProgressHook | None
    ) -> Flow[Report]:
        # Not a secret: this cursor is for operators, and for other processes of theirs.
        read = ["upkeep", self._name, sorted(schema.type_name for schema in self.schemas)]
        start = None if cursor is None else cursors.unseal(b"", read, cursor)[0]
        described_table = yield from retrying(self.context, Request("DescribeTable", {"TableName": self._name}))
        total = described_table["Table"].get("ItemCount", 0)
        while True:
            body: dict[str, Any] = {"TableName": self._name, "ConsistentRead": True}
            if start is not None:
                body["ExclusiveStartKey"] = start
            if page_size is not None:
                body["Limit"] = page_size
            response = yield from retrying(self.context, Request("Scan", body, "upkeep"))
            yield from self._page(response["Items"])
            self.done += len(response["Items"])
            start = response.get("LastEvaluatedKey")
            cursor = None if start is None else cursors.seal(b"", read, [start])
            progress = Progress(self.done, self.found, self.mended, total, cursor)
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
            schema = next((schema for schema in self.schemas if schema.is_of(item)), None)
            if schema is not None:
                mended = yield from self._item(schema, item)
                if mended is not None and not is_expired(schema, mended, self.context.clock()):
                    sound.append((schema, mended))
        yield from self._guards_of([(schema, item) for schema, item in sound if schema.unique])
        yield from self._counters_of([(schema, item) for schema, item in sound if schema.numbered])
        yield from self._blobs_of([(schema, item) for schema, item in sound if schema.large])
        yield from self._strays(guards)

    def _is_over(self, item: Item) -> bool:
        moment = item.get(self.table.ttl or "", {})
        return "N" in moment and float(moment["N"]) <= self.context.clock()

    def _tell(self, findings: Sequence[Finding], remedy: Remedy) -> None:
        self.found += len(findings)
        self.mended += len(findings) if remedy is Remedy.MENDED else 0
        room = max(0, _MOST_FINDINGS - len(self.findings))
        self.findings += [replace(finding, remedy=remedy) for finding in findings[:room]]

    def _key(self, item: Item) -> Item:
        return {name: item[name] for name in self.table.key}

    def _commit(self, schema: Schema, plan: WritePlan) -> Flow[None]:
        mending = Prepared(schema, plan, name="repair")
        try:
            yield from execute_all(self.context, [mending], f"{schema.entity.__name__}.repair")
        except Cancelled as cancelled:
            raise next(reason for reason in cancelled.reasons if reason is not None) from None

    # -- what is in the item itself -----------------------------------------------------------------------------

    def _item(self, schema: Schema, item: Item) -> Flow[Item | None]:
        """Check one item, and mend it; the item as it is then, None if it is not to be trusted."""
        findings: list[Finding] = []
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                item, findings, wanted = yield from self._compared(schema, item)
            except BlobLost as lost:
                self._tell([_lost(schema, item, lost)], Remedy.LEFT)
                return None
            if wanted is None:
                self._tell(findings, Remedy.LEFT)
                return None
            if not findings:
                return item
            if not self.mend:
                self._tell(findings, Remedy.FOUND)
                return item if self._key(item) == self._key(wanted) else None
            try:
                yield from self._commit(schema, self._mending(schema, item, wanted))
            except AlreadyExists:
                self._tell(findings, Remedy.LEFT)
                return None
            except _Changed:
                yield backoff(self.context, attempt)
                body = {"TableName": self._name, "Key": self._key(item), "ConsistentRead": True}
                response = yield from retrying(self.context, Request("GetItem", body, "upkeep"))
                if "Item" not in response or not schema.is_of(response["Item"]):
                    return None
                item = response["Item"]
            else:
                self._tell(findings, Remedy.MENDED)
                return wanted
        self._tell(findings, Remedy.BUSY)
        return None

    def _compared(self, schema: Schema, item: Item) -> Flow[tuple[Item, list[Finding], Item | None]]:
        """An item, what is wrong with it, and what it should be, with its large values where they are needed.

        An upgrade may look at them, and an item that moves takes them along.
        """
        if not lacking(item):
            return item, *compared(schema, item)
        if not is_older(schema, item):
            findings, wanted = compared(schema, item)
            if wanted is None or not self.mend or self._key(item) == self._key(wanted):
                return item, findings, wanted
        (whole,) = yield from loaded(self.context, self.table, [item])
        return (item, [], None) if whole is None else (stripped(whole), *compared(schema, whole))

    def _mending(self, schema: Schema, item: Item, wanted: Item) -> WritePlan:
        old_key, new_key = self._key(item), self._key(wanted)
        if old_key != new_key:
            placed = None
            if schema.large:
                placed = Outside(self.context).place(schema, wanted, references(item), same=False)
                wanted = placed.item
            leave = with_condition(self._at(old_key), all_of([*self._there(), *unchanged(schema, item)]))
            arrive = with_condition({"TableName": self._name, "Item": wanted}, missing(self.table.partition))
            taken = AlreadyExists(schema.entity.__name__, described(schema, wanted))
            return WritePlan(
                [Action("Delete", leave, _has_changed), Action("Put", arrive, lambda _: taken)],
                guard_changes(schema, item, old_key, wanted, new_key),
                placed=placed,
            )
        if schema.shape_of(item) != schema.shape_of(wanted):
            # Its guards are looked at with all the others.
            return upgrading(self.context, schema, item, wanted, _has_changed)
        differing = [name for name in {**item, **wanted} if item.get(name) != wanted.get(name)]
        changes = Changes(
            put={name: wanted[name] for name in differing if name in wanted},
            removed=[name for name in differing if name not in wanted],
        )
        assumed = dict.fromkeys([*differing, *(source for name in differing for source in schema.sources(name))])
        unaltered = stored_equal({name: item.get(name) for name in assumed})
        return WritePlan(
            [
                Action(
                    "Update",
                    with_condition(self._at(old_key), all_of([*self._there(), *unaltered]), changes),
                    _has_changed,
                )
            ]
        )

    def _at(self, key: Item) -> dict[str, Any]:
        return {"TableName": self._name, "Key": key}

    def _there(self) -> list[Condition]:
        return [exists(self.table.partition)]

    # -- guards -------------------------------------------------------------------------------------------------

    def _guards_of(self, items: Sequence[tuple[Schema, Item]]) -> Flow[None]:
        """Check that unique values are guarded, and by the right item."""
        wanted = [(schema, item, guard) for schema, item in items for guard in expected_guards(schema, item)]
        addresses = [(self._name, self._key(guard)) for _, _, guard in wanted]
        found = yield from batch_get(self.context, addresses, "upkeep", consistent=True)
        for (schema, item, guard), stored in zip(wanted, found, strict=True):
            if stored != guard:
                yield from self._guard(schema, self._key(item), self._key(guard))

    def _guard(self, schema: Schema, key: Item, guard_key: Item) -> Flow[None]:
        """Look at an item and the guard of one of its values at one moment, and mend the guard."""
        finding: Finding | None = None
        for attempt in range(1, _ATTEMPTS + 1):
            item, stored = yield from self._snapshot(key, guard_key)
            wanted = None if item is None else guard_at(schema, item, guard_key)
            if item is None or wanted is None or stored == wanted or is_expired(schema, item, self.context.clock()):
                return
            finding = guard_finding(schema, item, wanted, stored)
            owner = None if stored is None else stored[OWNER]["M"]
            checks = [self._unchanged_check(schema, key, item)]
            if owner is not None and owner != key:
                (other,) = yield from self._snapshot(owner)
                if other is not None and guard_at(schema, other, guard_key) is not None:
                    self._tell([replace(finding, fault=Fault.DUPLICATE)], Remedy.LEFT)
                    return
                checks.append(self._unchanged_check(schema, owner, other))
            if not self.mend:
                self._tell([finding], Remedy.FOUND)
                return
            condition = equals(OWNER, None if owner is None else {"M": owner})
            put = Action("Put", with_condition({"TableName": self._name, "Item": wanted}, condition), _has_changed)
            try:
                yield from self._commit(schema, WritePlan([put, *checks]))
            except _Changed:
                yield backoff(self.context, attempt)
            else:
                self._tell([finding], Remedy.MENDED)
                return
        if finding is not None:
            self._tell([finding], Remedy.BUSY)

    def _strays(self, guards: Sequence[Item]) -> Flow[None]:
        """Check that guards have an owner that has the value."""
        addresses = [(self._name, guard[OWNER]["M"]) for guard in guards]
        owners = yield from batch_get(self.context, addresses, "upkeep", consistent=True)
        for guard, owner in zip(guards, owners, strict=True):
            schema = self._schema_of_owner(guard[OWNER]["M"] if owner is None else owner)
            if schema is not None and (owner is None or guard_at(schema, owner, self._key(guard)) is None):
                yield from self._stray(schema, guard)

    def _schema_of_owner(self, owner: Item) -> Schema | None:
        return next((schema for schema in self.schemas if schema.unique and schema.is_of(owner)), None)

    def _stray(self, schema: Schema, guard: Item) -> Flow[None]:
        key = self._key(guard)
        owner_key: Item = guard[OWNER]["M"]
        finding = Finding(
            Fault.STRAY_GUARD, schema.entity.__name__, described(schema, owner_key), "", None, key_text(key)
        )
        for attempt in range(1, _ATTEMPTS + 1):
            owner, stored = yield from self._snapshot(owner_key, key)
            has_it = owner is not None and guard_at(schema, owner, key) is not None
            if stored is None or stored.get(OWNER) != guard[OWNER] or has_it:
                return
            if not self.mend:
                self._tell([finding], Remedy.FOUND)
                return
            delete = Action("Delete", with_condition(self._at(key), equals(OWNER, guard[OWNER])), _has_changed)
            try:
                check = self._unchanged_check(schema, owner_key, owner)
                yield from self._commit(schema, WritePlan([delete, check]))
            except _Changed:
                yield backoff(self.context, attempt)
            else:
                self._tell([finding], Remedy.MENDED)
                return
        self._tell([finding], Remedy.BUSY)

    def _snapshot(self, *keys: Item) -> Flow[list[Item | None]]:
        """Several items at one moment."""
        body = {"TransactItems": [{"Get": self._at(key)} for key in keys]}
        response = yield from retrying(self.context, Request("TransactGetItems", body, "upkeep"))
        return [answer.get("Item") or None for answer in response["Responses"]]

    def _unchanged_check(self, schema: Schema, key: Item, item: Item | None) -> Action:
        """That an item has the unique values that it was seen with, or is still missing."""
        condition = (
            missing(self.table.partition)
            if item is None
            else all_of([*self._there(), *stored_equal(held(schema, item))])
        )
        return Action("ConditionCheck", with_condition(self._at(key), condition), _has_changed)

    # -- counters -----------------------------------------------------------------------------------------------

    def _counters_of(self, items: Sequence[tuple[Schema, Item]]) -> Flow[None]:
        """Check that no item has a number that its counter has yet to give."""
        highest: dict[str, tuple[Schema, FieldSpec, Item, Item]] = {}
        for schema, item in items:
            for spec in schema.numbered:
                if "N" not in item.get(spec.attribute, {}):
                    continue
                key = schema.counter_key(spec, item)
                known = highest.get(str(key))
                if known is None or _number(item, spec.attribute) > _number(known[2], spec.attribute):
                    highest[str(key)] = (schema, spec, item, key)
        addresses = [(self._name, key) for *_, key in highest.values()]
        counters = yield from batch_get(self.context, addresses, "upkeep", consistent=True)
        for (schema, spec, item, key), counter in zip(highest.values(), counters, strict=True):
            number, given = _number(item, spec.attribute), _number(counter or {}, COUNT)
            if number <= given:
                continue
            name = schema.entity.__name__
            finding = Finding(Fault.COUNTER, name, described(schema, item), spec.name, str(number), str(given))
            if self.mend:
                behind = missing(COUNT) | Compared(COUNT, "<", {"N": str(number)})
                body = with_condition(self._at(key), behind, Changes(put={COUNT: {"N": str(number)}}))
                try:
                    yield from execute_all(self.context, [Fixed(schema, "repair", "Update", body, _Changed)], "upkeep")
                except Cancelled as cancelled:
                    if not isinstance(cancelled.reasons[0], _Changed):
                        raise
                    # It has been raised by others meanwhile.
                    continue
            self._tell([finding], Remedy.MENDED if self.mend else Remedy.FOUND)

    # -- large values -------------------------------------------------------------------------------------------

    def _blobs_of(self, items: Sequence[tuple[Schema, Item]]) -> Flow[None]:
        """Check that what is outside of items is there."""
        blobs = self.context.blobs
        wanted = [(schema, item, found.blob) for schema, item in items for found in lacking(item).values()]
        if blobs is None or not wanted:
            return
        response = yield from retrying(self.context, head_blobs(blobs, [blob for *_, blob in wanted], 1))
        for (schema, item, _), head in zip(wanted, response["Blobs"], strict=True):
            if head is not None:
                continue
            try:
                # It may have been superseded just now.
                yield from loaded(self.context, self.table, [item])
            except BlobLost as lost:
                self._tell([_lost(schema, item, lost)], Remedy.LEFT)


def _lost(schema: Schema, item: Item, lost: BlobLost) -> Finding:
    return Finding(Fault.BLOB, schema.entity.__name__, described(schema, item), lost.field, lost.blob, None)


def _number(item: Item, attribute: str) -> int:
    return int(item.get(attribute, {"N": "0"})["N"])
