"""Writes, events and counters."""

from typing import Any

from tablewright.model import Design, Entity, Get, ItemWrite, Reaction, Table, Write
from tests.design.lint.cases.case import Case


def design(
    *, stream: str | None = "NEW_AND_OLD_IMAGES", reaction: dict[str, Any] | None = None, **item_write: Any
) -> Design:
    class Task(Entity, table=Table("tasks", "id", stream=stream)):
        id: str
        title: str = ""

        @Get()
        def by_id(self, id: str) -> None: ...

    read = [Task.by_id] if item_write.pop("reads", False) else []
    retries = item_write.pop("retries", 5)
    action = item_write.pop("action", "update")
    sets = item_write.pop("sets", [])
    return Design(
        "Tasks",
        tables=[Task.schema_.table],
        writes=[
            Write(
                "change",
                ItemWrite(Task, action, [getattr(Task, name) for name in sets], **item_write),
                retries=retries,
                reads=read,
            )
        ],
        reactions=[] if reaction is None else [Reaction("told", Task, **reaction)],
    )


def told(stream: str | None = "NEW_AND_OLD_IMAGES", **reaction: Any) -> Design:
    return design(stream=stream, reaction=reaction)


CASES = [
    Case("phantom-item", "change", lambda: design(sets=["title"], conditional=False), lambda: design(sets=["title"])),
    Case(
        "phantom-item",
        "change",
        lambda: design(conditional=False),
        lambda: design(action="delete", conditional=False),
    ),
    Case(
        "blind-overwrite",
        "change",
        lambda: design(action="create", conditional=False),
        lambda: design(action="put", conditional=False),
    ),
    Case(
        "blind-overwrite",
        "change",
        lambda: design(action="put", conditional=False, reads=True),
        lambda: design(action="put", reads=True),
        "warning",
    ),
    Case("unbounded-retries", "change", lambda: design(retries=None), lambda: design(retries=0)),
    Case(
        "partial-count",
        "told",
        lambda: told(effect="count", events=frozenset(["MODIFY"])),
        lambda: told(effect="count"),
    ),
    Case(
        "partial-count",
        "told",
        lambda: told(effect="count", events=frozenset(["INSERT", "MODIFY"])),
        lambda: told(effect="publish", events=frozenset(["MODIFY"])),
    ),
    Case("counted-twice", "told", lambda: told(effect="count", once=False), lambda: told(effect="count")),
    Case("published-by-writer", "told", lambda: told(source="writer"), lambda: told(source="stream")),
    Case("stream-missing", "told", lambda: told(stream=None), lambda: told(stream="KEYS_ONLY")),
    Case("stream-missing", "told", lambda: told(stream="NEW_IMAGE", effect="count"), lambda: told(effect="count")),
    Case("stream-missing", "told", lambda: told(stream=None), lambda: told(stream=None, source="writer")),
]
