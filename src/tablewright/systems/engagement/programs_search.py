"""The search of Engagement: programs, for everyone who may view them."""

from __future__ import annotations

from tablewright.runtime.search.searchable import Searchable
from tablewright.systems.engagement.model import Program
from tablewright.systems.engagement.roles import ADMINS, APPROVERS, MARKETERS, VIEWERS

SEARCH = (
    Searchable(
        Program,
        "program",
        Program.by_id,
        title="program_name",
        texts=["program_id", "marketplace_id"],
        readers=[VIEWERS, MARKETERS, APPROVERS, ADMINS],
    ),
)
