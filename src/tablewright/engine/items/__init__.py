"""Reads and writes of items: single, in batches, in transactions, by query and scan, and what they consume."""
