"""Keys that a writer composes."""

from datetime import date, datetime

from tablewright.model import Design, Entity, EpochMillis, GlobalIndex, ItemWrite, Keys, Query, Table, Write
from tests.design.lint.cases.case import Case, design_of


def calls(*, by_hand: bool) -> Design:
    """A composite that no declaration tells of, but its name does."""
    table = Table("calls", "id", indexes=[GlobalIndex("byUserStatus", "user_status")])

    if by_hand:

        class Call(Entity, table=table):
            id: str
            user_id: str
            status: str
            user_status: str

            @Query("byUserStatus")
            def of_user(self, user_status: str) -> None: ...

        return design_of(Call)

    class DerivedCall(Entity, table=table):
        id: str
        user_id: str
        status: str

        keys = Keys(user_status="{user_id}#{status}")

        @Query("byUserStatus")
        def of_user(self, user_id: str, status: str) -> None: ...

    return design_of(DerivedCall)


def only_written(template: str = "{user_id}#{status}", *, composed: bool = True) -> Design:
    """A key that only writes know of: the entity has no field for it, or declares how it is derived."""
    table = Table("calls", "id", indexes=[GlobalIndex("byUserStatus", "user_status", "id")])

    class Call(Entity, table=table):
        id: str
        user_id: str
        status: str
        scheduled_for: EpochMillis

        keys = Keys({} if composed else {"user_status": template})

    writes = [
        Write("create", ItemWrite(Call, "create", keys={"user_status": template} if composed else {})),
        Write("change", ItemWrite(Call, "update", sets=[Call.status])),
    ]
    return Design("Calls", tables=[table], writes=writes)


def generic(*, by_hand: bool) -> Design:
    """A field whose name says that it is a key and nothing else, or one that means something."""
    table = Table("people", "PK")

    if by_hand:

        class Person(Entity, table=table):
            PK: str
            name: str

        return design_of(Person)

    class NamedPerson(Entity, table=Table("people", "person_id")):
        person_id: str
        name: str

    return design_of(NamedPerson)


def written(write: Write | None = None, template: str = "{kind}#{made_on}") -> Design:
    """Documents by kind and day; the first write composes the key of the index."""
    table = Table("documents", "id", indexes=[GlobalIndex("byOwner", "owner", "GSI1SK")])

    class Document(Entity, table=table):
        id: str
        owner: str
        kind: str
        made_on: date
        text: str = ""
        GSI1SK: str = ""

        @Query("byOwner")
        def of_owner(self, owner: str, *, since: str | None = None, before: str | None = None) -> None: ...

    writes = [Write("create", ItemWrite(Document, "create", keys={"GSI1SK": template}))]
    if write is not None:
        sets = [getattr(Document, name) for name in write.item_writes[0].sets]
        writes.append(Write(write.name, ItemWrite(Document, "update", sets=sets)))
    return Design("Documents", tables=[table], writes=writes)


def derived(**by_hand: str) -> Design:
    """The same with a rule for the key; ``by_hand`` is what a write makes of it all the same."""
    table = Table("documents", "id", indexes=[GlobalIndex("byOwner", "owner", "GSI1SK")])

    class Document(Entity, table=table):
        id: str
        owner: str
        kind: str
        made_on: date
        text: str = ""

        keys = Keys(GSI1SK="{kind}#{made_on}")

        @Query("byOwner")
        def of_owner(self, owner: str, kind: str, *, since: date | None = None, before: date | None = None) -> None: ...

    writes = [
        Write("create", ItemWrite(Document, "create", keys=by_hand)),
        Write("change", ItemWrite(Document, "update", sets=[Document.kind])),
    ]
    return Design("Documents", tables=[table], writes=writes)


def update(*sets: str) -> Write:
    """An update of the documents above; it is made anew for their entity."""

    class Anything(Entity, table=Table("any", "id")):
        id: str
        owner: str = ""
        kind: str = ""
        made_on: str = ""
        text: str = ""
        GSI1SK: str = ""

    return Write("change", ItemWrite(Anything, "update", sets=[getattr(Anything, name) for name in sets]))


def two_entities(second: str) -> Design:
    """Two kinds of events in the partitions of one ticket."""
    table = Table("tickets", "PK", "SK", type_attribute="type")

    class Event(Entity, table=table):
        ticket_id: str
        day: date
        number: str

        keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{day}#{number}")

    class Change(Entity, table=table):
        ticket_id: str
        day: date
        at: datetime
        number: str

        keys = Keys(PK="TICKET#{ticket_id}", SK=second)

    return design_of(Event, Change)


CASES = [
    Case("hand-made-key", "Call.user_status", lambda: calls(by_hand=True), lambda: calls(by_hand=False)),
    Case("hand-made-key", "Call.user_status", only_written, lambda: only_written(composed=False)),
    Case("stale-index-key", "change", only_written, lambda: only_written(composed=False)),
    Case("stale-index-key", "change", only_written, lambda: only_written("{user_id}")),
    Case("partition-range", "Call.scheduled_for", lambda: only_written("{scheduled_for:013}"), only_written),
    Case("low-cardinality", "Call.user_status", lambda: only_written("STATUS#{status}"), only_written),
    Case("hand-made-key", "Person.PK", lambda: generic(by_hand=True), lambda: generic(by_hand=False)),
    Case("hand-made-key", "Document.GSI1SK", written, derived),
    Case("hand-made-key", "create", lambda: derived(GSI1SK="{kind}#{made_on}"), derived),
    Case("stale-index-key", "change", lambda: written(update("kind")), lambda: written(update("text"))),
    Case("stale-index-key", "change", lambda: written(update("kind")), lambda: written(update("kind", "GSI1SK"))),
    Case("stale-index-key", "change", lambda: written(update("made_on", "text")), derived),
    Case(
        "two-shapes",
        "Document.GSI1SK",
        lambda: derived(GSI1SK="DOCUMENT#{kind}#{made_on}"),
        lambda: derived(GSI1SK="{kind}#{made_on}"),
    ),
    Case(
        "two-shapes",
        "Event.SK",
        lambda: two_entities("EVENT#{at}#{number}"),
        lambda: two_entities("CHANGE#{at}#{number}"),
    ),
    Case("two-shapes", "Event.SK", lambda: two_entities("EVENT#{at}"), lambda: two_entities("EVENT#{day}#C#{number}")),
    Case("range-across-parts", "Document.of_owner", written, derived),
    Case(
        "range-across-parts",
        "Document.of_owner",
        lambda: written(template="{made_on}#{kind}"),
        lambda: written(template="{made_on}"),
    ),
]
