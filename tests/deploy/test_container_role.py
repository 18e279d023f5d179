"""Each system runs in a container with the role of its stack, what its administrators do included."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablewright.design.infra import Deployment, requests
from tablewright.engine import Engine
from tablewright.systems import NAMES, load
from tablewright.wire import serve_in_thread
from tests.deploy.deployed import ENVIRONMENT, policy_of_role
from tests.deploy.stacks import needs, stack
from tests.policy_proxy import REGION, PolicyProxy
from tests.systems.harness import serving
from tests.systems.policy_stories import STORIES, administration, personal_data

KEY = "AKIACONTAINER"


@pytest.mark.requirement("SH1", "SH3", "AP9", "AP10")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "engagement" else name for name in NAMES]
)
def test_a_container_does_everything_with_its_role(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with Engine.open() as engine, serve_in_thread(engine) as url, PolicyProxy(url) as proxy:
        for request in requests(needs(name).design, Deployment(environment=ENVIRONMENT)):
            engine.call(request.operation, request.body)
        proxy.attach(KEY, policy_of_role(stack(name, container=True).template, "ContainerRole"))
        settings = {"data": tmp_path, "endpoint": proxy.url, "region": REGION, "environment": ENVIRONMENT}
        with serving(load(name), batch_window=0, **settings) as served:
            assert served.client().get("/readyz").json() == {"status": "ready", "failing": {}}
            administration(served)
            STORIES[name](served)
            personal_data(served, "nina")
            assert served.client().get("/readyz").json() == {"status": "ready", "failing": {}}
        assert proxy.denied == []
