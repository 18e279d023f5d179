"""What an endpoint can do: ``tablewright check``."""
