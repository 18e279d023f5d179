"""Tables created from the model; stored items verified against it, and repaired."""
