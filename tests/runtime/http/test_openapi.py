"""Every answer is one that the description tells of, whatever is sent, and none is an accident of ours."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tablewright.systems import NAMES, load
from tests.systems.harness import serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def explore(name: str, examples: int) -> None:
    systems = load(name)
    everything = [role.name for system in systems for role in system.roles]
    with serving(systems, memory=True) as served:
        headers = {"Authorization": f"Bearer {served.token('everybody', *everything, email='all@example.org')}"}
        url = f"{served.url}/{name}/openapi.json"
        schema = schemathesis.openapi.from_url(url, config=SchemathesisConfig())
        operations: list[Any] = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
        assert operations
        for operation in operations:

            @given(case=operation.as_strategy())
            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.explicit, Phase.generate],
            )
            def check(case: Case[Any]) -> None:
                # A stream of events does not end by itself.
                if case.path.endswith("/live"):
                    return
                case.call_and_validate(headers=headers, checks=CHECKS, timeout=10)

            check()


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_sent_the_answer_is_in_the_description(name: str) -> None:
    explore(name, examples=12)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_sent_the_answer_is_in_the_description_at_length(name: str) -> None:
    explore(name, examples=250)
