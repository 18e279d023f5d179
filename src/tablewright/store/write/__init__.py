"""Writes: puts, updates, moves, transactions, batches, unique values, sequences, idempotency."""
