"""The configuration of a program: its parts, each validated separately and all of them together.

    dataConnectors   where customers come from: SQL over files, or Athena
    scoringModels    what scores them: a registered function, or an HTTP endpoint; with a weight
    filterChain      who is left out: registered filters in order, with their settings
    channels         how candidates are reached, in order of priority

Names here differ in style from those that are stored and sent: ``candidateTTLDays`` is ``candidate_ttl_days`` here.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from tablewright.runtime.http.json_values import UNIQUE, JsonObject, Said, in_json
from tablewright.runtime.parameter_texts import matching
from tablewright.systems.engagement.delivery.network_addresses import parsed
from tablewright.systems.engagement.runs.cron_schedule import check_cron, check_time_zone

# Names of programs, marketplaces, models and channels; they are used in URLs.
NAME = matching(
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "use 1 to 64 letters, digits and . _ -, starting with a letter or a digit"
)
Name = Annotated[str, Field(pattern=NAME, examples=["retail"])]
_COLUMN = matching(
    r"^[A-Za-z_][A-Za-z0-9_]{0,63}$", "use a column name: 1 to 64 letters, digits and _, not starting with a digit"
)
Column = Annotated[str, Field(pattern=_COLUMN)]


def _number(value: Any) -> Any:
    """A JSON number; not a string or a boolean."""
    if value is None or isinstance(value, str | bool):
        raise PydanticCustomError("number_type", "Input should be a valid number")
    return value


def _decimal(value: Any) -> Any:
    """A JSON number as it is written."""
    value = _number(value)
    return Decimal(str(value)) if isinstance(value, int | float) else value


# For numbers of free-form settings: they are stored as decimals, so their models are not strict.
IsNumber = BeforeValidator(_number)


def _as_number(schema: JsonDict) -> None:
    """Pydantic describes a decimal as a number or a text."""
    choices = schema.pop("anyOf", [])
    assert isinstance(choices, list)
    for choice in choices:
        if isinstance(choice, dict) and choice.get("type") == "number":
            schema.update(choice)
    if isinstance(default := schema.get("default"), str):
        schema["default"] = float(default)


# Exact here and in the store, a plain number in JSON.
Number = Annotated[
    Decimal,
    BeforeValidator(_decimal),
    PlainSerializer(float, return_type=float, when_used="json"),
    Field(json_schema_extra=_as_number),
]
# JSON of any shape, as it is sent: its reader validates it.
Json = Annotated[JsonObject, PlainSerializer(in_json, when_used="json")]
Settings = Annotated[Json, Field(max_length=50)]

EMAIL = "email"
WEBHOOK = "webhook"
ADAPTERS = (EMAIL, WEBHOOK)


def _address(text: str) -> str:
    parsed(text)
    return text


def _file(name: str) -> str:
    if not name.isprintable() or any(sign in name for sign in "*?[]"):
        raise ValueError("use the name of one file, without * ? [ ] and without control characters")
    return name


def _text(query: str) -> str:
    if not query.translate({ord(space): " " for space in "\t\r\n"}).isprintable():
        raise ValueError("remove the control characters")
    return query


TimeZone = Annotated[str, Field(max_length=64, examples=["Europe/Rome"]), AfterValidator(check_time_zone)]
Cron = Annotated[str, Field(max_length=100, examples=["0 2 * * *"]), AfterValidator(check_cron)]
Address = Annotated[str, Field(max_length=2_000, examples=["https://models.example.org/propensity"])]
Web = Annotated[Address, AfterValidator(_address)]
File = Annotated[str, Field(min_length=1, max_length=200, examples=["customers.csv"]), AfterValidator(_file)]
Sql = Annotated[Said, Field(max_length=10_000), AfterValidator(_text)]


# Headers that a request has anyway, or that control how it is sent.
_OWN_HEADERS = frozenset(
    {"connection", "content-length", "content-type", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)


def _header(name: str) -> str:
    if name.lower() in _OWN_HEADERS or name.lower().startswith(("webhook-", "proxy-")):
        raise ValueError(f"{name} cannot be used as a header for credentials")
    return name


_HEADER = matching(
    r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$", "use the name of a header: 1 to 64 letters, digits and -, without spaces"
)
HeaderName = Annotated[str, Field(pattern=_HEADER), AfterValidator(_header)]
# By header: the name of a credential in the settings; a program never has its value.
CredentialHeaders = dict[HeaderName, Name]


_WORKGROUP = matching(r"^[a-zA-Z0-9._-]{1,128}$", "use the name of a workgroup: 1 to 128 letters, digits and . _ -")
_LOCATION = matching(r"^s3://.+", "use a location in S3: s3://bucket/prefix")


class Part(BaseModel):
    """A part of a configuration, with the stored names; unknown fields are refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class _Source(Part):
    """A query whose rows are customers; the other columns are their attributes."""

    query: Sql = Field(examples=["SELECT * FROM customers WHERE age >= 18"])
    customer_column: Column = Field(default="customer_id", description="the column that names the customer")
    subject_type_column: Column | None = Field(
        default=None, description="the columns that name the subject; if omitted, it is the program itself"
    )
    subject_id_column: Column | None = None
    schedule: Cron | None = Field(default=None, description="the same as the program's batchSchedule, or omitted")

    @model_validator(mode="after")
    def _both_or_none(self) -> _Source:
        if (self.subject_type_column is None) != (self.subject_id_column is None):
            raise ValueError("set both subjectTypeColumn and subjectIdColumn, or neither")
        return self


