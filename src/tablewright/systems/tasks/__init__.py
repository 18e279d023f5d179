"""Tasks: what a team has to do, who does it, and how far it is (``tasks_system``)."""
