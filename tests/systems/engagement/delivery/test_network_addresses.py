"""Addresses of models and webhooks: how they are written, and that none leads into this network."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tablewright.systems.engagement.configuration import ScoringModel
from tablewright.systems.engagement.delivery.channels import WebhookAdapter
from tablewright.systems.engagement.delivery.deliveries import Cause, Deliveries
from tablewright.systems.engagement.delivery.network_addresses import is_public, parsed
from tablewright.systems.engagement.delivery.outbound_http import Outbound, Refusal
from tablewright.systems.engagement.model import RunState, Subject
from tablewright.systems.engagement.scoring.pipeline import Pipeline, Plan
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.scores import Scorer
from tests.systems.engagement.engagement_fixtures import Workshop, new_id, program, write
from tests.systems.engagement.web import Web
from tests.systems.harness import Served

WRONG = [
    ("http://a:99999/", "port"),
    ("http://a:b/", "port"),
    ("http://a:0/", "port"),
    ("http://a.org/\r\nX-Injected: 1", "ASCII without spaces"),
    ("http://a.org/\nx", "ASCII without spaces"),
    ("http://a.org/\x00", "ASCII without spaces"),
    ("http://a.org/a b", "ASCII without spaces"),
    ("http://münchen.example/", "xn--"),
    ("http://example.org/ü", "ASCII"),
    ("http://[::1", "host"),
    ("http://[1.2.3.4]/", "host"),
    ("http://[fe80::1%25eth0]/", "host"),
    ("http://a..b/", "host"),
    ("http://-a.org/", "host"),
    ("http://a\\b/", "host"),
    ("http://a%2eb/", "host"),
    (f"http://{'a' * 64}.org/", "host"),
    (f"http://{'a.' * 130}org/", "host"),
    ("http://@a.org/", "password"),
    ("http://user:secret@a.org/", "password"),
    ("http:///path", "http://"),
    ("ftp://a.org/", "http://"),
]


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(("url", "told"), WRONG)
def test_an_invalid_address_is_refused_with_its_field(served: Served, admin: httpx.Client, url: str, told: str) -> None:
    models = [{"modelId": "m", "weight": 1, "endpoint": url}]
    channels = [{"channelId": "webhook", "priority": 1, "config": {"url": url}}]
    changes: list[tuple[dict[str, Any], str]] = [
        ({"scoringModels": models}, "endpoint"),
        ({"channels": channels}, "url"),
    ]
    for change, field in changes:
        answer = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=program(**change))
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-request"), answer.text
        assert field in answer.json()["detail"]
        assert told in answer.json()["detail"]


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://Models.Example.org/score?x=1#y", "models.example.org", 443),
        ("http://xn--mnchen-3ya.example:8080/", "xn--mnchen-3ya.example", 8080),
        ("http://[2606:4700::1111]:81/", "2606:4700::1111", 81),
        ("http://model_1.internal/", "model_1.internal", 80),
    ],
)
def test_a_valid_address_has_a_host_and_a_port(url: str, host: str, port: int) -> None:
    assert (parsed(url).host, parsed(url).port) == (host, port)


PRIVATE = [
    "127.0.0.1",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "240.0.0.1",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "2002:7f00:1::",
    "2002:a00:1::5",
    "2001:0:7f00:1::",
    "2001:0:808:808::f5ff:fffe",
    "2606:4700::5efe:10.0.0.1",
    "2606:4700::200:5efe:10.0.0.1",
    "fe80::1%eth0",
    "fc00::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "100::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_this_network_or_around_one_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "3fff:1000::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.requirement("CE6")
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "[::1]",
        "[64:ff9b::7f00:1]",
        "[::127.0.0.1]",
    ],
)
def test_an_address_written_as_a_number_is_refused_before_it_is_called(
    served: Served, admin: httpx.Client, host: str
) -> None:
    outbound = Outbound()
    with pytest.raises(Refusal, match="it is an internal address"):
        outbound.check(f"http://{host}:9/")
    outbound.close()
    channel = {"channelId": "webhook", "priority": 1, "config": {"url": f"http://{host}:9/"}}
    answer = admin.put(f"/programs/{new_id('p')}/marketplaces/US", json=program(channels=[channel]))
    assert answer.status_code == 422
    assert "it is an internal address" in answer.json()["detail"]


@pytest.mark.requirement("CE8")
def test_an_endpoint_that_cannot_be_called_is_its_customers_error_and_no_more(workshop: Workshop) -> None:
    """As one that was stored before such an address was refused: no run ends by it."""
    stored = ScoringModel.model_validate({"modelId": "remote", "weight": 1}).model_dump()
    configuration = workshop.put(program()).configuration
    prospects = [Prospect(name, Subject(type="t", id="1"), {}) for name in ("a", "b")]
    for url in ("http://münchen.example/", "http://a:99999/", "http://a\r\nb/", f"http://{'a' * 64}.org/", "x"):
        model = ScoringModel.model_construct(**{**stored, "endpoint": url})
        plan = Plan("p", "US", configuration.model_copy(update={"scoring_models": [model]}))
        errors = [each.error or "" for each in workshop.pipeline().assess(plan, prospects)]
        assert [error.startswith(("remote: use ", "remote: the ")) for error in errors] == [True, True], errors


@pytest.mark.requirement("CE8")
def test_whatever_goes_wrong_with_asking_is_its_customers_error(workshop: Workshop) -> None:
    def broken(*_: Any, **__: Any) -> list[Any]:
        raise TypeError("what nobody foresaw")

    configuration = workshop.put(program(scoringModels=[{"modelId": "m", "weight": 1, "endpoint": "https://a.org/"}]))
    pipeline = Pipeline(workshop.store, Scorer(workshop.store, broken, workshop.clock), workshop.clock)
    plan = Plan("p", "US", configuration.configuration)
    (found,) = pipeline.assess(plan, [Prospect("a", Subject(type="t", id="1"), {})])
    assert found.error == "m: internal error while calling it: TypeError"


@pytest.mark.requirement("CE10")
def test_a_webhook_that_cannot_be_called_holds_up_its_channel_and_no_other(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [("a", 1, "IT", 1)])
    with Web(lambda asked: (200, b"")) as web:
        channels = [
            {"channelId": "odd", "priority": 1, "adapter": "webhook", "config": {"url": "http://münchen.example/"}},
            {"channelId": "good", "priority": 2, "adapter": "webhook", "config": {"url": web.url}},
        ]
        made = workshop.put(program(channels=channels))
        assert workshop.run(made).state is RunState.COMPLETED
        adapter = WebhookAdapter(workshop.outbound, b"secret", workshop.seconds)
        summary = Deliveries(workshop.store, {"webhook": adapter}, workshop.clock).deliver(made)
    assert (summary.sent, summary.refused) == (1, 0)
    assert {name: each.cause for name, each in summary.held_up.items()} == {"odd": Cause.POLICY}
    assert len(web.asked) == 1
