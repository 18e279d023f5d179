"""Trends: hours, days and operators, counted from the stream, and what is made of the counts."""
