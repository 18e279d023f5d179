"""The application Admin: screens for the calls of ``/runtime``."""
