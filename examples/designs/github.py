"""A code host, after the GitHub design in "The DynamoDB Book" of Alex DeBrie.

    python examples/designs/github.py

It shows numbers that issues and pull requests share, keys by state with descending numbers (open issues, newest first,
and closed ones from one index), stars and forks by adjacency, and repositories by the time of their last change.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    FieldCondition,
    FieldGroup,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    MemberRead,
    Numbered,
    Query,
    Table,
    Write,
    attr,
    first_of,
    when,
)
from tablewright.store import Cancelled, Create, Store, Update

hub = Table(
    "GitHubTable",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("pullRequests", "GSI1PK", "GSI1SK"),
        GlobalIndex("forks", "GSI2PK", "GSI2SK"),
        GlobalIndex("byUpdate", "GSI3PK", "GSI3SK"),
        GlobalIndex("byState", "GSI4PK", "GSI4SK"),
    ],
)


class State(StrEnum):
    OPEN = "OPEN"
    CLOSED = "CLOSED"


class Account(Entity, table=hub):
    """A user or an organisation."""

    name: str
    is_organisation: bool = False

    keys = Keys(PK="ACCOUNT#{name}", SK="ACCOUNT#{name}")

    @Get()
    def by_name(self, name: str) -> None:
        """A user or an organisation."""


class Membership(Entity, table=hub):
    organisation: str
    member: str
    role: str = "member"

    keys = Keys(PK="ACCOUNT#{organisation}", SK="MEMBERSHIP#{member}")

    @Query()
    def of_organisation(self, organisation: str) -> None:
        """The members of an organisation."""


class Repository(Entity, table=hub):
    owner: str
    name: str
    updated_at: datetime
    stars: int = 0
    forks: int = 0
    # The owner of the repository that this one is a fork of.
    forked_from: str | None = None

    keys = Keys(
        PK="REPO#{owner}#{name}",
        SK="REPO#{owner}#{name}",
        GSI1PK="REPO#{owner}#{name}",
        GSI1SK="REPO#{owner}#{name}",
        GSI2PK=first_of(when("REPO#{owner}#{name}", forked_from=None), "REPO#{forked_from}#{name}"),
        GSI2SK=first_of(when("REPO#{name}", forked_from=None), "FORK#{owner}"),
        GSI3PK="ACCOUNT#{owner}",
        GSI3SK="{updated_at}",
    )

    @Get()
    def by_name(self, owner: str, name: str) -> None:
        """A repository."""

    @Query("byUpdate", newest_first=True)
    def of_account(self, owner: str) -> None:
        """The repositories of an account, the last changed first."""

    @Query("forks")
    def forks_of(self, forked_from: str, name: str) -> None:
        """The forks of a repository."""


class Issue(Entity, table=hub):
    owner: str
    repo: str
    number: int = 0
    title: str
    state: State = State.OPEN

    keys = Keys(
        PK="REPO#{owner}#{repo}",
        SK="ISSUE#{number:08}",
        GSI4PK="REPO#{owner}#{repo}",
        GSI4SK=first_of(when("ISSUE#OPEN#{number:-08}", state=State.OPEN), "ISSUE#CLOSED#{number:08}"),
    )

    @Numbered(sequence="tickets")
    def number_per_owner_and_repo(self) -> FieldGroup[int]:
        return attr(self.number).per(self.owner, self.repo)

    @Get()
    def by_number(self, owner: str, repo: str, number: int) -> None:
        """An issue."""

    @Query("byState")
    def open_ones(self, owner: str, repo: str) -> FieldCondition:
        """The open issues of a repository, newest first."""
        return attr(self.state) == State.OPEN

    @Query("byState")
    def closed_ones(self, owner: str, repo: str) -> FieldCondition:
        """The closed issues of a repository, oldest first."""
        return attr(self.state) == State.CLOSED


class PullRequest(Entity, table=hub):
    owner: str
    repo: str
    number: int = 0
    title: str

    keys = Keys(
        PK="PR#{owner}#{repo}#{number:08}",
        SK="PR#{owner}#{repo}#{number:08}",
        GSI1PK="REPO#{owner}#{repo}",
        GSI1SK="PR#{number:08}",
    )

    @Numbered(sequence="tickets")
    def number_per_owner_and_repo(self) -> FieldGroup[int]:
        return attr(self.number).per(self.owner, self.repo)

    @Get()
    def by_number(self, owner: str, repo: str, number: int) -> None:
        """A pull request."""


class Comment(Entity, table=hub):
    """On an issue or on a pull request, whose numbers do not overlap."""

    owner: str
    repo: str
    number: int
    comment_id: str
    text: str

    keys = Keys(PK="COMMENTS#{owner}#{repo}#{number:08}", SK="COMMENT#{comment_id}")

    @Query()
    def of_ticket(self, owner: str, repo: str, number: int) -> None:
        """The comments of an issue or a pull request."""


class Reaction(Entity, table=hub):
    owner: str
    repo: str
    number: int
    user: str
    emoji: str

    keys = Keys(PK="REACTIONS#{owner}#{repo}#{number:08}", SK="{emoji}#{user}")

    @Query()
    def of_ticket(self, owner: str, repo: str, number: int, emoji: str | None = None) -> None:
        """Who has reacted to an issue or a pull request, perhaps with one emoji."""


class Star(Entity, table=hub):
    owner: str
    repo: str
    user: str
    at: datetime

    keys = Keys(PK="REPO#{owner}#{repo}", SK="STAR#{user}")

    @Query()
    def of_repository(self, owner: str, repo: str) -> None:
        """Who has starred a repository."""


class RepositoryWithIssues(Collection):
    repository: Repository
    issues: Annotated[list[Issue], MemberRead(limit=10, newest_first=True)]

    @CollectionQuery()
    def latest(self, owner: str, name: str) -> None:
        """A repository and its ten latest issues, by one query."""


class RepositoryWithPullRequests(Collection):
    repository: Repository
    pull_requests: Annotated[list[PullRequest], MemberRead(limit=10, newest_first=True)]

    @CollectionQuery("pullRequests")
    def latest(self, owner: str, name: str) -> None:
        """A repository and its ten latest pull requests, by one query."""


design = Design(
    "Code host",
    tables=[hub],
    collections=[RepositoryWithIssues, RepositoryWithPullRequests],
    writes=[
        Write("create repository", ItemWrite(Repository, "create")),
        Write("open issue", ItemWrite(Issue, "create")),
        Write("close issue", ItemWrite(Issue, "update", sets=[Issue.state])),
        Write("open pull request", ItemWrite(PullRequest, "create")),
        Write("star", ItemWrite(Star, "create"), ItemWrite(Repository, "update", adds=[Repository.stars])),
    ],
)

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def fill(store: Store) -> None:
    store.ensure_tables(hub)
    for name in ("ada", "bea"):
        store.create(Account(name=name))
    store.create(Account(name="acme", is_organisation=True))
    store.create(Membership(organisation="acme", member="ada", role="owner"))
    store.create(Repository(owner="ada", name="engine", updated_at=NOON))
    store.create(Repository(owner="ada", name="notes", updated_at=NOON + timedelta(hours=1)))
    store.create(Repository(owner="bea", name="engine", updated_at=NOON, forked_from="ada"))
    for title in ("It jams", "It stops"):
        store.create(Issue(owner="ada", repo="engine", title=title))
    store.create(PullRequest(owner="ada", repo="engine", title="Oil"))
    store.create(Issue(owner="ada", repo="engine", title="It squeaks"))
    store.create(Comment(owner="ada", repo="engine", number=3, comment_id="c-1", text="Thanks"))
    for emoji, user in (("+1", "ada"), ("+1", "bea"), ("eyes", "bea")):
        store.create(Reaction(owner="ada", repo="engine", number=3, user=user, emoji=emoji))


def star(store: Store, owner: str, repo: str, user: str) -> None:
    """A star, which counts once."""
    repository = Repository.by_name(owner, repo)
    store.transact(
        Create(Star(owner=owner, repo=repo, user=user, at=NOON)), Update(repository, attr(Repository.stars).add(1))
    )


def try_patterns(store: Store) -> None:
    assert store.get_or_raise(Account.by_name("acme")).is_organisation
    assert [each.member for each in store.query(Membership.of_organisation("acme")).items] == ["ada"]
    assert [each.name for each in store.query(Repository.of_account("ada")).items] == ["notes", "engine"]
    assert [each.owner for each in store.query(Repository.forks_of("ada", "engine")).items] == ["bea"]
    first = store.get_or_raise(Issue.by_number("ada", "engine", 1))
    assert [each.number for each in store.query(Issue.open_ones("ada", "engine")).items] == [4, 2, 1]
    store.update(first, attr(Issue.state).set(State.CLOSED))
    assert [each.number for each in store.query(Issue.open_ones("ada", "engine")).items] == [4, 2]
    assert [each.number for each in store.query(Issue.closed_ones("ada", "engine")).items] == [1]
    assert store.get_or_raise(PullRequest.by_number("ada", "engine", 3)).title == "Oil"
    assert [each.text for each in store.query(Comment.of_ticket("ada", "engine", 3)).items] == ["Thanks"]
    assert len(store.query(Reaction.of_ticket("ada", "engine", 3)).items) == 3
    assert len(store.query(Reaction.of_ticket("ada", "engine", 3, "+1")).items) == 2
    star(store, "ada", "engine", "bea")
    try:
        star(store, "ada", "engine", "bea")
        raise AssertionError("a star counts once")
    except Cancelled:
        pass
    assert store.get_or_raise(Repository.by_name("ada", "engine")).stars == 1
    assert [each.user for each in store.query(Star.of_repository("ada", "engine")).items] == ["bea"]
    issues = store.collect(RepositoryWithIssues.latest("ada", "engine"))
    assert issues is not None
    assert [each.number for each in issues.issues] == [4, 2, 1]
    pulls = store.collect(RepositoryWithPullRequests.latest("ada", "engine"))
    assert pulls is not None
    assert [each.number for each in pulls.pull_requests] == [3]


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of a code host")


if __name__ == "__main__":
    main()
