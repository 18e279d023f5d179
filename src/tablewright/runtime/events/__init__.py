"""Events derived from committed writes, and EventBridge as one of their subscribers."""
