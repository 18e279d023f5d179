"""Data models of NoSQL Workbench, written after the format that it publishes.

With facets and without, with items listed for the table, for facets or not at all, with an attribute that says what
an item is and without.
"""

from typing import Any


def attribute(name: str, kind: str = "S") -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": kind}


def index(name: str, partition: str, sort: str | None = None, include: list[str] | None = None) -> dict[str, Any]:
    key = {"PartitionKey": attribute(partition), **({} if sort is None else {"SortKey": attribute(sort)})}
    projection: dict[str, Any] = {"ProjectionType": "ALL"}
    if include is not None:
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": include}
    return {"IndexName": name, "KeyAttributes": key, "Projection": projection}


def table(name: str, key: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"TableName": name, "KeyAttributes": key, "DataAccess": {"MySql": {}}, **members}


def file(*tables: dict[str, Any], name: str = "Model") -> dict[str, Any]:
    metadata = {
        "Author": "A. Modeller",
        "DateCreated": "Jun 24, 2020, 04:20 PM",
        "DateLastModified": "Jun 24, 2020, 09:56 PM",
        "Description": "",
        "Version": "1.0",
    }
    return {"ModelName": name, "ModelMetadata": metadata, "DataModel": list(tables)}


def s(text: str) -> dict[str, str]:
    return {"S": text}


PK_SK = {"PartitionKey": attribute("PK"), "SortKey": attribute("SK")}

# A single table with an attribute that says what an item is; keys hold what no other attribute holds.
SHOP = file(
    table(
        "OnlineShop",
        PK_SK,
        NonKeyAttributes=[
            attribute("EntityType"),
            attribute("GSI1-PK"),
            attribute("GSI1-SK"),
            attribute("Email"),
            attribute("Detail", "M"),
            attribute("Quantity", "N"),
        ],
        GlobalSecondaryIndexes=[index("GSI1", "GSI1-PK", "GSI1-SK")],
        TableData=[
            {"PK": s("c#12345"), "SK": s("c#12345"), "EntityType": s("customer"), "Email": s("a@example.com")},
            {"PK": s("c#23456"), "SK": s("c#23456"), "EntityType": s("customer"), "Email": s("b@example.com")},
            {
                "PK": s("p#99"),
                "SK": s("p#99"),
                "EntityType": s("product"),
                "Detail": {"M": {"Name": s("The Book"), "Tags": {"L": [s("x"), {"NULL": True}]}}},
            },
            {
                "PK": s("o#1"),
                "SK": s("p#99"),
                "EntityType": s("orderItem"),
                "GSI1-PK": s("p#99"),
                "GSI1-SK": s("2020-06-21T19:18:00"),
                "Quantity": {"N": "2"},
            },
        ],
    ),
    name="AnOnlineShop",
)

# Keys that follow from attributes, in several ways; nothing but the keys says what an item is.
DESK = file(
    table(
        "Desk",
        PK_SK,
        NonKeyAttributes=[
            attribute("ticketId"),
            attribute("status"),
            attribute("openedAt"),
            attribute("number", "N"),
            attribute("score", "N"),
            attribute("place", "M"),
            attribute("GSI1PK"),
            attribute("GSI1SK"),
            attribute("isLate", "BOOL"),
            attribute("labels", "SS"),
        ],
        GlobalSecondaryIndexes=[index("byStatus", "GSI1PK", "GSI1SK", include=["ticketId"])],
        TableData=[
            {
                "PK": s("TICKET#t-1"),
                "SK": s("METADATA"),
                "ticketId": s("t-1"),
                "status": s("OPEN"),
                "openedAt": s("2026-01-15T09:30:00.000000Z"),
                "GSI1PK": s("STATUS#OPEN#2026-01-15"),
                "GSI1SK": s("2026-01-15T09:30:00.000000Z"),
                "isLate": {"BOOL": True},
                "labels": {"SS": ["a", "b"]},
            },
            {
                "PK": s("TICKET#t-2"),
                "SK": s("METADATA"),
                "ticketId": s("t-2"),
                "status": s("CLOSED"),
                "openedAt": s("2026-01-16T09:30:00.000000Z"),
                "GSI1PK": s("STATUS#CLOSED#2026-01-16"),
                "GSI1SK": s("2026-01-16T09:30:00.000000Z"),
                "isLate": {"BOOL": False},
            },
            {
                "PK": s("TICKET#t-1"),
                "SK": s("EVENT#0001"),
                "ticketId": s("t-1"),
                "number": {"N": "1"},
                "score": {"N": "1.5"},
                "place": {"M": {"city": s("Rome")}},
            },
            {
                "PK": s("TICKET#t-2"),
                "SK": s("EVENT#0012"),
                "ticketId": s("t-2"),
                "number": {"N": "12"},
                "score": {"N": "2"},
                "place": {"M": {"city": s("Oslo")}},
            },
        ],
    ),
    name="Service desk",
)

# Items listed under facets only.
FACETS = file(
    table(
        "Library",
        PK_SK,
        NonKeyAttributes=[attribute("Title"), attribute("Artist"), attribute("Plays", "N"), attribute("Cover", "B")],
        TableFacets=[
            {
                "FacetName": "Song",
                "KeyAttributeAlias": {"PartitionKeyAlias": "SongId", "SortKeyAlias": "Kind"},
                "NonKeyAttributes": ["Title", "Artist", "Cover"],
                "TableData": [{"PK": s("1"), "SK": s("SONG"), "Title": s("Wild Love"), "Artist": s("The Acme Band")}],
                "DataAccess": {"MySql": {}},
            },
            {
                "FacetName": "Monthly plays",
                "KeyAttributeAlias": {"PartitionKeyAlias": "SongId", "SortKeyAlias": "Month"},
                "NonKeyAttributes": ["Plays"],
                "TableData": [{"PK": s("1"), "SK": s("Month-01-2020"), "Plays": {"N": "1746992"}}],
                "DataAccess": {"MySql": {}},
            },
        ],
    ),
    name="Music library",
)

# A key made by hand of other attributes, with a name that no Python name can be; no sort key; number keys.
DEVICES = file(
    table(
        "DeviceStateLog",
        {"PartitionKey": attribute("DeviceID"), "SortKey": attribute("State#Date")},
        NonKeyAttributes=[attribute("Operator"), attribute("Date"), attribute("State"), attribute("EscalatedTo")],
        GlobalSecondaryIndexes=[index("GSI1", "Operator", "Date"), index("GSI2", "EscalatedTo", "State#Date")],
        TableData=[
            {
                "DeviceID": s("d#12345"),
                "State#Date": s("WARNING1#2020-04-24T14:40:00"),
                "Operator": s("Liz"),
                "Date": s("2020-04-24T14:40:00"),
                "State": s("WARNING1"),
            },
            {
                "DeviceID": s("d#54321"),
                "State#Date": s("NORMAL#2020-04-11T09:30:00"),
                "Operator": s("Sue"),
                "Date": s("2020-04-11T09:30:00"),
                "State": s("NORMAL"),
                "EscalatedTo": s("Sara"),
            },
        ],
    ),
    table(
        "Readings",
        {"PartitionKey": attribute("sensor"), "SortKey": attribute("at", "N")},
        TableData=[
            {"sensor": s("s-1"), "at": {"N": "1700000000"}, "value": {"N": "21.5"}, "raw": {"B": "AAEC"}},
        ],
    ),
    table("Settings", {"PartitionKey": attribute("name")}, NonKeyAttributes=[attribute("value"), attribute("class")]),
    name="Devices",
)
