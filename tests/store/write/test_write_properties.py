"""Whatever is written in whatever order, and wherever a driver stops, all that is stored stays in step."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tablewright.engine import Engine
from tablewright.model import attr
from tablewright.store import Create, Delete, StoreError, Update
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.context import Context
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Flow, Request, Response
from tablewright.store.write.delete import delete
from tablewright.store.write.put import create, put
from tablewright.store.write.transaction import transact
from tablewright.store.write.update import update
from tablewright.store.write.upsert import upsert
from tests.clocks import Clock
from tests.examples import examples
from tests.store.bench import Bench
from tests.store.flows import Stopped, drive
from tests.store.members import Account, Line, Player, Slot, assert_in_step, people

few = st.sampled_from(["1", "2", "3"])
names = st.sampled_from([None, "ada", "bea", "a#b"])
days = st.sampled_from([date(2026, 1, 5), date(2026, 1, 6)])
expiries = st.sampled_from([None, 10, 100])
accounts: st.SearchStrategy[dict[str, Any]] = st.builds(dict, account_id=few, email=names, handle=names, team=few)
slots = st.builds(Slot, day=days, slot_id=few, hour=st.integers(0, 23), guest=names)
players = st.builds(Player, player_id=few, team=few, score=st.integers(0, 9), active=st.booleans(), name=few)
some = st.integers(0, 3)


class Writes(RuleBasedStateMachine):
    """A store on an engine of its own; each rule is one write, which may be refused or stopped on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock(1_763_000_000.0)
        self.engine = Engine.open(clock=self.clock, entropy=random.Random(7))
        self.bench = Bench(EmbeddedBackend(self.engine, owned=False), self.clock)
        self.bench.create(people)
        expiry = {"Enabled": True, "AttributeName": people.ttl}
        self.engine.call(
            "UpdateTimeToLive", {"TableName": self.bench.names[people.name], "TimeToLiveSpecification": expiry}
        )
        self.context = Context(clock=self.clock, entropy=random.Random(7), table_names=self.bench.names)
        self.accounts: list[Account] = []
        self.slots: list[Slot] = []

    def teardown(self) -> None:
        self.engine.close()

    def carry_out(self, flow: Flow[Any], requests: int) -> Any:
        """Drive a flow for so many requests at most (0: to its end); refusals are as good as any other end."""
        sent = 0

        def answer(request: Request) -> Response:
            nonlocal sent
            if requests and sent == requests:
                raise Stopped
            sent += 1
            return self.bench.backend.call(request)

        try:
            return drive(flow, answer)
        except Stopped:
            flow.close()
            return None
        except ServiceError:
            # Nothing here is the service's to refuse.
            raise
        except StoreError:
            return None

    def account(self, fields: dict[str, Any], lives: int | None) -> Account:
        expiry = None if lives is None else datetime.fromtimestamp(self.clock() + lives, UTC)
        return Account(**fields, ttl=expiry)

    @rule(how=st.sampled_from([create, put, upsert]), fields=accounts, lives=expiries, stop=some)
    def write_account(
        self, how: Callable[..., Flow[Any]], fields: dict[str, Any], lives: int | None, stop: int
    ) -> None:
        account = self.account(fields, lives)
        self.carry_out(how(self.context, account), stop)
        self.accounts.append(account)

    @precondition(lambda self: self.accounts)
    @rule(data=st.data(), email=names, team=few, stop=some)
    def update_account(self, data: st.DataObject, email: str | None, team: str, stop: int) -> None:
        account = data.draw(st.sampled_from(self.accounts))
        self.carry_out(
            update(self.context, account, attr(Account.email).set(email), attr(Account.team).set(team)), stop
        )

    @rule(account_id=few, handle=names, stop=some)
    def update_account_by_lookup(self, account_id: str, handle: str | None, stop: int) -> None:
        self.carry_out(
            update(self.context, Account.by_id(account_id=account_id), attr(Account.handle).set(handle)), stop
        )

    @rule(account_id=few, lives=expiries)
    def change_expiry(self, account_id: str, lives: int | None) -> None:
        expiry = None if lives is None else datetime.fromtimestamp(self.clock() + lives, UTC)
        self.carry_out(update(self.context, Account.by_id(account_id=account_id), attr(Account.ttl).set(expiry)), 0)

    @precondition(lambda self: self.accounts)
    @rule(data=st.data(), by_lookup=st.booleans(), stop=some)
    def delete_account(self, data: st.DataObject, by_lookup: bool, stop: int) -> None:
        account = data.draw(st.sampled_from(self.accounts))
        target = Account.by_id(account_id=account.account_id) if by_lookup else account
        self.carry_out(delete(self.context, target), stop)

    @rule(slot=slots, stop=some)
    def create_slot(self, slot: Slot, stop: int) -> None:
        self.carry_out(create(self.context, slot), stop)
        self.slots.append(slot)

    @precondition(lambda self: self.slots)
    @rule(data=st.data(), day=days, guest=names, stop=some)
    def move_slot(self, data: st.DataObject, day: date, guest: str | None, stop: int) -> None:
        slot = data.draw(st.sampled_from(self.slots))
        self.carry_out(update(self.context, slot, attr(Slot.day).set(day), attr(Slot.guest).set(guest)), stop)

    @rule(player=players)
    def put_player(self, player: Player) -> None:
        self.carry_out(put(self.context, player), 0)

    @rule(player_id=few, name=few, team=few, scored=some, stop=some)
    def update_player(self, player_id: str, name: str, team: str, scored: int, stop: int) -> None:
        lookup = Player.by_id(player_id=player_id)
        self.carry_out(
            update(
                self.context,
                lookup,
                attr(Player.name).set(name),
                attr(Player.team).set(team),
                attr(Player.score).add(scored),
            ),
            stop,
        )

    @rule(player_id=few, active=st.booleans())
    def flip_player(self, player_id: str, active: bool) -> None:
        self.carry_out(update(self.context, Player.by_id(player_id=player_id), attr(Player.active).set(active)), 0)

    @rule(order=few, fields=accounts, player_id=few, gone=few, stop=some)
    def all_at_once(self, order: str, fields: dict[str, Any], player_id: str, gone: str, stop: int) -> None:
        operations = [
            Create(Line(order_id=order)),
            Create(self.account(fields, None)),
            Update(Player.by_id(player_id=player_id), attr(Player.score).add(1)),
            Create(Line(order_id=order)),
        ]
        if gone != fields["account_id"]:
            operations.append(Delete(Account.by_id(account_id=gone)))
        self.carry_out(transact(self.context, *operations), stop)

    @rule(seconds=st.sampled_from([1, 10, 100]), swept=st.booleans())
    def let_time_pass(self, seconds: int, swept: bool) -> None:
        self.clock.now += seconds
        if swept:
            self.engine.sweep()

    @invariant()
    def everything_is_in_step(self) -> None:
        assert_in_step(self.bench, people)


Writes.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=25)
TestWrites = Writes.TestCase
