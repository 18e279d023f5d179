"""Tasks: what a team has to do, who does it, and its status (``tasks_system``)."""
