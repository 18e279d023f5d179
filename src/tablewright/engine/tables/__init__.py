"""Tables: their definitions, descriptions, updates, indexes, throughput and tags."""
