"""Complaints of customers, after AWS's complaint management system.

    python examples/designs/complaints.py

It shows a complaint with its comments by one query, the newest comment by itself, a comment that is written with the
state that follows from it, a sparse index of what was escalated, and comments by who wrote them.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pydantic import Field

from tablewright.model import (
    AcceptedFinding,
    Collection,
    CollectionQuery,
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Projection,
    Query,
    Table,
    Write,
    attr,
    when,
)
from tablewright.store import Cancelled, Check, ConditionFailed, Create, NotFound, Scan, Store, Update

complaints = Table(
    "Complaint_management_system",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("Customer_complaint_GSI", "customer_id", "complaint_id"),
        GlobalIndex("Escalations_GSI", "escalated_agent", "escalation_time"),
        GlobalIndex("Agents_Comments_GSI", "creator_id", "comm_time"),
    ],
)


class State(StrEnum):
    WAITING = "waiting"
    ASSIGNED = "assigned"
    INVESTIGATING = "investigating"
    RESOLVED = "resolved"


class Severity(StrEnum):
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


class Complaint(Entity, table=complaints):
    complaint_id: str
    customer_id: str
    complaint_description: str
    severity: Severity = Severity.P3
    current_state: State = State.WAITING
    creation_time: datetime
    agent_ids: set[str] = Field(default_factory=set, max_length=20)
    escalated_to: str | None = None
    escalated_at: datetime | None = None

    keys = Keys(
        PK="{complaint_id}",
        SK="metadata",
        escalated_agent=when("{escalated_to}", current_state=[State.WAITING, State.ASSIGNED, State.INVESTIGATING]),
        escalation_time="{escalated_at}#{complaint_id}",
    )

    @Get(many=True)
    def by_id(self, complaint_id: str) -> None:
        """A complaint."""

    @Get("Customer_complaint_GSI")
    def of_customer_by_id(self, customer_id: str, complaint_id: str) -> None:
        """A complaint of a customer, and nobody else's."""

    @Query("Customer_complaint_GSI")
    def of_customer(self, customer_id: str) -> None:
        """The complaints of a customer."""

    @Query("Customer_complaint_GSI")
    def grave(self, customer_id: str) -> FieldCondition:
        """The gravest complaints of a customer."""
        return attr(self.severity) == Severity.P1

    @Query("Escalations_GSI", newest_first=True)
    def escalated_to_agent(
        self, escalated_to: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> None:
        """What was escalated to somebody, newest first."""


class Comment(Entity, table=complaints):
    complaint_id: str
    comm_id: str
    comm_date: datetime
    comm_text: str = Field(max_length=4_000)
    creator_id: str
    complaint_state: State
    sentiment: str | None = None

    keys = Keys(PK="{complaint_id}", SK="comm#{comm_date}#{comm_id}", comm_time="{comm_date}#{comm_id}")

    @Query(newest_first=True)
    def of_complaint(self, complaint_id: str, *, since: datetime | None = None) -> None:
        """The comments on a complaint, newest first."""

    @Query("Agents_Comments_GSI", newest_first=True)
    def by_agent(self, creator_id: str, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """What somebody has written in a time, newest first."""


class CommentLine(Projection[Comment]):
    """A comment in a list."""

    comm_date: datetime
    comm_text: str

    @Query()
    def in_order(self, complaint_id: str) -> None:
        """The comments on a complaint as lines, oldest first."""


class Case(Collection):
    complaint: Complaint
    comments: list[Comment]

    @CollectionQuery()
    def of_id(self, complaint_id: str) -> None:
        """A complaint with all comments."""


design = Design(
    "Complaints",
    tables=[complaints],
    collections=[Case],
    writes=[
        Write("complain", ItemWrite(Complaint, "create")),
        Write("change severity", ItemWrite(Complaint, "update", sets=[Complaint.severity])),
        Write("assign", ItemWrite(Complaint, "update", sets=[Complaint.current_state], adds=[Complaint.agent_ids])),
        Write("comment", ItemWrite(Comment, "create"), ItemWrite(Complaint, "update", sets=[Complaint.current_state])),
        Write("escalate", ItemWrite(Complaint, "update", sets=[Complaint.escalated_to, Complaint.escalated_at])),
    ],
    accepted=[AcceptedFinding("filter-reads-most", "Complaint.grave", "a customer has few complaints")],
)

MORNING = datetime(2023, 5, 1, 9, tzinfo=UTC)


def comment(store: Store, complaint_id: str, number: int, text: str, by: str, state: State) -> None:
    """A comment, and the state that the complaint has since; both or none."""
    written = Comment(
        complaint_id=complaint_id,
        comm_id=f"comm{number}",
        comm_date=MORNING + timedelta(hours=number),
        comm_text=text,
        creator_id=by,
        complaint_state=state,
    )
    store.transact(Create(written), Update(Complaint.by_id(complaint_id), attr(Complaint.current_state).set(state)))


def fill(store: Store) -> None:
    store.ensure_tables(complaints)
    for number, customer in enumerate(["custXYZ", "custXYZ", "custABC"]):
        store.create(
            Complaint(
                complaint_id=f"Complaint{number}",
                customer_id=customer,
                complaint_description="The lamp does not turn on",
                creation_time=MORNING,
            )
        )
    comment(store, "Complaint0", 1, "We look at it", "AgentA", State.INVESTIGATING)
    comment(store, "Complaint0", 2, "Is it plugged in?", "AgentA", State.INVESTIGATING)
    comment(store, "Complaint0", 3, "Yes", "custXYZ", State.INVESTIGATING)
    comment(store, "Complaint2", 4, "Thank you", "AgentA", State.ASSIGNED)


def escalate(store: Store, complaint_id: str, agent: str, hours: int) -> None:
    store.update(
        Complaint.by_id(complaint_id),
        attr(Complaint.escalated_to).set(agent),
        attr(Complaint.escalated_at).set(MORNING + timedelta(hours=hours)),
        attr(Complaint.agent_ids).add({agent}),
        expect=attr(Complaint.current_state) != State.RESOLVED,
    )


def try_patterns(store: Store) -> None:
    lamp = Complaint.by_id("Complaint0")
    store.update(lamp, attr(Complaint.severity).set(Severity.P1))
    assert store.get_or_raise(lamp).severity is Severity.P1
    assert store.get(Complaint.of_customer_by_id("custXYZ", "Complaint0")) is not None
    assert store.get(Complaint.of_customer_by_id("custABC", "Complaint0")) is None
    assert [each.complaint_id for each in store.query(Complaint.of_customer("custXYZ")).items] == [
        "Complaint0",
        "Complaint1",
    ]
    assert [each.complaint_id for each in store.query(Complaint.grave("custXYZ")).items] == ["Complaint0"]

    newest = store.first(Comment.of_complaint("Complaint0"))
    assert newest is not None
    assert newest.comm_text == "Yes"
    lines = [each.comm_text for each in store.query(CommentLine.in_order("Complaint0")).items]
    assert lines == ["We look at it", "Is it plugged in?", "Yes"]
    case = store.collect(Case.of_id("Complaint0"))
    assert case is not None
    assert (case.complaint.current_state, len(case.comments)) == (State.INVESTIGATING, 3)
    day = MORNING + timedelta(hours=2)
    assert [each.comm_id for each in store.query(Comment.by_agent("AgentA", since=day)).items] == ["comm4", "comm2"]
    missing = None
    try:
        comment(store, "Complaint9", 5, "Hello", "AgentA", State.ASSIGNED)
    except Cancelled as error:
        missing = error.reasons[-1]
    assert isinstance(missing, NotFound), "there is no such complaint, and no comment on it"

    escalate(store, "Complaint0", "AgentB", 10)
    escalate(store, "Complaint2", "AgentB", 11)
    mine = store.query(Complaint.escalated_to_agent("AgentB")).items
    assert [each.complaint_id for each in mine] == ["Complaint2", "Complaint0"]
    assert store.count(Scan(Complaint, index="Escalations_GSI")) == 2
    store.update(lamp, attr(Complaint.current_state).set(State.RESOLVED))
    mine = store.query(Complaint.escalated_to_agent("AgentB")).items
    assert [each.complaint_id for each in mine] == ["Complaint2"], "what is resolved leaves the index"
    try:
        escalate(store, "Complaint0", "AgentC", 12)
        raise AssertionError("it is resolved")
    except ConditionFailed:
        pass
    store.transact(Check(lamp, attr(Complaint.agent_ids).contains("AgentB")))


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of a complaint management system")


if __name__ == "__main__":
    main()
