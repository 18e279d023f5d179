"""Entities by topic; ``model`` has the design of all of them, and exports it."""
