"""The roles of Service Desk. Callers have none: they are identified by a session, or by the hash of a number."""

from tablewright.runtime.identity.access import Role

__all__ = ["ADMINS", "AGENTS", "ROLES", "VOICE_AGENTS"]

VOICE_AGENTS = Role("servicedesk:VoiceAgents", "the voice agent: opens tickets, reads them and adds comments")
AGENTS = Role("servicedesk:Agents", "people at the desk, who also assign tickets and change their status")
ADMINS = Role("servicedesk:Admins", "administrators of the system")

ROLES = (VOICE_AGENTS, AGENTS, ADMINS)
