"""The roles of Support."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "CUSTOMERS", "ENGINEERS", "OPERATORS", "ROLES", "SERVICES", "STAFF"]

CUSTOMERS = Role("support:Customers", "customers, who see only their own tickets")
OPERATORS = Role("support:Operators", "operators, who work on all tickets")
ENGINEERS = Role("support:Engineers", "engineers, who handle escalations")
SERVICES = Role("support:Services", "programs: the one that answers tickets, or asks customers for feedback")
ADMINS = Role("support:Admins", "administrators of the system")

ROLES = (CUSTOMERS, OPERATORS, ENGINEERS, SERVICES, ADMINS)
STAFF = (OPERATORS, ENGINEERS, SERVICES, ADMINS)
"""Those who see every ticket."""
