"""Calls: scheduled and completed calls between users and providers (``calls_system``)."""
