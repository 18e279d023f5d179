"""The design document: tables, entities, patterns, writes and costs, with diagrams."""
