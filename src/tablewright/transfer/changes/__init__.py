"""Which items are copied, and what is made of them."""
