"""Streams: change records, consumers, checkpoints, effects, rebuilds, Lambda events."""
