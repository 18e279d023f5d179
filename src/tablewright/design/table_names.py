"""Table names in an environment, and the names that templates give to tables.

    table_name(tickets, "dev")      poc-itsm-tickets becomes dev-itsm-tickets, Candidates becomes dev-Candidates

The environment is a prefix of the name. A name that begins with an environment (``poc-``) has it replaced; any other
name gets the prefix. Without an environment, tables are named as the design declares them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tablewright.design.design_loading import DesignError
from tablewright.dynamo.limits import MAX_TABLE_NAME_LENGTH
from tablewright.model import Design, Table

__all__ = [
    "bare_name",
    "check_names",
    "check_place",
    "design_environment",
    "environment_of",
    "logical_names",
    "table_name",
]

_ENVIRONMENTS = ("poc", "dev", "development", "test", "qa", "uat", "staging", "stage", "demo", "preprod", "prod")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+){1,3}-[0-9]{1,2}")


def environment_of(name: str) -> str:
    """The environment that is the prefix of a table's name; empty if there is none."""
    first, dash, _ = name.partition("-")
    return first if dash and first.lower() in _ENVIRONMENTS else ""


def bare_name(name: str) -> str:
    """A table's name without its environment."""
    environment = environment_of(name)
    return name[len(environment) + 1 :] if environment else name


def table_name(table: Table, environment: str | None) -> str:
    """The name of a table in an environment; None for the name that the design declares."""
    if environment is None or environment == environment_of(table.name):
        return table.name
    name = f"{environment}-{bare_name(table.name)}"
    if len(name) > MAX_TABLE_NAME_LENGTH:
        raise DesignError(
            f"a table name has at most {MAX_TABLE_NAME_LENGTH} characters, and {name} is longer; shorten one part"
        )
    return name


def check_place(region: str, environment: str | None) -> None:
    """Refuses an invalid region, or an environment that cannot be a prefix of a name."""
    if not _REGION.fullmatch(region):
        raise DesignError(f"{region!r} is not an AWS region, such as us-east-1 or eu-central-1")
    if environment is not None and not _ENVIRONMENT.fullmatch(environment):
        raise DesignError(f"{environment!r} is not an environment, which is a word such as dev or prod")


def check_names(design: Design) -> None:
    """Refuses tables that would have the same name in another environment."""
    found: dict[str, str] = {}
    for table in design.all_tables:
        other = found.setdefault(bare_name(table.name), table.name)
        if other != table.name:
            raise DesignError(
                f"{design.name}: {other} and {table.name} would have the same name in another environment, as their "
                "prefixes are environments; rename one of them"
            )


def design_environment(design: Design) -> str:
    """The environment of the design's own table names; empty if there is none, or several."""
    found = {environment_of(table.name) for table in design.all_tables}
    return found.pop() if len(found) == 1 else ""


def logical_names(tables: Sequence[Table]) -> dict[str, str]:
    """A logical name of letters and digits for each table, by the table's name."""
    found: dict[str, str] = {}
    for table in tables:
        words = re.findall(r"[A-Za-z0-9]+", bare_name(table.name))
        name = "".join(word[0].upper() + word[1:] for word in words) or "Table"
        while name in found.values():
            name += "X"
        found[table.name] = name
    return found
