"""A design whose table uses every setting that a table has."""

from tablewright.model import Design, Entity, LocalIndex, Table

secrets = Table(
    "Secrets",
    "id",
    "at",
    indexes=[LocalIndex("byKind", "kind")],
    types={"at": "N"},
    ttl="gone",
    stream="KEYS_ONLY",
    point_in_time_recovery=True,
    encryption=True,
    deletion_protection=True,
    tags={"Environment": "dev", "Application": "safe"},
)


class Secret(Entity, table=secrets):
    id: str
    at: int
    kind: str


SAFE = Design("Safe", tables=[secrets])
