"""Sources of customers: SQL over files, Athena, demo data."""
