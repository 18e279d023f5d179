"""Time to live."""
