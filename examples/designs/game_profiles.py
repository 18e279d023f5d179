"""Profiles of players, after AWS's design for games.

    python examples/designs/game_profiles.py

It shows a profile beside its friends and items, the best scores of a game first, and a month of scores as a bucket.
"""

from datetime import UTC, date, datetime

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
)
from tablewright.store import Create, Store, Update

games = Table("GamePlayerProfiles", "PK", "SK", indexes=[GlobalIndex("scores", "GSI1PK", "GSI1SK")])


class Player(Entity, table=games):
    player_id: str
    name: str
    coins: int = 0

    keys = Keys(PK="player{player_id}", SK="#METADATA")

    @Get()
    def by_id(self, player_id: str) -> None:
        """1. The profile of a player."""


class Friend(Entity, table=games):
    player_id: str
    friend_id: str
    since: date

    keys = Keys(PK="player{player_id}", SK="FRIENDS#player{friend_id}")

    @Query()
    def of_player(self, player_id: str) -> None:
        """2. The friends of a player."""


class OwnedItem(Entity, table=games):
    player_id: str
    kind: str
    item_id: str

    keys = Keys(PK="player{player_id}", SK="ITEMS#{kind}#{item_id}")

    @Query()
    def of_player(self, player_id: str, kind: str | None = None) -> None:
        """3. The items of a player, or those of a kind."""


class Score(Entity, table=games):
    player_id: str
    game: str
    at: datetime
    points: int

    keys = Keys(
        PK="player{player_id}",
        SK="SCORE#{game}#{at}",
        GSI1PK="GAME#{game}#{at:month}",
        GSI1SK="{points:-010}#{player_id}#{at}",
    )

    @Query("scores")
    def best(self, game: str, at: date) -> None:
        """4. The best scores of a game in a month, the highest first."""

    @Query(newest_first=True)
    def of_player(self, player_id: str, game: str) -> None:
        """5. The scores of a player in a game, newest first."""


class Profile(Collection):
    player: Player
    friends: list[Friend]
    items: list[OwnedItem]

    @CollectionQuery()
    def of_player(self, player_id: str) -> None:
        """6. A player with friends and items."""


design = Design(
    "Player profiles",
    tables=[games],
    collections=[Profile],
    writes=[
        Write("buy", ItemWrite(OwnedItem, "create"), ItemWrite(Player, "update", adds=[Player.coins])),
        Write("score", ItemWrite(Score, "create")),
    ],
)

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def fill(store: Store) -> None:
    store.ensure_tables(games)
    for number, name in enumerate(("Ada", "Bea")):
        store.create(Player(player_id=f"00{number}", name=name, coins=100))
    store.create(Friend(player_id="000", friend_id="001", since=date(2026, 1, 1)))
    for player, points, month in (("000", 50, 1), ("001", 700, 1), ("000", 9000, 2), ("000", 60, 1)):
        at = NOON.replace(month=month, minute=points % 59)
        store.create(Score(player_id=player, game="chess", at=at, points=points))


def buy(store: Store, player_id: str, kind: str, item_id: str, price: int) -> None:
    """An item, if there are coins for it."""
    store.transact(
        Create(OwnedItem(player_id=player_id, kind=kind, item_id=item_id)),
        Update(Player.by_id(player_id), attr(Player.coins).add(-price), expect=attr(Player.coins) >= price),
    )


def try_patterns(store: Store) -> None:
    buy(store, "000", "skin", "gold", 30)
    assert store.get_or_raise(Player.by_id("000")).coins == 70
    assert [each.friend_id for each in store.query(Friend.of_player("000")).items] == ["001"]
    assert [each.item_id for each in store.query(OwnedItem.of_player("000")).items] == ["gold"]
    assert store.query(OwnedItem.of_player("000", "weapon")).items == []
    best = store.query(Score.best("chess", date(2026, 1, 31)), limit=2).items
    assert [(each.player_id, each.points) for each in best] == [("001", 700), ("000", 60)]
    assert [each.points for each in store.query(Score.of_player("000", "chess")).items] == [9000, 50, 60]
    profile = store.collect(Profile.of_player("000"))
    assert profile is not None
    assert (profile.player.name, len(profile.friends), len(profile.items)) == ("Ada", 1, 1)


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of player profiles")


if __name__ == "__main__":
    main()
