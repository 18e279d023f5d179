"""Backups on demand, point-in-time recovery, and restores from both."""
