"""Delivery of candidates through channels: mail, webhooks, and network access."""
