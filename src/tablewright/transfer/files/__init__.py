"""Files of items: DynamoDB JSON, JSON Lines, CSV and Parquet."""
