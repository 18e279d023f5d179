"""What Support stores: its tables, tickets with all that belongs to them, and what expires by itself."""
