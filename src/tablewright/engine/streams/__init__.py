"""DynamoDB Streams: shards, iterators and records."""
