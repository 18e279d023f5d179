"""Commands that the applications share: search and personal data."""
