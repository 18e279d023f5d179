"""Version control, after ElectroDB's example, with the keys that ElectroDB makes.

    python examples/designs/version_control.py

It shows keys of another library: a service, names of fields and lower case in them, booleans, and collections over
several indexes. A program in Python and one in TypeScript can share such a table.
"""

from datetime import UTC, datetime
from typing import Literal

from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Table,
    Write,
    attr,
    camel_case,
    raw,
)
from tablewright.store import Store

electro = Table(
    "electro",
    "pk",
    "sk",
    indexes=[GlobalIndex(f"gsi{n}pk-gsi{n}sk-index", f"gsi{n}pk", f"gsi{n}sk") for n in range(1, 5)],
    type_attribute="__edb_e__",
)
OWNED, ACTIVITY, WATCHING, SUBSCRIBERS = (f"gsi{n}pk-gsi{n}sk-index" for n in range(1, 5))
Status = Literal["open", "closed"]

# ElectroDB writes a key as $service#field_value; what follows the dollar sign in a sort key is the collection.
_REPO = "$versioncontrol#repoowner_{repo_owner:lower}#reponame_{repo_name:lower}"
_USER = "$versioncontrol#username_{username:lower}"


class User(Entity, table=electro, naming=camel_case, type_name="user"):
    username: str
    full_name: str
    bio: str | None = None

    keys = Keys(
        pk=raw(_USER),
        sk=raw("$overview#user_1"),
        gsi1pk=raw(_USER),
        gsi1sk=raw("$owned#user_1"),
        gsi3pk=raw(_USER),
        gsi3sk=raw("$watching#user_1"),
    )

    @Get()
    def by_name(self, username: str) -> None:
        """A user, in any case."""


class Repository(Entity, table=electro, naming=camel_case, type_name="repositories"):
    repo_owner: str
    repo_name: str
    username: str
    is_private: bool = False
    created_at: datetime
    about: str = ""

    keys = Keys(
        pk=raw("$versioncontrol#repoowner_{repo_owner:lower}"),
        sk=raw("$alerts#repositories_1#reponame_{repo_name:lower}"),
        gsi1pk=raw(_USER),
        gsi1sk=raw("$owned#repositories_1#isprivate_{is_private}#createdat_{created_at:second}"),
    )

    @Get()
    def by_name(self, repo_owner: str, repo_name: str) -> None:
        """A repository."""

    @Query()
    def of_owner(self, repo_owner: str) -> None:
        """The repositories of an owner."""

    @Query(OWNED)
    def by_visibility(self, username: str, is_private: bool) -> None:
        """The private repositories of a user, or the public ones."""


class Issue(Entity, table=electro, naming=camel_case, type_name="issues"):
    repo_owner: str
    repo_name: str
    issue_number: str
    username: str
    status: Status = "open"
    created_at: datetime
    subject: str

    keys = Keys(
        pk=raw(_REPO + "#issuenumber_{issue_number}"),
        sk=raw("$issuereview#issues_1"),
        gsi1pk=raw(_USER),
        gsi1sk=raw(
            "$owned#issues_1#status_{status}#repoowner_{repo_owner:lower}#reponame_{repo_name:lower}"
            "#issuenumber_{issue_number}"
        ),
        gsi2pk=raw(_REPO),
        gsi2sk=raw("$activity#issues_1#status_{status}#createdat_{created_at:second}"),
        gsi4pk=raw(_REPO + "#ticketnumber_{issue_number}"),
        gsi4sk=raw("$subscribers#issues_1"),
    )

    @Get()
    def by_number(self, repo_owner: str, repo_name: str, issue_number: str) -> None:
        """An issue."""

    @Query(ACTIVITY, newest_first=True)
    def by_status(self, repo_owner: str, repo_name: str, status: Status) -> None:
        """The issues of a repository in a status, newest first."""

    @Query(OWNED)
    def created_by(self, username: str, status: Status) -> None:
        """The issues that a user has written, in a status."""


class IssueComment(Entity, table=electro, naming=camel_case, type_name="issueComment"):
    repo_owner: str
    repo_name: str
    issue_number: str
    comment_id: str
    username: str
    reply_to: str | None = None
    created_at: datetime
    body: str

    keys = Keys(
        pk=raw(_REPO + "#issuenumber_{issue_number}"),
        sk=raw("$issuereview#issuecomment_1#commentid_{comment_id}"),
        gsi1pk=raw(_USER),
        gsi1sk=raw(
            "$conversations#issuecomment_1#repoowner_{repo_owner:lower}#reponame_{repo_name:lower}"
            "#issuenumber_{issue_number}#commentid_{comment_id}"
        ),
        gsi2pk=raw("$versioncontrol#replyto_{reply_to:lower}"),
        gsi2sk=raw("$inbox#issuecomment_1#createdat_{created_at:second}"),
    )

    @Query(ACTIVITY, newest_first=True)
    def inbox(self, reply_to: str) -> None:
        """The replies to a user, newest first."""

    @Query(OWNED)
    def written_by(self, username: str) -> None:
        """The comments of a user."""


