"""The work of administrators, as a design: its policy is what the routes for people need, whatever the system.

    tablewright iam tablewright.runtime.identity.administration       for processes; in stacks: the function Admin

Finding and erasing personal data reads and changes every table, so it is part of maintenance (``design.iam``).
"""

from __future__ import annotations

from tablewright.model import Design, ItemWrite, Write
from tablewright.runtime.audit import AUDITED, READ_AUDIT
from tablewright.runtime.idempotency import KeyedRequest
from tablewright.runtime.identity.deny_list import CHECK_CALLER, DeactivatedUser
from tablewright.runtime.identity.people import Person
from tablewright.runtime.internal_tables import internal_table

# What other packages use.
__all__ = ["ADMINISTRATION", "design"]

ADMINISTRATION = "administration"
"""The role of the design."""

_INVITE = Write(
    "invite person",
    ItemWrite(Person, "create"),
    AUDITED,
    ItemWrite(KeyedRequest, "create"),
    checks=[Person],
    reads=[Person.by_id],
    about="that the author is still an admin is checked in the transaction, as with all changes of people",
)


def _change(name: str, *item_writes: ItemWrite) -> Write:
    """A change of a person: read before, with the author's own entry, and read again after it."""
    reads = [Person.by_id, Person.by_id, Person.by_id]
    return Write(name, *item_writes, checks=[Person], reads=reads)


_ROLES = ItemWrite(Person, "update", sets=[Person.roles])
_STATUS = ItemWrite(Person, "update", sets=[Person.status])
_CHANGES = [
    _change("change roles of person", _ROLES, AUDITED),
    _change("deactivate person", _STATUS, AUDITED, ItemWrite(DeactivatedUser, "put")),
    _change("reactivate person", _STATUS, AUDITED, ItemWrite(DeactivatedUser, "delete")),
]
_WRITES = [_INVITE, *_CHANGES]

design = Design(
    "Administration",
    tables=[internal_table],
    writes=_WRITES,
    roles={
        ADMINISTRATION: [
            CHECK_CALLER,
            READ_AUDIT,
            Person.by_id.__qualname__,
            Person.everybody.__qualname__,
            *(write.name for write in _WRITES),
        ]
    },
    about="People who may use the systems, their roles, and who was deactivated.",
)
"""Of the runtime, for all systems."""
