"""The roles of Tasks: its groups. If a user has a profile, it must have the group as well."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "MEMBERS", "ROLES"]

MEMBERS = Role("tasks:Members", "the team, who see all tasks, and change the status of their own")
ADMINS = Role("tasks:Admins", "administrators, who create and assign tasks, and manage users")

ROLES = (MEMBERS, ADMINS)