class Subscription(Entity, table=electro, naming=camel_case, type_name="subscription"):
    repo_owner: str
    repo_name: str
    username: str
    ticket_number: str

    keys = Keys(
        pk=raw(_REPO),
        sk=raw("$subscription_1#username_{username:lower}#ticketnumber_{ticket_number}"),
        gsi3pk=raw(_USER),
        gsi3sk=raw(
            "$watching#subscription_1#repoowner_{repo_owner:lower}#reponame_{repo_name:lower}"
            "#ticketnumber_{ticket_number}"
        ),
        gsi4pk=raw(_REPO + "#ticketnumber_{ticket_number}"),
        gsi4sk=raw("$subscribers#subscription_1#username_{username:lower}"),
    )

    @Query(SUBSCRIBERS)
    def of_ticket(self, repo_owner: str, repo_name: str, ticket_number: str) -> None:
        """Who watches an issue."""


class IssueReview(Collection):
    issue: Issue
    comments: list[IssueComment]

    @CollectionQuery()
    def of_issue(self, repo_owner: str, repo_name: str, issue_number: str) -> None:
        """An issue with its comments."""


class Owned(Collection):
    user: User
    repositories: list[Repository]
    issues: list[Issue]

    @CollectionQuery(OWNED)
    def of_user(self, username: str) -> None:
        """A user with all repositories and issues."""


class Watching(Collection):
    user: User
    subscriptions: list[Subscription]

    @CollectionQuery(WATCHING)
    def of_user(self, username: str) -> None:
        """A user with what they watch."""


design = Design(
    "Version control",
    tables=[electro],
    collections=[IssueReview, Owned, Watching],
    writes=[
        Write("open issue", ItemWrite(Issue, "create")),
        Write("close issue", ItemWrite(Issue, "update", sets=[Issue.status])),
    ],
)

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def fill(store: Store) -> None:
    store.ensure_tables(electro)
    store.put(User(username="TyWalch", full_name="Ty"))
    owner, name = "TyWalch", "ElectroDB"
    store.put(Repository(repo_owner=owner, repo_name=name, username=owner, created_at=NOON))
    store.put(Repository(repo_owner=owner, repo_name="Plans", username=owner, is_private=True, created_at=NOON))
    for number in ("1", "2"):
        at = NOON.replace(minute=int(number))
        store.put(
            Issue(repo_owner=owner, repo_name=name, issue_number=number, username=owner, created_at=at, subject="No")
        )
    comment = IssueComment(
        repo_owner=owner,
        repo_name=name,
        issue_number="1",
        comment_id="c1",
        username="Ada",
        reply_to=owner,
        created_at=NOON,
        body="Yes",
    )
    store.put(comment)
    store.put(Subscription(repo_owner=owner, repo_name=name, username=owner, ticket_number="1"))


def try_patterns(store: Store) -> None:
    repo = ("tywalch", "electrodb")
    issue = store.get_or_raise(Issue.by_number(*repo, "1"))
    assert issue.item()["pk"] == {"S": "$versioncontrol#repoowner_tywalch#reponame_electrodb#issuenumber_1"}
    assert store.get_or_raise(User.by_name("TYWALCH")).full_name == "Ty"
    assert store.get_or_raise(Repository.by_name(*repo)).repo_name == "ElectroDB"
    assert [each.repo_name for each in store.query(Repository.of_owner("tywalch")).items] == ["ElectroDB", "Plans"]
    assert [each.repo_name for each in store.query(Repository.by_visibility("tywalch", True)).items] == ["Plans"]
    store.update(issue, attr(Issue.status).set("closed"))
    assert [each.issue_number for each in store.query(Issue.by_status(*repo, "open")).items] == ["2"]
    assert [each.issue_number for each in store.query(Issue.created_by("tywalch", "closed")).items] == ["1"]
    assert [each.body for each in store.query(IssueComment.inbox("tywalch")).items] == ["Yes"]
    assert [each.body for each in store.query(IssueComment.written_by("ada")).items] == ["Yes"]
    assert [each.username for each in store.query(Subscription.of_ticket(*repo, "1")).items] == ["TyWalch"]
    review = store.collect(IssueReview.of_issue(*repo, "1"))
    assert review is not None
    assert [each.comment_id for each in review.comments] == ["c1"]
    owned = store.collect(Owned.of_user("tywalch"))
    assert owned is not None
    assert (len(owned.repositories), len(owned.issues)) == (2, 2)
    watching = store.collect(Watching.of_user("tywalch"))
    assert watching is not None
    assert [each.ticket_number for each in watching.subscriptions] == ["1"]


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns on keys of ElectroDB")


if __name__ == "__main__":
    main()
