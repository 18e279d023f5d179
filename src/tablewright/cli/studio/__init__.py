"""The studio, as a command and beside ``up`` and ``serve``."""
