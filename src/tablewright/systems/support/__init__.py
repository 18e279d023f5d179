"""Support: the tickets of an AI technical support (``support_system``)."""
