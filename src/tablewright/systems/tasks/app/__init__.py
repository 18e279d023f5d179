"""The screens of Tasks (``tasks_app``)."""
