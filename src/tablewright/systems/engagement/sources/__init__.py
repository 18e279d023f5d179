"""Where customers come from: SQL over files, Athena, demo data."""
