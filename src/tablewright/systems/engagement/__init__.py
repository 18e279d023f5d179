"""Engagement: whom to reach, about what, and how (``engagement_system``)."""
