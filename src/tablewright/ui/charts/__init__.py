"""Charts: what is counted, drawn."""
