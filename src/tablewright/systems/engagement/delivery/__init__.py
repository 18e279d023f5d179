"""Candidates through channels: mail, webhooks, and the network behind them."""
