"""A social network, after AWS's design: followers, posts, likes and timelines.

    python examples/designs/social_network.py

It shows many-to-many relations by adjacency, counters that are kept in the transaction that changes them, and timelines
in the order of the newest post.
"""

from datetime import UTC, datetime, timedelta

from tablewright.model import (
    AcceptedFinding,
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
)
from tablewright.store import Create, Delete, Store, Update

network = Table("SocialNetwork", "PK", "SK", indexes=[GlobalIndex("inverse", "SK", "PK")])


class User(Entity, table=network):
    user_id: str
    name: str
    followers: int = 0
    following: int = 0

    keys = Keys(PK="u#{user_id}", SK="info")

    @Get(many=True)
    def by_id(self, user_id: str) -> None:
        """1. A user, with the number of followers and of those who are followed."""


class Follow(Entity, table=network):
    follower: str
    followed: str

    keys = Keys(PK="follows#{follower}", SK="u#{followed}")

    @Query()
    def of_follower(self, follower: str) -> None:
        """2. Whom a user follows."""

    @Query("inverse")
    def of_followed(self, followed: str) -> None:
        """3. Who follows a user."""

    @Get()
    def between(self, follower: str, followed: str) -> None:
        """Whether somebody follows somebody."""


class Post(Entity, table=network):
    user_id: str
    post_id: str
    posted_at: datetime
    text: str
    likes: int = 0

    keys = Keys(PK="posts#{user_id}", SK="{posted_at}#{post_id}")

    @Query(newest_first=True)
    def of_user(self, user_id: str, *, since: datetime | None = None) -> None:
        """4. The posts of a user, newest first."""

    @Get()
    def by_id(self, user_id: str, posted_at: datetime, post_id: str) -> None:
        """A post."""


class Like(Entity, table=network):
    post_id: str
    user_id: str

    keys = Keys(PK="likes#{post_id}", SK="by#{user_id}")

    @Query()
    def of_post(self, post_id: str) -> None:
        """5. Who likes a post."""


class TimelineEntry(Entity, table=network):
    """A post in the timeline of somebody who follows its author."""

    reader: str
    author: str
    posted_at: datetime
    post_id: str

    keys = Keys(PK="timeline#{reader}", SK="{posted_at}#{post_id}")

    @Query(newest_first=True)
    def of_user(self, reader: str) -> None:
        """6. The timeline of a user, newest first."""


design = Design(
    "Social network",
    tables=[network],
    writes=[
        Write(
            "follow",
            ItemWrite(Follow, "create"),
            ItemWrite(User, "update", adds=[User.following]),
            ItemWrite(User, "update", adds=[User.followers]),
        ),
        Write("post", ItemWrite(Post, "create"), ItemWrite(TimelineEntry, "create", count=99)),
        Write("like", ItemWrite(Like, "create"), ItemWrite(Post, "update", adds=[Post.likes])),
    ],
    accepted=[
        AcceptedFinding("low-cardinality", "User.SK", "the index is for followers, and nobody lists users by it"),
    ],
)

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def follow(store: Store, follower: str, followed: str) -> None:
    store.transact(
        Create(Follow(follower=follower, followed=followed)),
        Update(User.by_id(follower), attr(User.following).add(1)),
        Update(User.by_id(followed), attr(User.followers).add(1)),
    )


def publish(store: Store, post: Post) -> None:
    readers = [each.follower for each in store.query(Follow.of_followed(post.user_id)).items]
    entries = [
        TimelineEntry(reader=reader, author=post.user_id, posted_at=post.posted_at, post_id=post.post_id)
        for reader in readers
    ]
    store.transact(Create(post), *map(Create, entries))


def fill(store: Store) -> None:
    store.ensure_tables(network)
    for name in ("ada", "bea", "cy"):
        store.create(User(user_id=name, name=name.title()))
    follow(store, "bea", "ada")
    follow(store, "cy", "ada")
    follow(store, "ada", "bea")
    for number in range(3):
        at = NOON + timedelta(hours=number)
        publish(store, Post(user_id="ada", post_id=f"p{number}", posted_at=at, text=f"No {number}"))


def try_patterns(store: Store) -> None:
    ada = store.get_or_raise(User.by_id("ada"))
    assert (ada.followers, ada.following) == (2, 1)
    assert [each.followed for each in store.query(Follow.of_follower("ada")).items] == ["bea"]
    assert [each.follower for each in store.query(Follow.of_followed("ada")).items] == ["bea", "cy"]
    assert store.exists(Follow.between("cy", "ada"))
    posts = store.query(Post.of_user("ada", since=NOON + timedelta(hours=1))).items
    assert [each.post_id for each in posts] == ["p2", "p1"]
    liked = Post.by_id("ada", posts[0].posted_at, "p2")
    store.transact(Create(Like(post_id="p2", user_id="bea")), Update(liked, attr(Post.likes).add(1)))
    assert store.get_or_raise(liked).likes == 1
    assert [each.user_id for each in store.query(Like.of_post("p2")).items] == ["bea"]
    assert [each.post_id for each in store.query(TimelineEntry.of_user("bea")).items] == ["p2", "p1", "p0"]
    store.transact(
        Delete(Follow.between("cy", "ada")),
        Update(User.by_id("cy"), attr(User.following).add(-1)),
        Update(User.by_id("ada"), attr(User.followers).add(-1)),
    )
    assert store.get_or_raise(User.by_id("ada")).followers == 1


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of a social network")


if __name__ == "__main__":
    main()
