"""The roles of Calls."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "CUSTOMERS", "ROLES", "SCHEDULERS"]

CUSTOMERS = Role("calls:Customers", "users, who have calls of their own and see no others")
SCHEDULERS = Role("calls:Schedulers", "people and programs that plan the calls of everybody")
ADMINS = Role("calls:Admins", "those who look after the system")

ROLES = (CUSTOMERS, SCHEDULERS, ADMINS)
