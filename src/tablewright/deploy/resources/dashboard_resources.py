"""The dashboard: requests and errors, consumers and how late they are, consumption beside the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tablewright.deploy.resources.queue_resources import FAILURES
from tablewright.deploy.stack_template import Stack, ref, sub
from tablewright.design.cost import CostPlan
from tablewright.design.infra import TableTemplate

__all__ = ["add_dashboard"]

_WIDTH, _HEIGHT, _COLUMNS = 8, 6, 3
_PERIOD = 60

Series = list[Any]


def add_dashboard(
    stack: Stack, tables: TableTemplate, plan: CostPlan | None, functions: Sequence[str], *, has_api: bool
) -> None:
    widgets = [*_widgets(stack, tables, plan, functions, has_api)]
    placed = [
        {
            "type": "metric",
            "x": number % _COLUMNS * _WIDTH,
            "y": number // _COLUMNS * _HEIGHT,
            "width": _WIDTH,
            "height": _HEIGHT,
            "properties": {"region": "${AWS::Region}", "period": _PERIOD, "view": "timeSeries", **each},
        }
        for number, each in enumerate(widgets)
    ]
    stack.add(
        "Dashboard",
        "AWS::CloudWatch::Dashboard",
        {"DashboardName": ref("AWS::StackName"), "DashboardBody": sub(json.dumps({"widgets": placed}, indent=1))},
        "The dashboard.",
    )


def _widgets(
    stack: Stack, tables: TableTemplate, plan: CostPlan | None, functions: Sequence[str], has_api: bool
) -> Iterator[dict[str, Any]]:
    if has_api:
        api = ["AWS/ApiGateway", "{}", "ApiId", "${HttpApi}"]
        yield _chart("Requests", [_of(api, "Count"), _of(api, "4xx"), _of(api, "5xx")], stat="Sum")
        yield _chart(
            "Response time in seconds",
            [[*_of(api, "Latency"), {"stat": "p50"}], [*_of(api, "Latency"), {"stat": "p99"}]],
        )
    if functions:
        each = [["AWS/Lambda", "{}", "FunctionName", f"${{{name}}}"] for name in functions]
        yield _chart(
            "Errors and throttles", [_of(one, what) for one in each for what in ("Errors", "Throttles")], stat="Sum"
        )
        yield _chart("Duration of a call", [_of(one, "Duration") for one in each], stat="p99")
        late = [one for one in each if one[3].endswith("ConsumerFunction}")]
        if late:
            yield _chart("Consumer lag", [_of(one, "IteratorAge") for one in late], stat="Maximum")
    queues = [name for name in stack.resources if name.endswith(FAILURES)]
    if queues:
        seen = [
            ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", f"${{{name}.QueueName}}"] for name in queues
        ]
        yield _chart("Waiting failures", seen, stat="Maximum")
    for table in tables.tables:
        name = tables.logical_id(table)
        of = ["AWS/DynamoDB", "{}", "TableName", f"${{{name}}}"]
        load = next((each for each in plan.loads if each.table is table and each.index is None), None) if plan else None
        for kind in ("Read", "Write"):
            peak = 0.0 if load is None else float(load.peak_read if kind == "Read" else load.peak_write)
            chart = _chart(f"{table.name}: {kind.lower()} units", [_of(of, f"Consumed{kind}CapacityUnits")], stat="Sum")
            if peak:
                chart["annotations"] = {"horizontal": [{"label": "planned peak", "value": peak * _PERIOD}]}
            yield chart
        yield _chart(
            f"{table.name}: throttles",
            [_of(of, "ReadThrottleEvents"), _of(of, "WriteThrottleEvents")],
            stat="Sum",
        )


def _of(series: Sequence[str], metric: str) -> Series:
    return [metric if each == "{}" else each for each in series]


def _chart(title: str, metrics: Sequence[Series], **more: Any) -> dict[str, Any]:
    return {"title": title, "metrics": list(metrics), **more}
