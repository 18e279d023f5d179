"""Mail because of events, and the transports that carry it."""
