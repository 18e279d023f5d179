"""Tables: their definitions, descriptions, updates, indexes, throughput and tags; and the account's limits."""
