"""What has no key of its own is refused before anything is asked for."""

from __future__ import annotations

import pytest

from tablewright.model import CreatedAt, Entity, Keys, ModelError, Table, Version
from tablewright.store import Store

shelf = Table("shelf", "PK", "SK")


class Volume(Entity, table=shelf):
    title: str
    created_at: CreatedAt = None
    version: Version = 0

    keys = Keys(PK="VOLUME#{title}", SK="V#{created_at}")


def test_an_entity_that_was_read_is_not_put_under_a_time_made_up_for_it() -> None:
    with Store.open(None) as store:
        store.ensure_tables(shelf)
        with pytest.raises(ModelError, match="created_at"):
            store.put(Volume(title="a", version=3))
