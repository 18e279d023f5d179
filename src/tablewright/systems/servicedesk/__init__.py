"""Service Desk: an AI voice service desk's tickets (``servicedesk_system``)."""
