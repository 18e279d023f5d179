"""Batch runs: customers in batches, records and leases of runs, schedules, work in the background."""
