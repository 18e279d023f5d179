"""The roles of Support."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "CUSTOMERS", "ENGINEERS", "OPERATORS", "ROLES", "SERVICES", "STAFF"]

CUSTOMERS = Role("support:Customers", "customers, who have tickets of their own and see no others")
OPERATORS = Role("support:Operators", "operators, who work on all tickets")
ENGINEERS = Role("support:Engineers", "engineers, who get escalations")
SERVICES = Role("support:Services", "programs: the one that answers tickets, or asks customers for feedback")
ADMINS = Role("support:Admins", "administrators of the system")

ROLES = (CUSTOMERS, OPERATORS, ENGINEERS, SERVICES, ADMINS)
STAFF = (OPERATORS, ENGINEERS, SERVICES, ADMINS)
"""Those who see every ticket."""
