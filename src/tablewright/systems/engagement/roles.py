"""The roles of Engagement."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "APPROVERS", "EVENT_SOURCES", "MARKETERS", "ROLES", "VIEWERS"]

VIEWERS = Role("engagement:Viewers", "those who look at programs, candidates, runs and deliveries")
MARKETERS = Role("engagement:Marketers", "those who also configure programs, run them and have candidates delivered")
APPROVERS = Role("engagement:Approvers", "those who also approve programs that others have changed")
EVENT_SOURCES = Role("engagement:EventSources", "programs such as a shop: send events, and keep what customers want")
ADMINS = Role("engagement:Admins", "those who look after the system")

ROLES = (VIEWERS, MARKETERS, APPROVERS, EVENT_SOURCES, ADMINS)
