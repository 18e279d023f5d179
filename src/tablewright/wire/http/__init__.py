"""HTTP/1.1: connections and messages, with their limits; independent of DynamoDB."""
