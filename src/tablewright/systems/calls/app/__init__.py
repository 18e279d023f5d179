"""The screens of Calls: a calendar by user and by provider."""
