"""Events that follow from committed writes, and EventBridge as one of their subscribers."""
