"""Deployments to AWS: the stack of a design or of a system, and the packages that it runs.

    needs = needs_of(system, "tablewright.systems.tasks.tasks_system:system")
    system_stack(needs, Deployment(environment="prod")).yaml
    check_stack(template)                 what our own rules find; nothing, for what is made here

    system_needs     what a system needs: functions, streams, schedules, mail, people, and permissions of each
    stack_building   the stack, from the parts in resources/
    stack_template   a template that grows, with comments
    stack_settings   settings that a deployer gives to the programs of a stack
    stack_rules      rules that every stack keeps
    stack_steps      the updates from one template to another, one index at a time
    yaml_text        a template as YAML that people read

Nothing here connects to an account.
"""

from tablewright.deploy.stack_building import BuiltStack, design_stack, system_stack
from tablewright.deploy.stack_rules import check_stack
from tablewright.deploy.stack_steps import StackSteps, stack_steps
from tablewright.deploy.system_needs import SystemNeeds, needs_of
from tablewright.deploy.yaml_text import to_yaml

__all__ = [
    "BuiltStack",
    "StackSteps",
    "SystemNeeds",
    "check_stack",
    "design_stack",
    "needs_of",
    "stack_steps",
    "system_stack",
    "to_yaml",
]
