"""HTTP/1.1: connections and messages, with their limits; what DynamoDB does with them is not known here."""
