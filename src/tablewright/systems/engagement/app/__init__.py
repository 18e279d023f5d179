"""The screens of Engagement (``engagement_app``)."""
