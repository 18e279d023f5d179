"""Deployments to AWS: the stack of a design or of a system, and the packages that it runs.

    needs = needs_of(system, "tablewright.systems.tasks.tasks_system:system")
    system_stack(needs, Deployment(environment="prod")).yaml
    check_stack(template)                 what our own rules find; nothing, for what is made here

    system_needs     what a system needs: functions, streams, schedules, mail, people, and permissions of each
    stack_of         the stack, from the parts in resources/
    stack_template   a template that grows, with comments
    stack_rules      rules that every stack keeps
    yaml_text        a template as YAML that people read

Nothing here connects to an account.
"""

from tablewright.deploy.stack_of import BuiltStack, design_stack, system_stack
from tablewright.deploy.stack_rules import check_stack
from tablewright.deploy.system_needs import SystemNeeds, needs_of

__all__ = ["BuiltStack", "SystemNeeds", "check_stack", "design_stack", "needs_of", "system_stack"]
