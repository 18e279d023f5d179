"""Flows and their drivers: multi-step work as generators, sent with retries."""
