"""The roles of Tasks: its groups. Where a user has a profile, that must name the group as well."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "MEMBERS", "ROLES"]

MEMBERS = Role("tasks:Members", "the team: sees all tasks, and changes the status of those that are assigned to one")
ADMINS = Role("tasks:Admins", "those who plan the work: create and assign tasks, and manage users")

ROLES = (MEMBERS, ADMINS)
