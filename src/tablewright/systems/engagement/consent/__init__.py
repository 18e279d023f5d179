"""Consent of customers: their preferences, who changed them, and unsubscribe links."""
