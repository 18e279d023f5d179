"""A read leaves out exactly the items that a write would take for expired."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo.expressions.builder import holds
from tablewright.model import Entity, ExpiresAt, Expiry, Keys, Table, schema_of
from tablewright.store.context import Context
from tablewright.store.visibility import is_visible
from tablewright.store.write.planning.item_conditions import expired_condition, live_item

sessions = Table("sessions", "PK", ttl="ttl", type_attribute="kind")


class Session(Entity, table=sessions):
    session_id: str
    ttl: Annotated[ExpiresAt, Expiry(timedelta(hours=24))] = None

    keys = Keys(PK="SESSION#{session_id}")


moments = st.one_of(
    st.integers(0, 4_000_000_000).map(str),
    st.decimals(0, 4_000_000_000, places=3).map(str),
    st.integers(-5, 5).map(lambda offset: str(1_700_000_000 + offset)),
)
values = st.one_of(
    st.none(),
    moments.map(lambda text: {"N": text}),
    st.sampled_from([{"S": "1"}, {"NULL": True}, {"N": "0"}, {"L": [{"N": "1"}]}]),
)
kinds = st.sampled_from([None, {"S": "Session"}, {"S": "Other"}])
clocks = st.one_of(st.just(1_700_000_000.0), st.floats(1_600_000_000, 1_800_000_000).map(lambda now: round(now, 3)))


@given(moment=values, kind=kinds, now=clocks)
def test_a_read_and_a_write_agree_on_what_is_there(moment: Any, kind: Any, now: float) -> None:
    item = {"PK": {"S": "SESSION#1"}, "session_id": {"S": "1"}}
    item |= {} if moment is None else {"ttl": moment}
    item |= {} if kind is None else {"kind": kind}
    context, schema = Context(clock=lambda: now), schema_of(Session)
    expired = expired_condition(context, schema)
    assert expired is not None
    assert schema.is_expired(item, now) == holds(expired, item)
    assert is_visible(schema, item, now, key_is_known=True) == (live_item(context, schema, item) is not None)
