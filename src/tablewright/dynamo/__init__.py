"""DynamoDB's own notions, a leaf that all share: attribute values, sizes, document paths, expressions, errors."""