class FilesConnector(_Source):
    """SQL over CSV and Parquet files in the folder of sources."""

    type: Literal["files"]
    tables: dict[Column, File] = Field(
        min_length=1,
        max_length=20,
        description="tables of the query, and the file of each",
        examples=[{"customers": "customers.csv"}],
    )


class AthenaConnector(_Source):
    """Amazon Athena."""

    type: Literal["athena"]
    database: str | None = Field(default=None, min_length=1, max_length=255)
    catalog: str | None = Field(default=None, min_length=1, max_length=255)
    workgroup: str | None = Field(default=None, pattern=_WORKGROUP)
    output_location: str | None = Field(default=None, max_length=1_000, pattern=_LOCATION)


Connector = Annotated[FilesConnector | AthenaConnector, Field(discriminator="type")]


class ScoringModel(Part):
    """A model: the registered function of its name, or an endpoint."""

    model_config = ConfigDict(protected_namespaces=())

    model_id: Name = Field(examples=["propensity-v1"])
    endpoint: Web | None = Field(default=None, description="if omitted, the registered function of this name")
    headers: CredentialHeaders = Field(
        default_factory=dict,
        max_length=5,
        description="headers for the endpoint, each with the name of a credential in the setting outbound_credentials",
        examples=[{"Authorization": "models"}],
    )
    weight: Number = Field(gt=0, le=1_000, max_digits=12, examples=[0.7])
    minimum: Number = Field(default=Decimal(0), ge=-(10**12), le=10**12, max_digits=24, description="its lowest score")
    maximum: Number = Field(default=Decimal(1), ge=-(10**12), le=10**12, max_digits=24, description="its highest score")
    timeout_seconds: float = Field(default=5, ge=0.05, le=30)
    batch_size: int = Field(default=100, ge=1, le=1_000)
    cache_hours: float = Field(default=24, ge=24, le=48, description="how long its scores are valid")

    @model_validator(mode="after")
    def _in_order(self) -> ScoringModel:
        if self.minimum >= self.maximum:
            raise ValueError("minimum must be less than maximum")
        if self.headers and self.endpoint is None:
            raise ValueError("headers need an endpoint: set one, or omit them")
        return self


class FilterChain(Part):
    """Filters in order, and the settings of those that take any."""

    filters: list[Name] = Field(
        default_factory=list, max_length=20, json_schema_extra=UNIQUE, examples=[["frequency", "preference"]]
    )
    settings: dict[Name, Settings] = Field(default_factory=dict, max_length=20)

    @model_validator(mode="after")
    def _belongs(self) -> FilterChain:
        _once("filters", self.filters)
        for name in self.settings:
            if name not in self.filters:
                raise ValueError(f"settings for {name}, which is not one of the filters")
        return self


class Channel(Part):
    """A way to reach customers. ``email`` and ``webhook`` are delivered, and others that name one of these as adapter.

    The candidates of any other channel stay in lists, for other programs to deliver.
    """

    channel_id: Name = Field(examples=["email"])
    priority: int = Field(ge=1, le=1_000, description="the lowest number goes first")
    adapter: Literal["email", "webhook"] | None = None
    limit_per_day: int | None = Field(default=None, ge=1, le=1_000_000, description="maximum deliveries per day")
    config: Settings = Field(default_factory=dict)

    @property
    def carried_by(self) -> str | None:
        return self.adapter or (self.channel_id if self.channel_id in ADAPTERS else None)


class Configuration(Part):
    """All settings of a program."""

    program_name: Said = Field(max_length=200, examples=["Retail Customer Engagement"])
    enabled: bool = True
    data_connectors: list[Connector] = Field(default_factory=list, max_length=10)
    scoring_models: list[ScoringModel] = Field(min_length=1, max_length=10)
    filter_chain: FilterChain = Field(default_factory=FilterChain)
    channels: list[Channel] = Field(min_length=1, max_length=10)
    batch_schedule: Cron | None = Field(default=None, description="when batch runs start")
    delivery_schedule: Cron | None = Field(default=None, description="when candidates are delivered")
    time_zone: TimeZone = "UTC"
    reactive_enabled: bool = False
    candidate_ttl_days: int = Field(default=30, ge=1, le=365, alias="candidateTTLDays")
    event_attributes: list[Column] = Field(
        default_factory=list,
        max_length=50,
        description="attributes of events that no data connector has; texts may use them",
        examples=[["cart_total"]],
    )
    max_failed_share: Number = Field(
        default=Decimal("0.5"),
        ge=0,
        le=1,
        max_digits=6,
        description="a run fails if a larger share of its customers fails",
    )

    @model_validator(mode="after")
    def _fits(self) -> Configuration:
        _once("scoringModels", [model.model_id for model in self.scoring_models])
        _once("channels", [channel.channel_id for channel in self.channels])
        for connector in self.data_connectors:
            if connector.schedule not in (None, self.batch_schedule):
                raise ValueError("the connectors of a program are read together: use the batchSchedule of the program")
        if self.batch_schedule is not None and not self.data_connectors:
            raise ValueError("a program that runs on a schedule needs a data connector")
        return self

    @property
    def by_priority(self) -> list[Channel]:
        return sorted(self.channels, key=lambda channel: (channel.priority, channel.channel_id))

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


def _once(where: str, names: list[str]) -> None:
    twice = sorted(name for name, number in Counter(names).items() if number > 1)
    if twice:
        raise ValueError(f"{where}: {', '.join(twice)} occurs twice")
