"""A design with large values, shelves to keep it on, and the check that nothing is outside that should not be."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any

from pydantic import Field

from tablewright.dynamo import Item, item_size
from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    ExpiresAt,
    Get,
    GlobalIndex,
    Keys,
    Large,
    Projection,
    Query,
    Table,
    Unique,
    Version,
    schema_of,
)
from tablewright.store import BlobStore, IdempotencyRecord, ServiceError, Store
from tablewright.store.blobs.blob_references import references
from tablewright.store.blobs.blob_store import marked_blob, orphan_mark
from tablewright.store.context import Context
from tablewright.store.flow.driver import Backend, Flow, Request, Response, Sleep, Work
from tests.store.bench import Bench

THRESHOLD = 2000
_numbers = count()

papers = Table(
    "papers",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("byTopic", "GSI1PK", "GSI1SK"),
        GlobalIndex("titles", "GSI2PK", "GSI2SK", include=["title"]),
        GlobalIndex("byCode", "code"),
    ],
    stream="NEW_AND_OLD_IMAGES",
    ttl="ttl",
)


class Paper(Entity, table=papers):
    """No version: the last writer wins."""

    folder: str
    paper_id: str
    topic: str = "none"
    title: str = ""
    body: Annotated[str, Large(THRESHOLD)] = ""
    scan: Annotated[bytes | None, Large(THRESHOLD)] = None
    notes: list[str] = Field(default_factory=list)
    ttl: ExpiresAt = None

    keys = Keys(
        PK="FOLDER#{folder}",
        SK="PAPER#{paper_id}",
        GSI1PK="TOPIC#{topic}",
        GSI1SK="{paper_id}",
        GSI2PK="TOPIC#{topic}",
        GSI2SK="{paper_id}",
    )

    @Get()
    def by_id(self, folder: str, paper_id: str) -> None: ...

    @Query()
    def in_folder(self, folder: str) -> None: ...

    @Query("byTopic")
    def on_topic(self, topic: str) -> None: ...

    @Query("titles")
    def by_title(self, topic: str) -> None: ...


class PaperTitle(Projection[Paper]):
    title: str

    @Query("titles")
    def titles(self, topic: str) -> None: ...


class PaperBody(Projection[Paper]):
    body: str

    @Query("byTopic")
    def bodies(self, topic: str) -> None: ...


class Contract(Entity, table=papers):
    """With a version, a unique field, and a value that is required."""

    folder: str
    number: str
    code: Annotated[str, Unique()]
    text: Annotated[str, Large(THRESHOLD)]
    remark: str = ""
    version: Version = 0

    keys = Keys(PK="FOLDER#{folder}", SK="CONTRACT#{number}")

    @Get()
    def by_id(self, folder: str, number: str) -> None: ...

    @Get("byCode")
    def by_code(self, code: str) -> None: ...


class Once(IdempotencyRecord, table=papers):
    keys = Keys(PK="ONCE#{idempotency_key}", SK="ONCE")


class Folder(Collection):
    papers: list[Paper]
    contracts: list[Contract]

    @CollectionQuery()
    def named(self, folder: str) -> None: ...


def long(mark: str, size: int = 3 * THRESHOLD) -> str:
    """A text that does not fit into an item."""
    return (mark + "-") * (size // (len(mark) + 1) + 1)


A, B, C = long("a"), long("b"), long("c")
BY_ID = Paper.by_id(folder="f", paper_id="1")


def paper(**fields: Any) -> Paper:
    """The paper of ``BY_ID``, unless the fields say otherwise."""
    return Paper(**{"folder": "f", "paper_id": "1", **fields})


def contract(**fields: Any) -> Contract:
    return Contract(**{"folder": "f", "number": "1", "code": "c-1", "text": A, **fields})


@dataclass(slots=True)
class Shelf:
    """A store with an object store, and ways round both."""

    backend: Backend
    blobs: BlobStore
    store: Store
    context: Context
    name: str

    def names(self) -> set[str]:
        """The blobs that there are, without those that are marked as orphans."""
        found = self.entries()
        return {name for name in found if marked_blob(name) is None and orphan_mark(name) not in found}

    def entries(self) -> set[str]:
        """Everything that the blob store has: blobs and marks."""
        found: set[str] = set()
        after = None
        while page := self.blobs.entries(f"{self.name}/", after, 7):
            found.update(entry.name for entry in page)
            after = page[-1].name
        return found

    def items(self) -> list[Item]:
        response = self.backend.call(Request("Scan", {"TableName": self.name, "ConsistentRead": True}))
        found: list[Item] = response["Items"]
        return found

    def item(self, entity: Entity) -> Item:
        key = schema_of(type(entity)).key_of(entity.item())
        body = {"TableName": self.name, "Key": key, "ConsistentRead": True}
        item: Item = self.backend.call(Request("GetItem", body))["Item"]
        return item

    def referenced(self) -> set[str]:
        return {found.blob for item in self.items() for found in references(item).values()}

    def assert_tidy(self) -> None:
        """What is referred to is there, and nothing else is."""
        self.assert_whole()
        assert self.names() == self.referenced()

    def assert_whole(self) -> None:
        """What is referred to is there, each blob by one item."""
        named = [found.blob for item in self.items() for found in references(item).values()]
        assert len(named) == len(set(named))
        assert set(named) <= self.names()

    def assert_small(self) -> None:
        """No item is larger than it has to be."""
        for item in self.items():
            inside = {name for name in ("body", "scan", "text") if name in item}
            assert item_size(item) <= THRESHOLD or all(item_size({n: item[n]}) < 400 for n in inside)

    def answer(self, request: Request) -> Response:
        """What a request gets, to the service or beside it."""
        return request.perform() if isinstance(request, Work) else self.backend.call(request)

    def steps(self, flow: Flow[Any]) -> Iterator[Callable[[], None]]:
        """A flow, step by step: each is to be carried out by the caller, or not."""
        answer: Any = None
        error: ServiceError | None = None
        step: Request | Sleep = next(flow)

        def carry_out() -> None:
            nonlocal answer, error
            answer, error = None, None
            if isinstance(step, Sleep):
                return
            try:
                answer = self.answer(step)
            except ServiceError as refused:
                error = refused

        while True:
            yield carry_out
            try:
                step = flow.send(answer) if error is None else flow.throw(error)
            except StopIteration:
                return


def read(shelf: Shelf, **key: str) -> Paper:
    found = shelf.store.get(Paper.by_id(**{"folder": "f", "paper_id": "1", **key}), consistent=True)
    assert found is not None
    return found


def shelved(bench: Bench, blobs: BlobStore, table: Table = papers) -> Shelf:
    """A shelf with a table of its own."""
    bench.names[table.name] = f"{table.name}-shelf-{next(_numbers)}"
    bench.create(table)
    settings: dict[str, Any] = {"clock": bench.clock, "entropy": random.Random(7), "table_names": bench.names}
    store = Store(bench.backend, blobs=blobs, **settings)
    return Shelf(bench.backend, blobs, store, Context(blobs=blobs, **settings), bench.names[table.name])
