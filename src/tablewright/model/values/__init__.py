"""Python values as DynamoDB attribute values: which types can be stored, how, and what callers may give for them."""
