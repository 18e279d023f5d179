"""Trends: hours, days and operators, counted from the stream, and reports on the counts."""
