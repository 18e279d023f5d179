"""The application Admin: what ``/runtime`` has, as screens."""
