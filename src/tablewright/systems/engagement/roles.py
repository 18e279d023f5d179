"""The roles of Engagement."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "APPROVERS", "EVENT_SOURCES", "MARKETERS", "ROLES", "VIEWERS"]

VIEWERS = Role("engagement:Viewers", "people who view programs, candidates, runs and deliveries")
MARKETERS = Role("engagement:Marketers", "people who also configure and run programs, and deliver candidates")
APPROVERS = Role("engagement:Approvers", "people who also approve programs that others have changed")
EVENT_SOURCES = Role("engagement:EventSources", "programs, such as a shop, that send events and set preferences")
ADMINS = Role("engagement:Admins", "administrators of the system")

ROLES = (VIEWERS, MARKETERS, APPROVERS, EVENT_SOURCES, ADMINS)
