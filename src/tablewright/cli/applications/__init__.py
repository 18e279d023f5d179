"""Commands about what the applications have together: search."""
