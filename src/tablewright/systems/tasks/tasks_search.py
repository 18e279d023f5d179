"""The search of Tasks: the team finds tasks and comments; Admins find people, who find only themselves."""

from __future__ import annotations

from tablewright.runtime.search.searchable import Searchable
from tablewright.systems.tasks.model import Comment, Task, User
from tablewright.systems.tasks.roles import ADMINS, MEMBERS

SEARCH = (
    Searchable(Task, "task", Task.by_id, title="title", texts=["description"], readers=[MEMBERS, ADMINS]),
    Searchable(Comment, "comment", Comment.by_id, texts=["text"], readers=[MEMBERS, ADMINS]),
    Searchable(
        User,
        "person",
        User.by_id,
        title="user_id",
        texts=["email"],
        readers=[MEMBERS.own, ADMINS],
        owners=["user_id"],
    ),
)
