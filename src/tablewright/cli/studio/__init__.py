"""The studio, as a command and as a part of ``up`` and ``serve``."""
