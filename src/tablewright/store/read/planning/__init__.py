"""Access patterns as requests: plans, templates that are compiled once, ranges of sort keys."""
