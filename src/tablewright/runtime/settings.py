"""Settings, from the environment and a file, and the secrets of a data folder.

    TABLEWRIGHT_DATA=./data          where the embedded engine stores everything
    TABLEWRIGHT_ENDPOINT=http://...  or the endpoint of a DynamoDB (TABLEWRIGHT_REGION alone: Amazon's)

``tablewright.toml`` in the working folder (or the file that ``TABLEWRIGHT_CONFIG`` names) has the same names in lower
case, without the prefix; the environment overrides it. Secrets that are not set are generated once and kept in the
data folder, in a file that only its owner can read.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from tablewright.design import table_name
from tablewright.engine import METER_VARIABLE
from tablewright.model import Table
from tablewright.runtime.identity.access import is_role_name

# What other packages use.
__all__ = [
    "CONFIG",
    "PREFIX",
    "Credential",
    "Secrets",
]

PREFIX = "TABLEWRIGHT_"
CONFIG = "tablewright.toml"
_SECRETS = "secrets.json"
# Variables of functions: the system, the consumer or schedule, and where the secret is.
FUNCTION_VARIABLES = (f"{PREFIX}SYSTEM", f"{PREFIX}WORK", f"{PREFIX}SECRET_ID")
# Variables that are no settings: the file to read, where the engine's meter writes to, and those of functions.
_OTHER_VARIABLES = (f"{PREFIX}CONFIG", METER_VARIABLE, *FUNCTION_VARIABLES)


class SettingsError(Exception):
    """Invalid or incomplete settings; the message says what to set."""


class Credential(BaseModel):
    """A secret that is sent in a header to one host."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(min_length=1, max_length=300, description="models.example.org, *.example.org, 127.0.0.1:9000")
    value: SecretStr

    @field_validator("value")
    @classmethod
    def _plain(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not (0 < len(text) <= 8_000 and text.isascii() and text.isprintable() and text == text.strip()):
            raise ValueError("the value of a header must be plain text on one line, without spaces around it")
        return value


class Settings(BaseModel):
    """The settings of a process; ``tablewright config`` prints them.

    ``Settings()`` reads the environment and the file; arguments override both: ``Settings(memory=True)``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    mode: Literal["development", "production"] = Field(
        "development", description="development has a built-in token issuer, production has none"
    )
    # -- where data is kept
    data: Path = Field(Path("data"), description="data folder of the embedded engine and of local secrets")
    memory: bool = Field(False, description="keep the embedded engine's data in memory")
    endpoint: str | None = Field(None, description="DynamoDB endpoint to use instead of the embedded engine")
    region: str | None = Field(
        None, description="region of the endpoint; without an endpoint: Amazon DynamoDB in this region"
    )
    relocate_to: str | None = Field(
        None,
        pattern=r"^(https?://\S+|aws(:[a-z0-9-]+)?)$",
        description=(
            "where the tables are being relocated to from the endpoint: an address, aws, or aws:eu-west-1; requests go "
            "there after `tablewright relocate cut`"
        ),
    )
    environment: str | None = Field(
        None,
        max_length=100,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="the environment in table names, as in `tablewright infra --environment`",
    )
    table_prefix: str = Field("", max_length=100, pattern=r"^[a-zA-Z0-9_.-]*$", description="prefix of table names")
    ensure_tables: bool = Field(
        False,
        description=(
            "compare the tables of an endpoint with the design at start, and add what is missing (always done for the "
            "embedded engine)"
        ),
    )
    consumer_profile: str | None = Field(
        None, description="AWS profile with the credentials of consumers (default: those of the process)"
    )
    maintenance_profile: str | None = Field(
        None, description="AWS profile with the credentials of maintenance jobs (default: those of the process)"
    )
    blob_bucket: str | None = Field(None, description="S3 bucket for large attributes (default: a folder)")
    aws_endpoint: str | None = Field(None, description="endpoint of other AWS services: S3, SES, EventBridge")
    # -- HTTP
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0 for any free one")
    public_url: str | None = Field(
        None,
        max_length=500,
        pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$",
        description="public address of the systems, such as https://hub.example.org, for links in mail",
    )
    cors_origins: list[str] = Field(
        default_factory=list, description="origins that browsers may call from (CORS), separated by commas"
    )
    max_body: int = Field(1_000_000, ge=1_000, le=50_000_000, description="largest request body, in bytes")
    keep_alive: int = Field(
        5,
        ge=1,
        le=4000,
        description="seconds that a connection is kept open between requests; more than a load balancer keeps it",
    )
    rate_limit: float = Field(200.0, gt=0, description="requests per second that a caller may send on average")
    rate_burst: int = Field(400, ge=1, description="requests that a caller may send at once")
    # -- identity
    issuer: str | None = Field(None, description="issuer of tokens, such as a Cognito user pool")
    audience: str | None = Field(None, description="client id that tokens are issued for")
    jwks_url: str | None = Field(None, description="URL of the issuer's keys (default: from its discovery document)")
    roles: dict[str, list[str]] = Field(
        default_factory=dict, description="roles (such as tasks:Admins) for the issuer's groups and scopes, by name"
    )
    client_secret: SecretStr | None = Field(
        None, description="client secret for signing in to the applications, if the issuer gave the client one"
    )
    sign_in_scopes: str = Field(
        "openid email profile",
        max_length=500,
        pattern=r"^openid( [\x21\x23-\x5b\x5d-\x7e]+)*$",
        description="scopes that are requested at sign-in",
    )
    groups_claim: str = Field(
        "cognito:groups", min_length=1, max_length=200, description="the token claim that holds the groups"
    )
    session_hours: float = Field(
        8.0, gt=0, le=24 * 30, description="hours after which people have to sign in to the applications again"
    )
    # -- streams, events and mail
    batch_window: float = Field(
        5.0, ge=0, le=300, description="seconds for which changes are batched for the metrics of Support"
    )
    training_export: Path | None = Field(
        None, description="folder that tickets of Support are exported to for training"
    )
    event_bus: str | None = Field(None, description="EventBridge bus that events are forwarded to")
    smtp_url: SecretStr | None = Field(
        None, description="smtp://user:password@host:port or smtps://...; without it mail goes to a folder"
    )
    smtp_verify: bool = Field(True, description="verify the certificate of the mail server")
    ses: bool = Field(False, description="send mail through Amazon SES")
    ses_configuration_set: str | None = Field(
        None, max_length=64, pattern=r"^[A-Za-z0-9_-]+$", description="configuration set of SES that mail is sent with"
    )
    mail_from: str = Field("tablewright@localhost", max_length=320, description="sender of mail")
    mail_language: Literal["en", "it"] = Field("en", description="default language of invitations: `en` or `it`")
    mail_folder: Path | None = Field(None, description="folder of .eml files (default: mail in the data folder)")
    # -- what engagement reads, calls and is extended by
    sources: Path | None = Field(None, description="folder of the files that data connectors read (default: sources)")
    source_seconds: float = Field(
        900.0, gt=0, le=86_400, description="seconds that a data connector's query may take until its next rows"
    )
    outage_seconds: float = Field(
        300.0,
        ge=0,
        le=86_400,
        description="seconds that a run waits for an unavailable model before it is paused",
    )
    outbound_hosts: list[str] = Field(
        default_factory=list, description="hosts that models and webhooks may use (default: any public host)"
    )
    outbound_credentials: dict[str, Credential] = Field(
        default_factory=dict,
        description=("credentials that are sent to models and webhooks in headers, by name: host and value"),
    )
    extensions: list[str] = Field(
        default_factory=list, description="modules to import at start-up, to register models and filters"
    )
    caller_country: str | None = Field(
        None,
        pattern="^[A-Z]{2}$",
        description="country of phone numbers without a country code, such as IT (default: none is assumed)",
    )
    hash_caller_emails: bool = Field(False, description="store e-mail addresses of callers as keyed hashes too")
    # -- secrets; those that are not set are generated and kept in the data folder
    master_secret: SecretStr | None = Field(
        None, min_length=32, description="secret from which those below are derived, if they are not set"
    )
    cursor_secret: SecretStr | None = Field(None, description="signs cursors")
    privacy_secret: SecretStr | None = Field(None, description="key for hashes of phone numbers")
    session_secret: SecretStr | None = Field(None, description="signs the cookies of signed-in users")
    webhook_secret: SecretStr | None = Field(None, description="signs webhooks")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="minimum level that is logged")

    def __init__(self, **given: Any) -> None:
        super().__init__(**_merged(_merged(_from_file(), _from_variables(type(self), os.environ)), given))

    @classmethod
    def of_variables(cls, variables: Mapping[str, str]) -> Settings:
        """The settings of another process, which has these variables; nothing is read from this one."""
        made = cls.__new__(cls)
        BaseModel.__init__(made, **_from_variables(cls, variables))
        return made

    @field_validator("cors_origins", "outbound_hosts", "extensions", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("roles")
    @classmethod
    def _name_roles(cls, value: dict[str, list[str]]) -> dict[str, list[str]]:
        for role in (role for roles in value.values() for role in roles):
            if not is_role_name(role):
                raise ValueError(f"{role} is not a role: a role is system:Role, such as tasks:Admins")
        return value

    @model_validator(mode="after")
    def _safe_links(self) -> Settings:
        if self.mode == "production" and (self.public_url or "https:").startswith("http:"):
            raise ValueError("public_url: customers need https:// to unsubscribe with one click (RFC 8058)")
        return self

    @field_validator("data", "training_export", "mail_folder", "sources")
    @classmethod
    def _expand(cls, value: Path | None) -> Path | None:
        """``~`` is the home folder, for all that is kept there: shells do not expand it in every place."""
        try:
            return None if value is None else value.expanduser()
        except RuntimeError as error:  # ~user, and there is no such user
            raise ValueError(f"cannot use {value}: {error}") from None

    @model_validator(mode="before")
    @classmethod
    def _know(cls, given: Any) -> Any:
        """Refuse names that no setting has: a setting with a typing error would have no effect."""
        for name in given:
            _check_name(cls, name, name, str)
        return given

    def name_of(self, table: Table) -> str:
        """The name of a table in this environment."""
        return self.table_prefix + table_name(table, self.environment)

    @property
    def is_embedded(self) -> bool:
        return self.endpoint is None and self.region is None


def _from_file() -> dict[str, Any]:
    named = os.environ.get(f"{PREFIX}CONFIG")
    if named is not None and not Path(named).is_file():
        raise SettingsError(f"{PREFIX}CONFIG names {named}, which is not a file")
    file = Path(named or CONFIG)
    if not file.is_file():
        return {}
    import tomllib

    return tomllib.loads(file.read_text("utf-8"))


def _from_variables(settings: type[Settings], variables: Mapping[str, str]) -> dict[str, Any]:
    """Variables, read without regard to case. A setting that is a dictionary is written as JSON."""
    found: dict[str, Any] = {}
    for variable, text in variables.items():
        if not variable.upper().startswith(PREFIX) or variable.upper() in _OTHER_VARIABLES:
            continue
        name = variable.upper().removeprefix(PREFIX).lower()
        _check_name(settings, variable, name, lambda near: f"{PREFIX}{near.upper()}")
        try:
            found[name] = json.loads(text) if settings.model_fields[name].default_factory is dict else text
        except ValueError as error:
            raise SettingsError(f"{variable} is not valid JSON: {error}") from None
    return found


def _check_name(settings: type[Settings], shown: str, name: str, spelled: Callable[[str], str]) -> None:
    if name not in settings.model_fields:
        import difflib

        near = difflib.get_close_matches(name, settings.model_fields, 1)
        advice = f"did you mean {spelled(near[0])}?" if near else "`tablewright config` prints all of them"
        raise SettingsError(f"there is no setting {shown}; {advice}")


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of two places; dictionaries are merged name by name."""
    merged = dict(under)
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


class Secrets:
    """Generated secrets, kept in a file that only its owner can read.

    If two processes generate the same secret at once, both get the one that is stored.
    """

    def __init__(self, folder: Path | None) -> None:
        """Without a folder, secrets last as long as the process."""
        self._path = None if folder is None else folder / _SECRETS
        self._known: dict[str, str] = {} if self._path is None else _kept(self._path)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def get(self, name: str, make: Any = lambda: secrets.token_hex(32)) -> str:
        """A secret by name, generated if there is none yet."""
        if name not in self._known:
            if self._path is None:
                self._known[name] = make()
            else:
                self._make(self._path, name, make)
        return self._known[name]

    def _make(self, path: Path, name: str, make: Any) -> None:
        # A data folder is for its owner only, mail included.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path.parent) as folder:
            self._known = _kept(path)
            if name in self._known:
                return
            made = {**self._known, name: make()}
            draft = path.with_suffix(".draft")
            draft.unlink(missing_ok=True)
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(made, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            # A key that was used must not be gone after a power cut.
            os.fsync(folder)
            self._known = made


def _kept(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text("utf-8"))
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or not all(isinstance(value, str) for value in kept.values()):
        raise SettingsError(f"{path} is damaged; restore it from a backup, as tokens and hashes depend on it")
    return kept


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """The folder, locked against other processes; a lock ends with its process."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)
