"""The screens of Service Desk."""
