"""Generated designs, written in generated histories, with a change of the design in between.

Whatever the keys are (defaults, upgrades, several templates, buckets, raw keys, fields that are only in keys, shards),
and whichever way items are written: what is read is what was written, every index has the items that it should, and
``verify`` finds nothing. After a change of the design, a ``repair`` is enough for that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import new_class
from typing import Annotated, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.engine import Engine
from tablewright.model import (
    Entity,
    Get,
    GlobalIndex,
    KeyOnly,
    Keys,
    Table,
    Unique,
    Upgrades,
    Version,
    attr,
    computed,
    first_of,
    raw,
    schema_of,
    sharded,
    when,
)
from tablewright.store import AlreadyExists, Cancelled, Create, Delete, NotFound, NotUnique, Store, Update
from tests.declared_patterns import grouped
from tests.examples import examples

STATES = ["open", "held", "gone"]
TIMES = [datetime(2026, 1, day, 10, tzinfo=UTC) for day in (5, 6)]

# Keys of an index that any version may have.
PARTITIONS: dict[str, Callable[[], Any]] = {
    "plain": lambda: "S#{state}",
    "sparse": lambda: when("OPEN#{owner}", state=["open", "held"]),
    "by state": lambda: first_of(when("FREE", owner=None), when("HELD#{owner}", state="held"), "O#{owner}#{state}"),
    "bucket": lambda: "D#{at:date}",
    "month": lambda: "M#{at:month}",
    "raw": lambda: raw("state:{state}|n:{n:-05}", "|"),
    "shards": lambda: sharded("S#{state}", 3),
    "computed": lambda: "L#{label}",
    "flag": lambda: "F#{flag:Y|N}",
    "folded": lambda: "O#{owner:lower}",
    "only": lambda: "G#{group}",
    "colour": lambda: "C#{colour}",
}
SORTS: dict[str, Callable[[], Any]] = {
    "plain": lambda: "{id}",
    "number": lambda: "{n:05}#{id}",
    "descending": lambda: "{n:-05}#{id}",
    "by state": lambda: first_of(when("A#{at}", state="open"), "B#{n:05}"),
    "time": lambda: raw("{at:minute} {id}"),
}


@computed
def label(self: Any, state: str, n: int) -> str:
    return f"{state[0]}{n % 3}"


def get_by_id(self: Any, id: str) -> None: ...


def design(first: str, second: str, sort: str, *, later: bool, unique: bool, versioned: bool) -> type[Any]:
    """A version of an entity; a later one has a field with a default, and items are upgraded to it."""
    table = Table(
        "Rows",
        "PK",
        "SK",
        indexes=[GlobalIndex("one", "GSI1PK", "GSI1SK"), GlobalIndex("two", "GSI2PK", "GSI2SK")],
        type_attribute="type",
    )
    fields: dict[str, Any] = {
        "id": str,
        "group": Annotated[str, KeyOnly()],
        "state": str,
        "owner": str | None,
        "n": int,
        "flag": bool,
        "at": datetime,
    }
    body: dict[str, Any] = {"owner": None, "state": "open", "flag": False, "label": label, "by_id": Get()(get_by_id)}
    if unique:
        body["unique_owner"] = grouped(Unique(ignore_case=True), "owner", "state")
    if versioned:
        fields["version"], body["version"] = Version, 0
    if later:
        fields["colour"], body["colour"] = str, "red"
        body["upgrades"] = Upgrades(lambda values: {**values, "n": values.get("n", 0)})
    body["keys"] = Keys(
        PK="ROW#{id}",
        SK="ROW",
        GSI1PK=PARTITIONS[first](),
        GSI1SK=raw("{group}"),
        GSI2PK=PARTITIONS[second](),
        GSI2SK=SORTS[sort](),
    )
    body |= {"__annotations__": fields, "__module__": __name__}
    made: Any = new_class("Row", (Entity,), {"table": table, "type_name": "row"}, lambda space: space.update(body))
    return made  # type: ignore[no-any-return]


partitions = st.sampled_from([name for name in PARTITIONS if name != "colour"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "state": st.sampled_from(STATES),
    "owner": st.sampled_from([None, "Ada", "ada", "b c"]),
    "n": st.integers(0, 9),
    "flag": st.booleans(),
    "at": st.sampled_from(TIMES),
    "group": st.sampled_from(["x", "y z"]),
}
rows = st.fixed_dictionaries({"id": st.sampled_from("1234"), **VALUES})
REFUSED = (AlreadyExists, NotFound, NotUnique, Cancelled)


def write(store: Store, kind: type[Any], known: dict[str, Any], how: str, row: dict[str, Any]) -> None:
    """One write, and what is known to be stored after it; a refusal changes nothing."""
    name = row["id"]
    fields = {field: value for field, value in row.items() if field != "id"}
    lookup = kind.by_id(name)
    changes = [attr(getattr(kind, field)).set(value) for field, value in fields.items()]
    try:
        if how == "create":
            known[name] = store.create(kind(**row))
        elif how == "put":
            before = known.get(name)
            made = kind(**row)
            if before is not None and "version" in kind.model_fields:
                made.version = before.version
            known[name] = store.put(made)
        elif how == "update":
            known[name] = store.update(lookup, *changes)
        elif how == "update some":
            known[name] = store.update(lookup, attr(kind.state).set(row["state"]))
        elif how == "update by entity" and name in known:
            known[name] = store.update(
                known[name], attr(kind.owner).set(row["owner"]), attr(kind.group).set(row["group"])
            )
        elif how == "add":
            known[name] = store.update(lookup, attr(kind.n).add(1))
        elif how == "delete":
            store.delete(lookup)
            known.pop(name, None)
        elif how == "transact" and name in known:
            store.transact(Delete(lookup), Create(kind(**{**row, "id": "9"}))) if "9" not in known else store.transact(
                Update(lookup, *changes)
            )
            found = {each.id: each for each in store.scan(kind).items}
            known.clear()
            known.update(found)
    except REFUSED:
        pass


WAYS = ["create", "put", "update", "update some", "update by entity", "add", "delete", "transact"]
histories = st.lists(st.tuples(st.sampled_from(WAYS), rows), max_size=8)


def check(store: Store, engine: Engine, kind: type[Any], known: dict[str, Any]) -> None:
    """What is stored is what is known, in the table and in its indexes; and nothing is wrong with it."""
    assert {each.id: each for each in store.scan(kind).items} == known
    report = store.verify(kind.schema_.table)
    assert report.is_clean, [str(finding) for finding in report.findings]
    schema = schema_of(kind)
    for index in schema.table.indexes:
        entries = engine.call("Scan", {"TableName": "Rows", "IndexName": index.name})["Items"]
        wanted = {each.id for each in known.values() if all(name in each.item() for name in index.attributes)}
        assert {entry["id"]["S"] for entry in entries} == wanted


@settings(max_examples=examples(300))
@given(
    st.tuples(partitions, partitions, st.sampled_from(list(SORTS))),
    st.tuples(partitions, st.sampled_from(list(PARTITIONS)), st.sampled_from(list(SORTS))),
    st.booleans(),
    st.booleans(),
    histories,
    histories,
)
def test_no_history_over_two_designs_leaves_anything_behind(
    old: tuple[str, str, str],
    new: tuple[str, str, str],
    unique: bool,
    versioned: bool,
    first: list[tuple[str, dict[str, Any]]],
    second: list[tuple[str, dict[str, Any]]],
) -> None:
    before = design(*old, later=False, unique=unique, versioned=versioned)
    after = design(*new, later=True, unique=unique, versioned=versioned)
    known: dict[str, Any] = {}
    with Engine.open() as engine:
        store = Store.on(engine)
        store.ensure_tables(before.schema_.table)
        for how, row in first:
            write(store, before, known, how, row)
        check(store, engine, before, known)
        store.repair(after.schema_.table, dry_run=False)
        known = {each.id: each for each in store.scan(after).items}
        check(store, engine, after, known)
        for how, row in second:
            write(store, after, known, how, row)
        check(store, engine, after, known)
