"""Batch runs: customers in batches, records and leases of runs, schedules, background work."""
