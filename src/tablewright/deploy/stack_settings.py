"""Settings that a deployer gives to the programs of a stack; they become variables of its functions and containers.

The values of settings that are secret stay out of templates: they refer to a secret of Secrets Manager, which
CloudFormation resolves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError

from tablewright.design import DesignError
from tablewright.runtime import Settings, SettingsError
from tablewright.runtime.settings import PREFIX

__all__ = ["setting_variables"]

# What follows from the stack and its parameters, or is for other ways to run.
_OF_STACK = frozenset(
    {
        "audience",
        "aws_endpoint",
        "blob_bucket",
        "consumer_profile",
        "data",
        "endpoint",
        "environment",
        "event_bus",
        "host",
        "issuer",
        "keep_alive",
        "mail_from",
        "maintenance_profile",
        "master_secret",
        "memory",
        "mode",
        "port",
        "public_url",
        "region",
        "relocate_to",
        "ses",
        "ses_configuration_set",
        "table_prefix",
    }
)
# What would have no effect in a stack, or not the one that is wanted, and why.
_USELESS = {
    "client_secret": "the client that the stack makes has no secret",
    "ensure_tables": "CloudFormation makes and changes the tables of a stack",
    "mail_folder": "nobody reads a folder in a function or a container",
    "sources": "functions and containers have no files that connectors could read",
    "training_export": "nobody reads a folder in a function or a container; run the export elsewhere, on these tables",
}
_OF_MAIL = dict.fromkeys(("smtp_url", "smtp_verify"), "the stack sends mail through Amazon SES")
# In functions only.
_OF_PROCESSES = {
    "batch_window": "Lambda collects the changes for a function, as long as the template says",
    **dict.fromkeys(
        ("session_hours", "session_secret", "sign_in_scopes"),
        "people sign in to the screens of the applications, which need --container",
    ),
}
_REFERENCE = re.compile(r"\{\{resolve:secretsmanager:[^{}]+\}\}")


def setting_variables(given: Mapping[str, str], *, container: bool, sends_mail: bool) -> dict[str, str]:
    """The variables of settings, by the names of the settings; DesignError if one cannot be given."""
    useless = {**_USELESS, **(_OF_MAIL if sends_mail else {}), **({} if container else _OF_PROCESSES)}
    for name in given:
        if name in _OF_STACK:
            raise DesignError(f"the setting {name} follows from the stack and its parameters, and cannot be given")
        if name in useless:
            raise DesignError(
                f"the setting {name} would have no effect: {useless[name]}; leave it out, or remove it with --setting "
                f"{name}="
            )
    variables = {f"{PREFIX}{name.upper()}": value for name, value in given.items()}
    try:
        settings = Settings.of_variables(variables)
    except SettingsError as error:
        raise DesignError(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise DesignError(f"the setting {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    for name in given:
        if any(not _REFERENCE.fullmatch(secret) for secret in _secrets(getattr(settings, name))):
            raise DesignError(
                f"the setting {name} is secret, and a template is not: store it in Secrets Manager, and refer to it as "
                "{{resolve:secretsmanager:NAME}} or {{resolve:secretsmanager:NAME:SecretString:KEY}}"
            )
    return variables


def _secrets(value: Any) -> Iterator[str]:
    """What must not be read in a setting."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _secrets(each)
