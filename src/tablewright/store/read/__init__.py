"""Reads: plans, templates, pages, cursors, lookups, queries, scans, batch gets."""
