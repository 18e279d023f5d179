"""Keys in the environment and a region need no botocore; whatever else there is, botocore is asked. Both agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import botocore.session
import pytest

from tablewright.dynamo.credentials import environment_credentials
from tablewright.store.backends.aws_access import AwsAccess
from tablewright.store.backends.plain_access import DYNAMODB, STREAMS, plain_access

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAONE", "AWS_SECRET_ACCESS_KEY": "secret"}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment of a function: keys, and what Lambda sets."""
    for name in list(os.environ):
        if name.upper().startswith("AWS_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    lambda_variables = {
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_FUNCTION_NAME": "api",
        "AWS_XRAY_DAEMON_ADDRESS": "169.254.100.1:2000",
    }
    for name, value in {**KEYS, **lambda_variables, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-2", "ap-southeast-5", "mx-central-1", "il-central-1"])
@pytest.mark.parametrize("service", [DYNAMODB, STREAMS])
@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:8000", "https://alternator.example.org"])
def test_it_says_what_botocore_says(
    monkeypatch: pytest.MonkeyPatch, region: str, service: str, endpoint: str | None
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    found = plain_access(region, endpoint, {})
    assert found is not None
    session = botocore.session.Session()
    theirs = session.get_credentials().get_frozen_credentials()
    assert found.credentials == (type(found.credentials)(theirs.access_key, theirs.secret_key, theirs.token))
    client = session.create_client(service, region_name=region, endpoint_url=endpoint)
    signed = urlsplit(client.generate_presigned_url("list_tables" if service == DYNAMODB else "list_streams"))
    assert found.address(service) == f"{signed.scheme}://{signed.netloc}"
    assert (signed.path or "/") == "/"
    assert parse_qs(signed.query)["X-Amz-Credential"][0].split("/")[2] == found.region


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_PROFILE", "other"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1"),
        ("AWS_USE_FIPS_ENDPOINT", "true"),
        ("AWS_USE_DUALSTACK_ENDPOINT", "true"),
        ("AWS_ACCOUNT_ID", "123456789012"),
        ("AWS_CREDENTIAL_EXPIRATION", "2030-01-01T00:00:00Z"),
        ("AWS_CA_BUNDLE", "there-is-no.pem"),
        ("AWS_CONFIG_FILE", "config"),
        ("AWS_A_VARIABLE_OF_NEXT_YEAR", "1"),
        ("https_proxy", "http://127.0.0.1:1"),
        ("ALL_PROXY", "http://127.0.0.1:1"),
    ],
)
def test_what_may_change_the_answer_is_left_to_botocore(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    assert plain_access("eu-west-1", None, {}) is not None
    monkeypatch.setenv(name, value)
    assert plain_access("eu-west-1", None, {}) is None
    assert environment_credentials() is None


@pytest.mark.parametrize(
    ("region", "endpoint", "options"),
    [
        (None, None, {}),
        ("cn-north-1", None, {}),
        ("us-gov-west-1", None, {}),
        ("us-iso-east-1", None, {}),
        ("local", None, {}),
        ("eu-west-1", "http://127.0.0.1:8000/base", {}),
        ("eu-west-1", "http://127.0.0.1:8000/", {}),
        ("eu-west-1", "http://user@127.0.0.1:8000", {}),
        ("eu-west-1", "http://127.0.0.1:none", {}),
        ("eu-west-1", None, {"profile_name": "other"}),
        ("eu-west-1", None, {"aws_access_key_id": "AKIATWO"}),
        ("eu-west-1", None, {"use_ssl": False}),
    ],
)
def test_a_configuration_that_is_not_plain_is_left_to_botocore(
    region: str | None, endpoint: str | None, options: dict[str, object]
) -> None:
    assert plain_access(region, endpoint, options) is None


@pytest.mark.parametrize("name", ["config", "credentials"])
def test_files_of_the_aws_cli_are_left_to_botocore(tmp_path: Path, name: str) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / name).write_text("[default]\nregion = eu-west-1\n")
    assert plain_access("eu-west-1", None, {}) is None


def test_without_keys_botocore_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "")
    assert plain_access("eu-west-1", None, {}) is None


def test_a_table_that_is_named_by_its_arn_goes_where_botocore_sends_it() -> None:
    access = AwsAccess("eu-west-1", None, {})
    arn = "arn:aws:dynamodb:eu-west-1:222222222222:table/Rows"
    assert access.load(DYNAMODB, "").destination.host == "dynamodb.eu-west-1.amazonaws.com"
    assert access.load(DYNAMODB, arn).destination.host == "222222222222.ddb.eu-west-1.amazonaws.com"


def test_keys_of_the_environment_that_were_replaced_are_taken_when_the_service_rejects_the_old_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access = AwsAccess("eu-west-1", None, {})
    old = access.load(DYNAMODB, "").credentials
    assert access.load_renewed(DYNAMODB, "", old) is None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATWO")
    renewed = access.load_renewed(DYNAMODB, "", old)
    assert renewed is not None
    assert renewed.credentials.access_key == "AKIATWO"


def test_botocore_is_not_imported() -> None:
    program = (
        "import sys\n"
        "from tablewright.store.backends.aws_access import AwsAccess\n"
        "signer = AwsAccess('eu-west-1', None, {}).load('dynamodb', '')\n"
        "assert signer.destination.tls is not None\n"
        "sys.exit(' '.join(name for name in sys.modules if name.partition('.')[0] == 'botocore'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip() == ""
