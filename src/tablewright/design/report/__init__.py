"""What people look at: pages, documents, diagrams, charts, sample items."""
