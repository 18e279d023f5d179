"""What is declared of other entities: projections of them, and counters of their items."""
