"""Which items are copied, and how they are changed."""
