"""The roles of Calls."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "CUSTOMERS", "ROLES", "SCHEDULERS"]

CUSTOMERS = Role("calls:Customers", "users, who see and manage only their own calls")
SCHEDULERS = Role("calls:Schedulers", "people and programs that schedule calls for everyone")
ADMINS = Role("calls:Admins", "administrators of the system")

ROLES = (CUSTOMERS, SCHEDULERS, ADMINS)
