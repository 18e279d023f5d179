"""Where items are read from and written to: data folders, endpoints, Amazon DynamoDB, files."""
