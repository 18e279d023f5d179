"""Full-text search over what the systems store, with the rights of the caller."""
