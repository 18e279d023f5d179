"""Writes the table of costs in docs/deploy.md: what each system's plan and stack say, at the traffic that it declares.

`make docs` writes it; a test fails while it is out of date.
"""

import re
from pathlib import Path

from tablewright.deploy import needs_of, system_stack
from tablewright.design.cost import plan_costs
from tablewright.design.infra import Deployment
from tablewright.systems import load

PAGE = Path(__file__).resolve().parent.parent / "docs" / "deploy.md"
BEGIN, END = "<!-- costs: written by `make docs` -->", "<!-- end of costs -->"

# Dollars a month, us-east-1: an alarm of CloudWatch beyond the free ten, a dashboard, a key of KMS, a secret.
ALARM, DASHBOARD, KEY, SECRET = 0.10, 3.00, 1.00, 0.40


def render() -> str:
    """The table."""
    lines = [
        "| system | tables, on demand | alarms | key, secret, dashboard | together |",
        "|---|---:|---:|---:|---:|",
    ]
    for system in load():
        needs = needs_of(system, f"tablewright.systems.{system.name}.{system.name}_system:system")
        resources = system_stack(needs, Deployment()).template["Resources"].values()
        kinds = [each["Type"] for each in resources]
        tables = float(plan_costs(system.design).bill("on-demand").total)
        alarms = kinds.count("AWS::CloudWatch::Alarm")
        fixed = (
            KEY * kinds.count("AWS::KMS::Key")
            + SECRET * kinds.count("AWS::SecretsManager::Secret")
            + DASHBOARD * kinds.count("AWS::CloudWatch::Dashboard")
        )
        together = tables + ALARM * alarms + fixed
        lines.append(
            f"| {system.title} | ${tables:,.2f} | {alarms}: ${ALARM * alarms:.2f} | ${fixed:.2f} | ${together:,.2f} |"
        )
    return "\n".join(lines)


def updated(page: str) -> str:
    """The page with the table as it is now."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n{render()}\n{END}", page)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
